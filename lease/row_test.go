package lease

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
)

// examples returns leases with and without their optional fields.
func examples() []*Lease {
	value, empty, etag := "v\x00é", "", "e"
	return []*Lease{
		{ID: "l:1", Seq: 1, State: Pending, Token: [32]byte{1, 31: 2}, Owner: "u:acme:ann", CreatedAt: 5, Deadline: 1 << 50,
			Documents: []Document{{Key: "a", Value: &value}, {Key: "b", Value: &empty}, {Key: "c"}},
			Request:   &commit.RequestRow{Key: commit.RequestKey{3}, InputHash: [32]byte{4}, Answer: []byte("x"), Until: 9},
			Writers:   []commit.EntryID{{5}}},
		{ID: "l:2", Seq: 2, State: Confirmed, Owner: "u:acme:ann", CreatedAt: -1, Deadline: -2, Fence: 4,
			Documents: []Document{{Key: "a", Value: &value, ETag: &etag}}, Writers: []commit.EntryID{{5}, {15: 6}}},
		{ID: "l:3", Seq: 1, State: Refused, Request: &commit.RequestRow{}, Writers: []commit.EntryID{{7}}},
	}
}

func TestRow_SurvivesEncoding(t *testing.T) {
	for _, want := range examples() {
		got, err := leaseOf(want.row())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if l, err := leaseOf(Row{}); l != nil || err != nil {
		t.Errorf("the row of no lease: %+v, %v", l, err)
	}
}

// The bytes of a row must not change, because stores contain them.
func TestRow_Golden(t *testing.T) {
	const want = "\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\nu:acme:ann\x01\x03\x08\x02" +
		"\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06" +
		"\x01\x01a\x01\x04v\x00é\x01\x01e"
	if got := string(examples()[1].row().Data); got != want {
		t.Errorf("a row is\n%q, want\n%q", got, want)
	}
}

func TestRow_RefusesDamage(t *testing.T) {
	for _, l := range examples() {
		whole := l.row()
		for n := range whole.Data {
			cut := whole
			cut.Data = whole.Data[:n]
			if got, err := leaseOf(cut); err == nil {
				t.Errorf("the first %d bytes of %q are read: %+v", n, whole.Data, got)
			}
		}
		for what, damage := range map[string]func(r *Row){
			"a byte behind it":      func(r *Row) { r.Data = append(r.Data, 0) },
			"another version":       func(r *Row) { r.Data[0]++ },
			"no state":              func(r *Row) { r.Data[1] = 0 },
			"an unknown state":      func(r *Row) { r.Data[1] = byte(Refused) + 1 },
			"fewer states than now": func(r *Row) { r.Seq = int64(len(l.Writers)) - 1 },
		} {
			r := l.row()
			damage(&r)
			if got, err := leaseOf(r); err == nil && got != nil {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, l := range examples() {
		f.Add(l.row().Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := leaseOf(Row{ID: "l:1", Seq: 2, Data: data})
		if err != nil {
			return
		}
		again, err := leaseOf(l.row())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Error(diff)
		}
	})
}

// A row names the writers of its states, so that an unknown outcome can be resolved.
func TestVerdict_ResolvesUnknownOutcomes(t *testing.T) {
	first := &Lease{ID: "l:1", Seq: 1, State: Pending, Writers: []commit.EntryID{{1}}}
	second := &Lease{ID: "l:1", Seq: 2, State: Confirmed, Writers: []commit.EntryID{{1}, {2}}}
	for _, c := range []struct {
		what      string
		r, stored Row
		want      commit.Verdict
	}{
		{"applied", first.row(), first.row(), commit.Verdict{Applied: true}},
		{"another one came after it", first.row(), second.row(),
			commit.Verdict{Seq: 2, Writers: []commit.Writer{{Seq: 1, Entry: commit.EntryID{1}}, {Seq: 2, Entry: commit.EntryID{2}}}}},
		{"there is none", second.row(), Row{}, commit.Verdict{}},
		{"the state before", second.row(), first.row(), commit.Verdict{Seq: 1, Writers: []commit.Writer{{Seq: 1, Entry: commit.EntryID{1}}}}},
	} {
		got, err := verdict(c.r, c.stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}
