package storetest

import (
	"fmt"
	"slices"
	"strings"

	"carrel/core/commit"
	"carrel/principal"
)

func directoryChecks() []check {
	return []check{
		{"ApplyDirectory", "ApplyDirectory writes the rows that e.Derive returns, each with the visibility and the mts of the state",
			applyDirectory},
		{"ApplyDirectory", "An older snapshot must never undo what a newer one wrote", applyDirectoryOlder},
		{"PageDirectory", "PageDirectory must return the rows of the slice in order of name and then of id", pageDirectory},
		{"PageDirectory", "a prefix may end after any character of a name", pageDirectoryCharacters},
		{"ReadDirectory", "ReadDirectory reads p's rows of keys, in their order; MTS is 0 if there is none", readDirectory},
		{"ScanDirectory",
			"ScanDirectory reads rows of all tenants, starting where another call has ended, each once, in a permanent order of the store's own",
			scanDirectory},
		{"DropDirectory", "DropDirectory must remove a row iff its MTS is the one given", dropDirectory},
	}
}

// rename gives the principal a display name, and returns the former one.
func (c *principalRows) rename(name string) (former string) {
	c.s.Helper()
	former = c.head.DisplayName
	c.write(func(p *principal.Commit) { p.Header.DisplayName = name })
	return former
}

// directoryUpdate applies the principal's present state to the directory.
func (c *principalRows) directoryUpdate(former string) *principal.DirectoryUpdate {
	c.s.Helper()
	h := c.head
	e := &principal.DirectoryUpdate{Header: &h, Former: former}
	c.s.ok(c.s.Directory.ApplyDirectory(c.s.ctx, e))
	return e
}

// newNamed creates a user or a group with a display name that can be found.
func (s *env) newNamed(id principal.ID, name string) *principalRows {
	s.Helper()
	c := s.newPrincipal(id)
	c.directoryUpdate(c.rename(name))
	return c
}

// row returns a row of the directory that the principal's present state derives.
func (c *principalRows) row(whole bool, name string) principal.DirectoryRow {
	return principal.DirectoryRow{DirectoryKey: principal.DirectoryKey{Whole: whole, Name: name},
		Principal: c.head.ID, Visibility: c.head.Visibility, MTS: c.head.MTS}
}

// slice reads a slice of the subtest's tenant.
func (s *env) slice(prefix string, after *principal.DirectoryPosition, limit int) []principal.DirectoryRow {
	s.Helper()
	rows, err := s.Directory.PageDirectory(s.ctx, principal.DirectorySlice{Tenant: s.tenant, Prefix: prefix, After: after, Limit: limit})
	s.ok(err)
	if len(rows) > limit {
		s.Fatalf("%d rows for a limit of %d", len(rows), limit)
	}
	return rows
}

func applyDirectory(s *env) {
	ann := s.newNamed(s.user("ann"), "Zoe")
	s.same("whole names", s.slice("", nil, 10), []principal.DirectoryRow{ann.row(true, "zoe")})
	s.same("by her name", s.slice("zo", nil, 10), []principal.DirectoryRow{ann.row(false, "zoe")})
	s.same("by her id", s.slice("an", nil, 10), []principal.DirectoryRow{ann.row(false, "ann")})
	s.same("by a name that she does not have", s.slice("name", nil, 10), []principal.DirectoryRow{})
	ann.write(func(p *principal.Commit) { p.Header.Visibility = principal.Private })
	ann.directoryUpdate("Zoe")
	s.same("after a change of visibility", s.slice("", nil, 10), []principal.DirectoryRow{ann.row(true, "zoe")})
	ann.directoryUpdate(ann.rename("Ann Zoe"))
	s.same("whole names after a change", s.slice("", nil, 10), []principal.DirectoryRow{ann.row(true, "ann zoe")})
	s.same("a word that was the name", s.slice("z", nil, 10), []principal.DirectoryRow{ann.row(false, "zoe")})
	s.same("names with the same prefix", s.slice("a", nil, 10), []principal.DirectoryRow{ann.row(false, "ann"), ann.row(false, "ann zoe")})
	ann.directoryUpdate(ann.rename("Ann"))
	s.same("a word that was removed", s.slice("z", nil, 10), []principal.DirectoryRow{})
	void := &principalRows{s: s, rows: map[principal.ID]principal.GroupMemberRow{}}
	void.head.ID = s.user("void")
	void.write(func(p *principal.Commit) { p.Header.State = commit.Void })
	void.directoryUpdate("")
	s.same("the rows of a principal that does not exist", s.slice("void", nil, 10), []principal.DirectoryRow{})
}

func applyDirectoryOlder(s *env) {
	u := s.newPrincipal(s.user("u"))
	var older []*principal.DirectoryUpdate
	for _, name := range []string{"alfa", "bravo", "alfa", "charlie", "bravo", "delta"} {
		older = append(older, u.directoryUpdate(u.rename(name)))
		for _, e := range older {
			s.ok(s.Directory.ApplyDirectory(s.ctx, e))
			s.same("whole names as "+name, s.slice("", nil, 10), []principal.DirectoryRow{u.row(true, name)})
			for _, other := range []string{"alfa", "bravo", "charlie", "delta"} {
				var want []principal.DirectoryRow
				if other == name {
					want = append(want, u.row(false, name))
				}
				s.same(other+" as "+name, s.slice(other, nil, 10), want)
			}
		}
	}
}

func pageDirectory(s *env) {
	// Two with one name, a name that is a prefix of another, a group and a user, and another
	// tenant whose names are in between.
	var want []principal.DirectoryRow
	for _, id := range []principal.ID{s.user("2"), s.user("1"), s.group("1"), s.user("1/a")} {
		want = append(want, s.newNamed(id, "Maria").row(false, "maria"))
	}
	for n, name := range []string{"mariam", "maria anna", "mari", "mark"} {
		c := s.newNamed(s.user(fmt.Sprintf("m%d", n)), name)
		want = append(want, c.row(false, name), c.row(false, fmt.Sprintf("m%d", n)))
	}
	s.newNamed(s.user("other"), "nora")
	far := &env{T: s.T, Store: s.Store, ctx: s.ctx, tenant: s.tenant + "-b", clock: s.clock}
	far.newNamed(far.user("far"), "maria")
	for _, prefix := range []string{"m", "ma", "mari", "maria", "maria ", "maria a", "m2", "mz", "x"} {
		found := slices.DeleteFunc(slices.Clone(want), func(r principal.DirectoryRow) bool { return !strings.HasPrefix(r.Name, prefix) })
		s.wantPages(prefix, found)
	}
	var whole []principal.DirectoryRow
	for _, r := range want {
		if !strings.HasPrefix(r.Name, "m") || r.Name[1] > '9' {
			r.Whole = true
			whole = append(whole, r)
		}
	}
	nora := s.slice("nora", nil, 1)[0]
	nora.Whole = true
	s.wantPages("", append(whole, nora))
}

// wantPages reads a slice in pages of several sizes and compares it with the rows wanted, which may
// be in any order.
func (s *env) wantPages(prefix string, want []principal.DirectoryRow) {
	s.Helper()
	slices.SortFunc(want, func(a, b principal.DirectoryRow) int {
		if a.Position().Less(b.Position()) {
			return -1
		}
		return 1
	})
	for _, limit := range []int{1, 2, 3, len(want) + 1} {
		var got []principal.DirectoryRow
		var after *principal.DirectoryPosition
		for {
			rows := s.slice(prefix, after, limit)
			if len(rows) == 0 {
				break
			}
			got = append(got, rows...)
			last := rows[len(rows)-1].Position()
			after = &last
		}
		s.same(fmt.Sprintf("%q in pages of %d", prefix, limit), got, want)
	}
}

func pageDirectoryCharacters(s *env) {
	names := []string{"z", "zz", "z\u00e9", "\u00e9", "\u00e9t", "\u00ea", "\u4e2d\u6587", "\u4e2d\u6588", "\ud7ff",
		"\ue000", "\U0010ffff", "\U0010ffff\U0010ffff", "\U0010fffe"}
	var all []principal.DirectoryRow
	for n, name := range names {
		all = append(all, s.newNamed(s.user(fmt.Sprintf("0%d", n)), name).row(false, name))
	}
	for _, prefix := range append(names, "\u4e2d", "\u4e2c", "\U0010fffd") {
		s.wantPages(prefix, slices.DeleteFunc(slices.Clone(all),
			func(r principal.DirectoryRow) bool { return !strings.HasPrefix(r.Name, prefix) }))
	}
}

func readDirectory(s *env) {
	u := s.newNamed(s.user("u"), "anna bella")
	s.newNamed(s.user("v"), "anna")
	keys := []principal.DirectoryKey{{Name: "bella"}, {Name: "anna"}, {Whole: true, Name: "anna bella"},
		{Whole: true, Name: "bella"}, {Name: "u"}, {Name: ""}}
	none := func(k principal.DirectoryKey) principal.DirectoryRow {
		return principal.DirectoryRow{DirectoryKey: k, Principal: u.head.ID}
	}
	rows, err := s.Directory.ReadDirectory(s.ctx, u.head.ID, keys)
	s.ok(err)
	s.same("rows", rows, []principal.DirectoryRow{u.row(false, "bella"), none(keys[1]), u.row(true, "anna bella"),
		none(keys[3]), u.row(false, "u"), none(keys[5])})
	s.returns("no rows", []principal.DirectoryRow{})(s.Directory.ReadDirectory(s.ctx, s.user("unknown"), nil))
}

// scanned returns the rows of the subtest's tenant that a scan in pages returns.
func (s *env) scanned(limit int) []principal.DirectoryRow {
	s.Helper()
	var own []principal.DirectoryRow
	var after []byte
	for {
		rows, next, err := s.Directory.ScanDirectory(s.ctx, after, limit)
		s.ok(err)
		if len(rows) > limit {
			s.Fatalf("%d rows for a limit of %d", len(rows), limit)
		}
		for _, r := range rows {
			if r.Principal.Tenant() == s.tenant {
				own = append(own, r)
			}
		}
		if next == nil {
			return own
		}
		after = next
	}
}

func scanDirectory(s *env) {
	s.same("rows before there are any", s.scanned(3), []principal.DirectoryRow{})
	var want []principal.DirectoryRow
	for n, name := range []string{"anna bella", "anna carla", "quote \" \\ \u00e9", "anna"} {
		c := s.newNamed(s.user(fmt.Sprintf("n%d", n)), name)
		for _, k := range keysOf(c) {
			want = append(want, c.row(k.Whole, k.Name))
		}
	}
	all := s.scanned(1000)
	if len(all) != len(want) {
		s.Fatalf("%d rows, want %d", len(all), len(want))
	}
	for _, r := range want {
		if !slices.Contains(all, r) {
			s.Fatalf("%+v is missing in %+v", r, all)
		}
	}
	for _, limit := range []int{1, 2, 3, 7} {
		s.same(fmt.Sprintf("pages of %d", limit), s.scanned(limit), all)
	}
}

// keysOf returns the keys that the present state of a principal derives.
func keysOf(c *principalRows) []principal.DirectoryKey {
	e := principal.DirectoryUpdate{Header: &c.head}
	put, _ := e.Derive(&c.head)
	return put
}

func dropDirectory(s *env) {
	u := s.newNamed(s.user("u"), "anna")
	before := u.row(false, "anna")
	u.write(nil)
	u.directoryUpdate("anna")
	s.ok(s.Directory.DropDirectory(s.ctx, []principal.DirectoryRow{before}))
	s.same("a row that is newer than the one given", s.slice("anna", nil, 10), []principal.DirectoryRow{u.row(false, "anna")})
	none := u.row(false, "none")
	for range 2 {
		s.ok(s.Directory.DropDirectory(s.ctx, []principal.DirectoryRow{u.row(false, "anna"), none}))
		s.same("the row given", s.slice("anna", nil, 10), []principal.DirectoryRow{})
	}
	s.same("another row of it", s.slice("", nil, 10), []principal.DirectoryRow{u.row(true, "anna")})
	u.write(nil)
	u.directoryUpdate("")
	s.same("a row that was written again", s.slice("anna", nil, 10), []principal.DirectoryRow{u.row(false, "anna")})
	s.ok(s.Directory.DropDirectory(s.ctx, nil))
}
