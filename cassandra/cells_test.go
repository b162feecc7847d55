package cassandra

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// typeOf returns the type of a column that is read and written without the driver's own code.
func typeOf(t gocql.Type) gocql.NativeType { return gocql.NewNativeType(4, t, "") }

// marshalled returns a value as the driver itself would send it.
func marshalled(t *testing.T, info gocql.TypeInfo, v any) []byte {
	t.Helper()
	data, err := gocql.Marshal(info, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestUnsettled_IsReadInOrder(t *testing.T) {
	want := []library.Superseded{{Position: -1, Widest: 1}, {Position: 5, Widest: 2}, {Position: 7, Widest: 3}}
	for n := range len(want) + 1 {
		if got := unsettledOf(unsettledValue(want[:n])); !slices.Equal(got, want[:n]) {
			t.Errorf("%v, want %v", got, want[:n])
		}
	}
}

func TestWriters_ReturnsTheLatestWriters(t *testing.T) {
	entry := func(n int64) commit.EntryID { return commit.EntryID{byte(n), 15: 9} }
	for _, c := range []struct {
		name        string
		seq         int64
		first, last int64 // seqs whose writers are returned
	}{
		{"none", 0, 1, 0}, {"one", 1, 1, 1}, {"some", 5, 1, 5}, {"all slots", 32, 1, 32}, {"one slot used again", 33, 2, 33},
		{"many times", 1000, 969, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			slots := make(map[int8]gocql.UUID)
			for n := int64(1); n <= c.seq; n++ {
				slots[slotOf(n)] = gocql.UUID(entry(n))
			}
			var want []commit.Writer
			for n := c.first; n <= c.last; n++ {
				want = append(want, commit.Writer{Seq: n, Entry: entry(n)})
			}
			if diff := cmp.Diff(want, writersOf(slots, c.seq)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRowKeys_AreEncodedAsByTheDriver(t *testing.T) {
	list := gocql.CollectionType{NativeType: typeOf(gocql.TypeList), Elem: gocql.TupleTypeInfo{
		NativeType: typeOf(gocql.TypeTuple), Elems: []gocql.TypeInfo{typeOf(gocql.TypeTinyInt), typeOf(gocql.TypeVarchar)}}}
	request := commit.RequestKey{1, 31: 0xff}
	keys := partitionKeys([]principal.ID{"u:t:a", "g:t:ü"}, &request)
	var plain [][]any
	for _, k := range keys {
		plain = append(plain, []any{k.kind, k.key})
	}
	got, err := keys.MarshalCQL(list)
	if err != nil {
		t.Fatal(err)
	}
	if want := marshalled(t, list, plain); !bytes.Equal(got, want) {
		t.Errorf("%x, the driver itself makes %x", got, want)
	}
	if keys[0] != (rowKey{kindHeader, headerKey}) || len(keys) != 4 {
		t.Errorf("the keys are %v", keys)
	}
	for _, first := range []principal.ID{"u:zzz:zzz", "g:a:a"} {
		if headerKey <= string(first) {
			t.Errorf("the header's key does not sort after %q", first)
		}
	}
}

func TestTimeToLive_IsRoundedUpWithinItsBounds(t *testing.T) {
	s := &Store{now: func() clock.Instant { return someTime }}
	for _, c := range []struct {
		name  string
		until clock.Instant
		want  int
	}{
		{"past", someTime - 5, 1}, {"now", someTime, 1}, {"a microsecond", someTime + 1, 1}, {"a day", someTime.Add(day), 86401},
		{"for ever", 1 << 62, maxTimeToLive},
	} {
		if got := s.timeToLive(c.until); got != c.want {
			t.Errorf("%s: %d s, want %d", c.name, got, c.want)
		}
	}
}

func TestCommit_BaseThatDoesNotMatchIsRefused(t *testing.T) {
	s := new(Store)
	c := creation("c:t:x", someTime)
	c.Base = 5
	if _, err := (contents{s}).Commit(t.Context(), c); fault.CodeOf(err) != fault.Internal || fault.MayHaveCommitted(err) {
		t.Errorf("a commit: %v", err)
	}
	p := &principal.Commit{ID: ann, Base: 3}
	if _, err := (principals{s}).CommitPrincipal(t.Context(), p); fault.CodeOf(err) != fault.Internal || fault.MayHaveCommitted(err) {
		t.Errorf("a commit of a principal: %v", err)
	}
}

// TestUnsettledTitles_IsReadInOrder: a title has a visibility and a key, which is not empty.
func TestUnsettledTitles_IsReadInOrder(t *testing.T) {
	want := []library.SupersededTitle{{At: -1, Title: "t", Widest: 1}, {At: 5, Title: "\xff\x01", Widest: 3}}
	if got, err := unsettledTitlesOf(unsettledTitlesValue(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, malformed := range [][]byte{{}, {1}} {
		if _, err := unsettledTitlesOf(map[int64][]byte{1: malformed}); !errors.Is(err, session.ErrMalformedCell) {
			t.Errorf("a title %v: %v", malformed, err)
		}
	}
}
