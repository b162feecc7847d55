package commit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

// longEntry returns an entry with a payload of size bytes.
func longEntry(n byte, size int) Entry {
	return Entry{ID: EntryID{n}, Kind: Content, Key: "c:t:long", Base: int64(n), Payload: []byte(strings.Repeat("x", size))}
}

func TestEncode_WritesOneBlock(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []Entry
		blocks  int
	}{
		{"none", nil, 0},
		{"one", []Entry{longEntry(1, 100)}, 1},
		{"large ones", []Entry{longEntry(1, 400<<10), longEntry(2, 400<<10), longEntry(3, 10), longEntry(4, 400<<10)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks, err := Encode(c.entries)
			if err != nil || len(blocks) != c.blocks {
				t.Fatalf("%d blocks, %v", len(blocks), err)
			}
			got, err := Decode(blocks)
			if err != nil {
				t.Fatal(err)
			}
			// Compare whole payloads: cmp compares bytes one by one, which takes half a minute
			// under the race detector.
			if diff := cmp.Diff(c.entries, got, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncode_IsBounded(t *testing.T) {
	head := len(appendEntry([]byte{blockVersion}, &Entry{Kind: Content, Key: "c:t:long", Payload: make([]byte, 1<<22)})) - 1<<22
	for _, size := range []int{MaxBlock - head, MaxBlock - head + 1} {
		blocks, err := Encode([]Entry{longEntry(0, size)})
		if within := size+head <= MaxBlock; within != (err == nil) || within && len(blocks[0]) != MaxBlock {
			t.Errorf("a payload of %d bytes: %d blocks, %v", size, len(blocks), err)
		}
	}
	if _, err := Encode([]Entry{longEntry(1, MaxBlock/2), longEntry(2, MaxBlock/2)}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("two entries that are too large together: %v", err)
	}
}

// Lists of earlier versions have several blocks.
func TestDecode_ReadsSeveralBlocks(t *testing.T) {
	var blocks [][]byte
	want := []Entry{longEntry(1, 10), longEntry(2, 20), longEntry(3, 30)}
	for i := range want {
		block, err := Encode(want[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, block...)
	}
	got, err := Decode(append(blocks, []byte(firstBlock)))
	if err != nil || len(got) != 5 || !slices.EqualFunc(got[:3], want, func(a, b Entry) bool { return a.ID == b.ID && a.Base == b.Base }) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecode_ReturnsEveryField(t *testing.T) {
	want := []Entry{
		{ID: EntryID{1, 2, 15: 0xff}, Kind: Content, Key: "c:t:a/b", Base: 1 << 40, Due: -5, Decided: true, Payload: []byte{0, 0xff}},
		{ID: EntryID{3}, Kind: Principal, Key: "u:t:Änn \u202e \"", Due: 1 << 50},
		{Kind: 'x'},
	}
	blocks, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(blocks)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// firstBlock is a block of the first version, for users, groups and items only: a change
// of an item, and a change of a user's name.
const firstBlock = "\x01" +
	"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x03\x05c:a:b\x00\x04\x10\x01\x05u:a:c" +
	"\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01N\x05u:a:b\x04\x00\x00"

func TestDecode_ReadsTheFirstVersion(t *testing.T) {
	got, err := Decode([][]byte{[]byte(firstBlock)})
	if err != nil {
		t.Fatal(err)
	}
	item := Reach{Scope: ScopeListed, Reverse: true, Principals: []string{"u:a:c"}}
	user := Reach{Scope: ScopeListed, Former: "N"}
	want := []Entry{
		{ID: EntryID{1}, Kind: Content, Key: "c:a:b", Base: 2, Due: 8, Decided: true, Payload: item.Encode()},
		{ID: EntryID{2}, Kind: Principal, Key: "u:a:b", Base: 2, Payload: user.Encode()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecode_RefusesDamage(t *testing.T) {
	block, err := Encode([]Entry{{ID: EntryID{1}, Kind: Content, Key: "c:t:a", Base: 7, Due: 9, Payload: []byte("payload")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range [][]byte{block[0], []byte(firstBlock)[:1+16+2+6+1+1+1+1+6]} {
		if _, err := Decode([][]byte{whole}); err != nil {
			t.Fatal(err)
		}
		for n := range whole {
			if _, err := Decode([][]byte{whole[:n]}); err == nil && n != 1 {
				t.Errorf("the first %d bytes of %x are read", n, whole)
			}
		}
		if _, err := Decode([][]byte{append(whole[:len(whole):len(whole)], 0)}); err == nil {
			t.Errorf("%x is read although a byte follows it", whole)
		}
	}
	for _, version := range []byte{0, 3, 9} {
		if _, err := Decode([][]byte{{version}}); err == nil {
			t.Errorf("version %d is read", version)
		}
	}
}

func TestReach_SurvivesEncoding(t *testing.T) {
	for _, want := range []Reach{
		{}, {Scope: ScopeAll, Reverse: true}, {Scope: ScopeListed, Former: "Änn", Principals: []string{"u:t:a", "u:t:b"}},
	} {
		got, err := DecodeReach(want.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for n := range want.Encode() {
			if _, err := DecodeReach(want.Encode()[:n]); err == nil {
				t.Errorf("the first %d bytes of %x are read", n, want.Encode())
			}
		}
	}
	if got, err := DecodeReach(nil); err != nil || got.Scope != ScopeNone {
		t.Errorf("no payload: %+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	blocks, err := Encode([]Entry{longEntry(1, 100), {ID: EntryID{2}, Kind: Principal, Key: "g:t:g", Due: 5, Decided: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(blocks[0])
	f.Add([]byte(firstBlock))
	f.Add([]byte{blockVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, block []byte) {
		entries, err := Decode([][]byte{block})
		if err != nil || len(entries) == 0 {
			return
		}
		again, err := Encode(entries)
		if err != nil {
			return // entries of the first version, which had no limit
		}
		got, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entries, got); diff != "" {
			t.Error(diff)
		}
	})
}
