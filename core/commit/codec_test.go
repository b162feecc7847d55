package commit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

// longEntry returns an entry with a former name of size bytes.
func longEntry(n byte, size int) Entry {
	return Entry{ID: EntryID{n}, Kind: Content, Key: "c:t:long", Base: int64(n), Reach: Reach{Former: strings.Repeat("x", size)}}
}

func TestEncode_WritesOneBlock(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []Entry
	}{
		{"none", nil},
		{"one", []Entry{longEntry(1, 100)}},
		{"large ones", []Entry{longEntry(1, 400<<10), longEntry(2, 400<<10), longEntry(3, 10), longEntry(4, 400<<10)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			block, err := Encode(c.entries)
			if err != nil || (len(block) == 0) != (c.entries == nil) {
				t.Fatalf("%d bytes, %v", len(block), err)
			}
			got, err := Decode(block)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.entries, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncode_IsBounded(t *testing.T) {
	long := longEntry(0, 1<<22)
	head := len(appendEntry([]byte{blockVersion}, &long)) - 1<<22
	for _, size := range []int{MaxBlock - head, MaxBlock - head + 1} {
		block, err := Encode([]Entry{longEntry(0, size)})
		if within := size+head <= MaxBlock; within != (err == nil) || within && len(block) != MaxBlock {
			t.Errorf("a name of %d bytes: %d bytes, %v", size, len(block), err)
		}
	}
	if _, err := Encode([]Entry{longEntry(1, MaxBlock/2), longEntry(2, MaxBlock/2)}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("two entries that are too large together: %v", err)
	}
}

func TestDecode_ReturnsEveryField(t *testing.T) {
	want := []Entry{
		{ID: EntryID{1, 2, 15: 0xff}, Kind: Content, Key: "c:t:a/b", Base: 1 << 40, Due: -5, Decided: true,
			Reach: Reach{Scope: ScopeListed, All: true, Former: "\x00\xff", Principals: []string{"u:t:a", ""}}},
		{ID: EntryID{3}, Kind: Principal, Key: "u:t:Änn \u202e \"", Due: 1 << 50},
		{Kind: 'x'},
	}
	block, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(block)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecode_RefusesDamage(t *testing.T) {
	block, err := Encode([]Entry{{ID: EntryID{1}, Kind: Content, Key: "c:t:a", Base: 7, Due: 9, Reach: Reach{Former: "a name"}}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range block {
		if _, err := Decode(block[:n]); err == nil && n > 1 {
			t.Errorf("the first %d bytes of %x are read", n, block)
		}
	}
	if _, err := Decode(append(block[:len(block):len(block)], 0)); err == nil {
		t.Errorf("%x is read although a byte follows it", block)
	}
	for _, version := range []byte{0, 2, 9} {
		other := append([]byte{version}, block[1:]...)
		if _, err := Decode(other); err == nil {
			t.Errorf("version %d is read", version)
		}
	}
	block[len(block)-1] = 1 // one principal, which does not follow
	if _, err := knownEntries(block); !errors.Is(err, errBlock) {
		t.Errorf("an entry of which nobody knows what is left to do: %v", err)
	}
}

func TestReach_SurvivesEncoding(t *testing.T) {
	for _, want := range []Reach{
		{}, {Scope: ScopeAll, All: true}, {Scope: ScopeListed, Former: "Änn", Principals: []string{"u:t:a", "u:t:b"}},
		{Scope: ScopeListed, Principals: strings.Split(strings.Repeat("u:t:a ", 20), " ")},
	} {
		got, ok := decodeReach(want.encode())
		if !ok {
			t.Fatal("it cannot be read")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for n := range want.encode() {
			if _, ok := decodeReach(want.encode()[:n]); ok && n > 0 {
				t.Errorf("the first %d bytes of %x are read", n, want.encode())
			}
		}
		if _, ok := decodeReach(append(want.encode(), 0)); ok {
			t.Errorf("%x is read although a byte follows it", want.encode())
		}
		if n := len(want.encode()); n > want.Size() {
			t.Errorf("%+v takes %d bytes, more than %d", want, n, want.Size())
		}
	}
}

func FuzzDecode(f *testing.F) {
	block, err := Encode([]Entry{longEntry(1, 100), {ID: EntryID{2}, Kind: Principal, Key: "g:t:g", Due: 5, Decided: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(block)
	f.Add([]byte{blockVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, block []byte) {
		entries, err := Decode(block)
		if err != nil || len(entries) == 0 {
			return
		}
		for _, e := range entries {
			if e.Unreadable {
				return // what is left to do is unknown
			}
		}
		again, err := Encode(entries)
		if err != nil {
			return // a block larger than MaxBlock
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

func TestReader_RefusesNumbersThatAreTooLarge(t *testing.T) {
	r := NewReader("\x02ab")
	if n := r.Count(2); n != 0 || r.OK() || r.More() {
		t.Errorf("two elements of two bytes are read from two bytes: %d", n)
	}
	r = NewReader("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02")
	if n := r.Uint(); n != 0 || r.OK() {
		t.Errorf("a number of 65 bits is read as %d", n)
	}
	r = NewReader("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")
	if n := r.Uint(); n != 1<<63 || !r.End() {
		t.Errorf("the number 1<<63 is read as %d", n)
	}
}
