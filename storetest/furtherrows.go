package storetest

import (
	"fmt"
	"slices"
	"strings"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func rowChecks() []check {
	return []check{
		{"further rows", "a commit writes and removes them with the header, or not at all", commitRows},
		{"further rows", "a reading has those requested, in their order, of one state with the header", readRows},
		{"further rows", "Purge removes those named, of a deleted item only", purgeRows},
		{"PageRows", "PageRows must return the further rows of a slice in order of their keys, or in the opposite order", pageRows},
	}
}

// row is a further row.
func row(kind library.RowKind, key, value string) library.Row {
	r := library.Row{RowKey: library.RowKey{Kind: kind, Key: key}}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// rowKeys are the keys of rows.
func rowKeys(rows []library.Row) []library.RowKey {
	keys := make([]library.RowKey, len(rows))
	for i, r := range rows {
		keys[i] = r.RowKey
	}
	return keys
}

// wantRows reads rows by their keys.
func (s *env) wantRows(what string, id library.ContentID, want ...library.Row) {
	s.Helper()
	for _, serial := range []bool{false, true} {
		s.same(what, s.read(id, library.ContentQuery{Rows: rowKeys(want), Serial: serial}).Rows, want)
	}
}

func commitRows(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	first, second := row(3, "1", "one"), row(4, "1", "\x00\xff two")
	it.write(func(c *library.ContentCommit) { c.Rows = []library.Row{first, second} })
	it.wantStored("item with further rows")
	s.wantRows("the rows", it.head.ID, first, second)
	late := it.next(func(c *library.ContentCommit) {
		c.Base--
		c.Header.Seq--
		c.Rows = []library.Row{row(3, "1", "late"), row(3, "2", "late"), row(4, "1", "")}
	})
	if v := s.commit(late); v.Applied {
		s.Fatal("a commit on a former state was applied")
	}
	s.wantRows("the rows after a commit that was refused", it.head.ID, first, row(3, "2", ""), second)
	it.write(func(c *library.ContentCommit) {
		c.Rows = []library.Row{row(3, "1", "another"), row(4, "1", ""), row(4, "none", "")}
	})
	s.wantRows("the rows after a commit that replaces one and removes one", it.head.ID, row(3, "1", "another"), row(4, "1", ""))
	it.move()
	s.wantRows("the rows after a commit without any", it.head.ID, row(3, "1", "another"), row(4, "1", ""))
}

func readRows(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Private, a)
	other := s.newItem("item/2", principal.Private, a)
	r := commit.RequestRow{Key: commit.RequestKey{1, 2}, Answer: []byte("answer"), Until: s.later()}
	rows := []library.Row{row(5, "b", "B"), row(3, "", "empty key"), row(255-128, "~", "last kind"), row(3, "b", strings.Repeat("x", 5000))}
	it.write(func(c *library.ContentCommit) { c.Rows, c.Request = rows, &r })
	got := s.read(it.head.ID, library.ContentQuery{Rows: rowKeys(rows), Members: []principal.ID{a}, Request: &r.Key})
	s.same("a reading of everything", got, &library.ContentRows{Header: it.head, Members: it.members(a), Request: &r, Rows: rows})
	s.wantRows("of another item", other.head.ID, row(5, "b", ""), row(3, "b", ""))
	s.wantRows("of an unknown item", s.content("unknown"), row(5, "b", ""))
	page, err := s.Contents.MembersPage(s.ctx, it.head.ID, "", 100, true)
	s.ok(err)
	s.same("the members of the same item", page.Members, it.members(a))
}

func purgeRows(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	rows := []library.Row{row(3, "1", "one"), row(3, "2", "two"), row(4, "1", "three")}
	it.write(func(c *library.ContentCommit) { c.Rows = rows })
	named := library.Cleanup{Purge: true, Rows: rowKeys([]library.Row{rows[0], rows[2]})}
	it.cleanUp(named)
	s.wantRows("the rows of a live item", it.head.ID, rows...)
	it.delete()
	it.cleanUp(named)
	s.wantRows("the remaining rows", it.head.ID, row(3, "1", ""), rows[1], row(4, "1", ""))
}

func pageRows(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"), s.user("z"))
	other := s.newItem("item/", principal.Private, s.user("a"))
	var all []library.Row
	for n := range 250 {
		all = append(all, row(4, fmt.Sprintf("%04d/en_GB", n), fmt.Sprint("value ", n)))
	}
	for part := range slices.Chunk(all, 50) {
		it.write(func(c *library.ContentCommit) {
			c.Rows = append(slices.Clone(part), row(3, "0007/en_GB", "another kind"), row(5, "0007/en_GB", "another kind"))
		})
		other.write(func(c *library.ContentCommit) { c.Rows = []library.Row{row(4, "0007/en_GB", "another item")} })
	}
	for _, c := range []struct {
		what     string
		slice    library.RowSlice
		from, to int
	}{
		{"all of a kind", library.RowSlice{Limit: 1000}, 0, 250},
		{"the first", library.RowSlice{Limit: 7}, 0, 7},
		{"from one on", library.RowSlice{From: "0100/en_GB", Limit: 3}, 100, 103},
		{"after one", library.RowSlice{From: "0100/en_GB\x00", Limit: 3}, 101, 104},
		{"up to one", library.RowSlice{From: "0100", To: "0102/en_GB", Limit: 1000}, 100, 102},
		{"the last before one", library.RowSlice{From: "0100", To: "0200", Backwards: true, Limit: 5}, 195, 200},
		{"the last", library.RowSlice{Backwards: true, Limit: 5}, 245, 250},
		{"all backwards", library.RowSlice{Backwards: true, Limit: 1000}, 0, 250},
		{"an empty slice", library.RowSlice{From: "0100", To: "0100", Limit: 5}, 0, 0},
		{"a slice whose bounds are the wrong way round", library.RowSlice{From: "0200", To: "0100", Limit: 5}, 0, 0},
		{"none", library.RowSlice{Limit: 0}, 0, 0},
		{"beyond all", library.RowSlice{From: "1", Limit: 5}, 0, 0},
	} {
		q := c.slice
		q.Content, q.Kind = it.head.ID, 4
		got, err := s.Contents.PageRows(s.ctx, q)
		s.ok(err)
		want := slices.Clone(all[c.from:c.to])
		if q.Backwards {
			slices.Reverse(want)
		}
		s.same(c.what, got, want)
	}
	s.returns("of an unknown item", []library.Row(nil))(
		s.Contents.PageRows(s.ctx, library.RowSlice{Content: s.content("unknown"), Kind: 4, Limit: 5}))
}
