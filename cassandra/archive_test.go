package cassandra

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/principal"
)

// distant is an instant in 2040. The rows of these tests expire then.
const distant clock.Instant = 2208988800000000

// archived reads a chapter in pages of limit rows.
func archived(t *testing.T, s *Store, c archive.Chapter, limit int) []archive.Row {
	t.Helper()
	var all []archive.Row
	var after []byte
	for range 10_000 {
		rows, next, err := s.ReadRows(t.Context(), c, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, rows...); next == nil {
			return all
		}
		after = next
	}
	t.Fatal("the chapter does not end")
	return nil
}

// murmur is the state of Murmur3 (x64, 128 bits), which takes in blocks of 16 bytes.
type murmur struct{ h1, h2 uint64 }

const (
	murmurC1 uint64 = 0x87c37b91114253d5
	murmurC2 uint64 = 0x4cf5ad432745937f
)

// inverse returns the inverse of an odd number modulo 2^64.
func inverse(n uint64) uint64 {
	x := n
	for range 6 {
		x *= 2 - n*x
	}
	return x
}

func (m murmur) block(k1, k2 uint64) murmur {
	m.h1 ^= bits.RotateLeft64(k1*murmurC1, 31) * murmurC2
	m.h1 = (bits.RotateLeft64(m.h1, 27)+m.h2)*5 + 0x52dce729
	m.h2 ^= bits.RotateLeft64(k2*murmurC2, 33) * murmurC1
	m.h2 = (bits.RotateLeft64(m.h2, 31)+m.h1)*5 + 0x38495ab5
	return m
}

// leadingTo returns the block that leads from m to a state.
func (m murmur) leadingTo(to murmur) (k1, k2 uint64) {
	h1 := bits.RotateLeft64((to.h1-0x52dce729)*inverse(5)-m.h2, -27)
	h2 := bits.RotateLeft64((to.h2-0x38495ab5)*inverse(5)-to.h1, -31)
	k1 = bits.RotateLeft64((m.h1^h1)*inverse(murmurC2), -31) * inverse(murmurC1)
	k2 = bits.RotateLeft64((m.h2^h2)*inverse(murmurC1), -33) * inverse(murmurC2)
	return k1, k2
}

// sameToken returns keys of 32 bytes that share a token.
func sameToken(n int) []commit.RequestKey {
	to := murmur{}.block(0, 0).block(0, 0)
	keys := make([]commit.RequestKey, n)
	for i := range keys {
		first := uint64(i) * 0x9e3779b97f4a7c15
		k1, k2 := murmur{}.block(first, 0).leadingTo(to)
		binary.LittleEndian.PutUint64(keys[i][:], first)
		binary.LittleEndian.PutUint64(keys[i][16:], k1)
		binary.LittleEndian.PutUint64(keys[i][24:], k2)
	}
	return keys
}

// TestReadRows_KeysOfOneTokenAreReadOnce: clients choose ids and keys, and so can choose some that
// share a token.
func TestReadRows_KeysOfOneTokenAreReadOnce(t *testing.T) {
	s := open(t, options(t))
	var rows []archive.Row
	want := map[string]bool{}
	for i, key := range append(sameToken(7), commit.RequestKey{1}, commit.RequestKey{2}) {
		c := commit.Creation{Key: key, ID: fmt.Sprintf("c:a:%d", i), Until: distant}
		rows = append(rows, archive.Row{Creation: &c})
		want[c.ID] = true
	}
	if err := s.PutRows(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	tokens := map[int64]int{}
	iter := s.session.Driver().Query(`SELECT token(key) FROM request`).WithContext(t.Context()).Iter()
	for token := int64(0); iter.Scan(&token); {
		tokens[token]++
	}
	if err := iter.Close(); err != nil || len(tokens) != 3 {
		t.Fatalf("nine keys have the tokens %v, want seven equal ones: %v", tokens, err)
	}
	for limit := 1; limit <= 10; limit++ {
		got := map[string]bool{}
		read := archived(t, s, archive.ChapterCreations, limit)
		for _, r := range read {
			got[r.Creation.ID] = true
		}
		if len(read) != len(want) || !cmp.Equal(want, got) {
			t.Errorf("in pages of %d: %d rows, %v", limit, len(read), got)
		}
	}
}

// TestPutRows_LargePartitionIsSplit: a partition may have more rows than a page, and more than one
// write can put.
func TestPutRows_LargePartitionIsSplit(t *testing.T) {
	s := open(t, options(t))
	header := library.Header{Content: library.Content{ID: "c:a:big", Kind: library.Note, Title: "Big", Visibility: principal.Public},
		State: commit.Live, Seq: 3, MTS: 7, Position: 7, Widest: principal.Public, Members: 1203}
	rows := []archive.Row{{Content: &header}}
	for i := range 1203 {
		rows = append(rows, archive.Row{Member: &archive.MemberAt{Content: header.ID,
			Member: library.Member{Principal: principal.ID(fmt.Sprintf("u:a:%04d", i)), Role: library.Viewing, Seq: 3}}})
	}
	other := header
	other.ID = "c:a:other"
	rows = append(rows, archive.Row{Content: &other})
	for page := range slices.Chunk(rows, 700) {
		if err := s.PutRows(t.Context(), page); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{100, 401, 5000} {
		read := archived(t, s, archive.ChapterContents, limit)
		// The cluster determines which of the two items comes first.
		if read[0].Content.ID == other.ID {
			read = append(read[1:], read[0])
		}
		if diff := cmp.Diff(rows, read, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("in pages of %d (-put +read):\n%s", limit, diff)
		}
	}
}

// TestPutRows_CostsOneDecisionPerItem: the number of rows of an item does not matter, and expired
// rows are not put.
func TestPutRows_CostsOneDecisionPerItem(t *testing.T) {
	o := options(t)
	var mu sync.Mutex
	asked := map[string]int{}
	o.Observe = func(_ context.Context, r session.Observation) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Operation+" "+r.Outcome]++
	}
	now := distant - 1_000_000
	o.Now = func() clock.Instant { return now }
	s := open(t, o)
	var rows []archive.Row
	for i := range 20 {
		id := library.ContentID(fmt.Sprintf("c:a:%d", i))
		rows = append(rows, archive.Row{Content: &library.Header{Content: library.Content{ID: id}, State: commit.Live, Seq: 1}})
		for m := range 10 {
			rows = append(rows, archive.Row{Member: &archive.MemberAt{Content: id,
				Member: library.Member{Principal: principal.UserID("a", fmt.Sprint(m)), Seq: 1}}})
		}
		rows = append(rows, archive.Row{Request: &archive.RequestAt{Content: id, RequestRow: commit.RequestRow{Until: now}}},
			archive.Row{Due: &commit.Reminder{At: distant, Kind: commit.Content, Key: string(id), MTS: distant}})
	}
	rows = append(rows, archive.Row{Creation: &commit.Creation{ID: "c:a:1", Until: now - 1}},
		archive.Row{Creation: &commit.Creation{Key: commit.RequestKey{1}, ID: "c:a:2", Until: now + 50_000_000}})
	clear(asked)
	if err := s.PutRows(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	// One write for the hour, and one for each of its shards that has a reminder.
	if dues := asked["write reminders ok"]; dues < 3 || dues > 1+dueShards {
		t.Errorf("putting the reminders of twenty items of one hour took %d writes", dues)
	}
	delete(asked, "write reminders ok")
	if diff := cmp.Diff(map[string]int{"put a content applied": 20, "record a creation applied": 1}, asked); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	var left int
	if err := s.session.Driver().Query(`SELECT ttl(id) FROM request`).WithContext(t.Context()).Scan(&left); err != nil ||
		left < 1 || left > 51 {
		t.Errorf("a creation that expires in 50 s has a time to live of %d s, %v", left, err)
	}
	for _, r := range archived(t, s, archive.ChapterContents, 1000) {
		if r.Request != nil {
			t.Errorf("an expired request was put: %+v", r.Request)
		}
	}
}

// TestPutRows_LateWriteChangesNothing: a write that was given up may be executed late, when the
// store is already in use.
func TestPutRows_LateWriteChangesNothing(t *testing.T) {
	s := open(t, options(t))
	late := func(stmt string, args ...any) {
		t.Helper()
		var ch session.Batch
		ch.Append(stmt, args...)
		if applied, err := s.session.Decide(t.Context(), "come late", &ch); applied || err != nil {
			t.Errorf("it was applied: %t, %v: %s", applied, err, stmt)
		}
	}
	header := library.Header{Content: library.Content{ID: "c:a:b", Kind: library.Note, Title: "Put", Visibility: principal.Public},
		State: commit.Live, Seq: 7, MTS: 7, Position: 7, Widest: principal.Public, Writers: []commit.Writer{{Seq: 7, Entry: commit.EntryID{7}}}}
	creation := commit.Creation{Key: commit.RequestKey{1}, ID: "c:a:b", Until: distant}
	put := []archive.Row{{Content: &header}, {Block: &archive.BlockRow{Host: "host-1", Next: 10}}, {Creation: &creation},
		{Setting: &archive.SettingRow{Name: "x", Value: []byte{1}}}}
	for range 2 {
		if err := s.PutRows(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	first, again := []byte("first"), []byte("again")
	for _, note := range [][]byte{first, again, nil} {
		if err := s.PutCopyNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	after := header
	after.Seq, after.MTS, after.Title = 8, 8, "Changed"
	if v, err := s.Contents.Commit(t.Context(), &library.ContentCommit{ID: header.ID, Base: 7, Header: after,
		Writer: commit.EntryID{8}}); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	if got, err := s.ReserveBlock(t.Context(), "host-1", 5); err != nil || got != 10 {
		t.Fatalf("the next number is %d, %v", got, err)
	}
	values := append(headerValues(&header), writersValue(header.Writers, 7), unsettledValue(nil), unsettledTitlesValue(nil), string(header.ID))
	late(restoreContent, append(values, baseOf(0))...)
	late(restoreContent, append(values, baseOf(7))...)
	late(holdContent, int64(7), string(header.ID), baseOf(7))
	late(firstBlock, "host-1", int64(10))
	late(nextBlock, int64(10), "host-1", int64(10))
	late(putCopyNote, first, nil)
	late(putCopyNote, again, first)
	rows, err := s.Contents.Read(t.Context(), header.ID, library.ContentQuery{})
	if err != nil || rows.Header.Title != "Changed" || rows.Header.Seq != 8 {
		t.Errorf("the item is %+v, %v", rows.Header, err)
	}
	if note, err := s.CopyNote(t.Context()); err != nil || note != nil {
		t.Errorf("the note is %q, %v", note, err)
	}
}

// TestPutRows_RowsWithoutTheirHeaderAreRefused: rows are put only into a partition that has a
// header.
func TestPutRows_RowsWithoutTheirHeaderAreRefused(t *testing.T) {
	s := open(t, options(t))
	for name, row := range map[string]archive.Row{
		"content":   {Member: &archive.MemberAt{Content: "c:a:none", Member: library.Member{Principal: "u:a:b", Role: library.Manages, Seq: 1}}},
		"principal": {Request: &archive.RequestAt{Principal: "u:a:none", RequestRow: commit.RequestRow{Until: distant}}},
	} {
		if err := s.PutRows(t.Context(), []archive.Row{row}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPutRows_ConcurrentWriterIsReported: if another process keeps changing a row, the copy gives
// up with a clear error.
func TestPutRows_ConcurrentWriterIsReported(t *testing.T) {
	o := options(t)
	var (
		mu     sync.Mutex
		change func() // what the other process does after each request of the copy
	)
	others := func(do func()) {
		mu.Lock()
		defer mu.Unlock()
		change = do
	}
	o.Observe = func(_ context.Context, r session.Observation) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Operation {
		case "put a content", "read a content", "put a principal", "read a principal", "record a setting", "put a setting",
			"put a block", "record a creation":
			if change != nil {
				change()
			}
		}
	}
	s := open(t, o)
	content := archive.Row{Content: &library.Header{Content: library.Content{ID: "c:a:b"}, State: commit.Live, Seq: 1}}
	owner := archive.Row{Principal: &principal.Header{ID: "u:a:b", State: commit.Live, Seq: 1}}
	const (
		changeContent   = `UPDATE content SET seq = ? WHERE content_id = 'c:a:b' AND kind = 0 AND key = '~' IF EXISTS`
		changePrincipal = `UPDATE principal SET seq = ? WHERE principal_id = 'u:a:b' AND kind = 0 AND key = '~' IF EXISTS`
	)
	stored := []archive.Row{
		content, owner,
		{Setting: &archive.SettingRow{Name: "x", Value: []byte{1}}},
		{Block: &archive.BlockRow{Host: "host-1", Next: 10}},
		{Creation: &commit.Creation{Key: commit.RequestKey{1}, ID: "c:a:1", Until: distant}},
	}
	if err := s.PutRows(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		row  archive.Row
		stmt string
		args func(n int) []any
	}{
		"a header": {content, changeContent, func(n int) []any { return []any{int64(n)} }},
		"a member": {archive.Row{Member: &archive.MemberAt{Content: "c:a:b", Member: library.Member{Principal: "u:a:b", Seq: 1}}},
			changeContent, func(n int) []any { return []any{int64(n)} }},
		"a principal": {owner, changePrincipal, func(n int) []any { return []any{int64(n)} }},
		"a membership": {archive.Row{GroupMember: &archive.GroupMemberAt{Group: "u:a:b",
			GroupMemberRow: principal.GroupMemberRow{Principal: "u:a:c", Seq: 1}}},
			changePrincipal, func(n int) []any { return []any{int64(n)} }},
		"a setting": {archive.Row{Setting: &archive.SettingRow{Name: "x", Value: []byte{2}}},
			`UPDATE setting SET value = ? WHERE name = 'x' IF EXISTS`, func(n int) []any { return []any{fmt.Append(nil, n)} }},
		"a block": {archive.Row{Block: &archive.BlockRow{Host: "host-1", Next: 11}},
			`UPDATE id_block SET next = ? WHERE host = 'host-1' IF EXISTS`, func(n int) []any { return []any{int64(n)} }},
		"a creation": {archive.Row{Creation: &commit.Creation{Key: commit.RequestKey{1}, ID: "c:a:2", Until: distant}},
			`UPDATE request SET id = ? WHERE key = ? IF EXISTS`,
			func(n int) []any { return []any{fmt.Sprint("c:a:", n), append([]byte{1}, make([]byte, 31)...)} }},
	} {
		t.Run(name, func(t *testing.T) {
			changes := 100
			others(func() {
				changes++
				if applied, err := s.session.Driver().Query(c.stmt,
					c.args(changes)...).WithContext(t.Context()).MapScanCAS(map[string]any{}); !applied || err != nil {
					t.Errorf("nothing was changed: %v", err)
				}
			})
			err := s.PutRows(t.Context(), []archive.Row{c.row})
			others(nil)
			if fault.CodeOf(err) != fault.Conflict {
				t.Errorf("after %d changes: %v", changes-100, err)
			}
			if err := s.PutRows(t.Context(), []archive.Row{c.row}); err != nil {
				t.Errorf("alone: %v", err)
			}
		})
	}
}
