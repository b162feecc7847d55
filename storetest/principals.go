package storetest

import (
	"fmt"
	"maps"
	"slices"

	"carrel/core/commit"
	"carrel/principal"
)

func principalChecks() []check {
	return []check{
		{"ReadPrincipal", "It must return a zero Header for an unknown id, without an error", readPrincipalUnknown},
		{"ReadPrincipal", "header, members in the order requested, and request row are read back", readPrincipal},
		{"ReadPrincipals", "ReadPrincipals reads headers in the order of ids, zero ones for unknown ids", readPrincipals},
		{"ReadPrincipals", "It must leave out Writers", readPrincipalsBrief},
		{"CommitPrincipal", "It must apply whole or not at all, iff Seq is Base, and be durable when it returns", commitPrincipal},
		{"CommitPrincipal", "the last MaxWriters writers are kept, and a refusal returns them", commitPrincipalWriters},
		{"ScanPrincipals", "ScanPrincipals lists ids after one, each once, in a permanent order of its own", scanPrincipals},
	}
}

// principalRows is a principal whose rows a subtest knows.
type principalRows struct {
	s    *env
	head principal.Header
	rows map[principal.ID]principal.GroupMemberRow
}

// newPrincipal commits a new user or group with managers.
func (s *env) newPrincipal(id principal.ID, managers ...principal.ID) *principalRows {
	s.Helper()
	c := &principalRows{s: s, rows: make(map[principal.ID]principal.GroupMemberRow)}
	c.head.ID = id
	c.write(func(p *principal.Commit) {
		h := &p.Header
		h.DisplayName, h.Visibility, h.CreatedAt, h.State = "Name of "+string(id), principal.LoggedIn, h.MTS, commit.Live
		h.Managers, h.Members = len(managers), len(managers)
		for _, m := range managers {
			p.Members = append(p.Members, principal.GroupMemberRow{Principal: m, Role: principal.GroupManager})
		}
	})
	return c
}

// next returns the commit that follows the state of the principal, modified by change.
func (c *principalRows) next(change func(p *principal.Commit)) *principal.Commit {
	p := &principal.Commit{ID: c.head.ID, Base: c.head.Seq, Header: c.head, Writer: c.s.entry()}
	p.Header.Seq++
	p.Header.MTS = c.s.tick()
	p.Header.Writers = nil
	if change != nil {
		change(p)
	}
	for i := range p.Members {
		p.Members[i].Seq, p.Members[i].Since = p.Header.Seq, p.Header.MTS-5
	}
	return p
}

// commitPrincipal commits a principal.
func (s *env) commitPrincipal(p *principal.Commit) commit.Verdict {
	s.Helper()
	return s.decide(
		func() (commit.Verdict, error) { return s.Principals.CommitPrincipal(s.ctx, p) },
		func(v commit.Verdict) bool { return made(v, p.Header.Seq, p.Writer) })
}

// write commits a change, which must apply.
func (c *principalRows) write(change func(p *principal.Commit)) {
	c.s.Helper()
	p := c.next(change)
	if v := c.s.commitPrincipal(p); !v.Applied {
		c.s.Fatalf("commit of seq %d on base %d was refused: %+v", p.Header.Seq, p.Base, v)
	}
	writers := append(slices.Clone(c.head.Writers), commit.Writer{Seq: p.Header.Seq, Entry: p.Writer})
	c.head = p.Header
	c.head.Writers = writers[max(0, len(writers)-commit.MaxWriters):]
	for _, m := range p.Members {
		c.rows[m.Principal] = m
	}
}

// put writes a member row.
func (c *principalRows) put(p principal.ID, role principal.GroupRole, leaving bool) {
	c.s.Helper()
	c.write(func(w *principal.Commit) {
		w.Members = []principal.GroupMemberRow{{Principal: p, Role: role, Leaving: leaving}}
	})
}

// members returns the rows of principals; Seq is 0 if there is none.
func (c *principalRows) members(principals ...principal.ID) []principal.GroupMemberRow {
	ms := make([]principal.GroupMemberRow, len(principals))
	for i, p := range principals {
		ms[i] = c.rows[p]
		ms[i].Principal = p
	}
	return ms
}

// membership returns the derived membership of a principal.
func (c *principalRows) membership(p principal.ID) principal.Membership {
	return principal.Membership{Group: c.head.ID, Role: c.rows[p].Role, Since: c.rows[p].Since}
}

// principals returns the principals with a row, in order of id.
func (c *principalRows) principals() []principal.ID { return slices.Sorted(maps.Keys(c.rows)) }

// wantStored checks that the store has the principal as it was committed.
func (c *principalRows) wantStored(what string) {
	c.s.Helper()
	all := append(c.principals(), c.s.user("no-member"))
	want := &principal.Rows{Header: c.head, Members: c.members(all...)}
	for _, serial := range []bool{true, false} {
		rows, err := c.s.Principals.ReadPrincipal(c.s.ctx, c.head.ID, principal.Query{Members: all, Serial: serial})
		c.s.ok(err)
		c.s.same(what, rows, want)
	}
}

func readPrincipalUnknown(s *env) {
	key := commit.RequestKey{1}
	for _, serial := range []bool{true, false} {
		rows, err := s.Principals.ReadPrincipal(s.ctx, s.group("unknown"), principal.Query{Members: []principal.ID{s.user("a")},
			Request: &key, Serial: serial})
		s.ok(err)
		s.same("rows", rows, &principal.Rows{Members: []principal.GroupMemberRow{{Principal: s.user("a")}}})
	}
}

func readPrincipal(s *env) {
	a, b, c := s.user("a"), s.user("a/b"), s.group("c")
	g := s.newPrincipal(s.group("g"), a)
	u := s.newPrincipal(s.user("g"))
	g.put(c, principal.GroupMember, false)
	g.put(b, principal.GroupManager, true)
	r := commit.RequestRow{Key: commit.RequestKey{7}, InputHash: [32]byte{8}, Answer: []byte("{}"), Until: s.later()}
	g.write(func(p *principal.Commit) { p.Request = &r })
	u.write(func(p *principal.Commit) {
		p.Header.Email, p.Header.DisplayName, p.Header.Visibility = "a@example.com", "Ä \u202e b", principal.Public
	})
	g.wantStored("group")
	u.wantStored("user of the same name")
	requested := []principal.ID{c, s.user("none"), b, a}
	s.returns("rows", &principal.Rows{Header: g.head, Members: g.members(requested...), Request: &r})(
		s.Principals.ReadPrincipal(s.ctx, g.head.ID, principal.Query{Members: requested, Request: &r.Key}))
	s.returns("rows of the user", &principal.Rows{Header: u.head})(
		s.Principals.ReadPrincipal(s.ctx, u.head.ID, principal.Query{Request: &r.Key}))
}

func readPrincipals(s *env) {
	a, b := s.newPrincipal(s.user("a")), s.newPrincipal(s.group("b"), s.user("a"))
	hs, err := s.Principals.ReadPrincipals(s.ctx, []principal.ID{b.head.ID, s.user("unknown"), a.head.ID, b.head.ID})
	s.ok(err)
	b.head.Writers, a.head.Writers = nil, nil
	s.same("headers", hs, []principal.Header{b.head, {}, a.head, b.head})
	s.returns("headers of no ids", []principal.Header(nil))(s.Principals.ReadPrincipals(s.ctx, nil))
}

func readPrincipalsBrief(s *env) {
	a := s.newPrincipal(s.user("a"))
	if rows, err := s.Principals.ReadPrincipal(s.ctx, a.head.ID, principal.Query{}); err != nil || len(rows.Header.Writers) == 0 {
		s.Fatalf("ReadPrincipal omits the writers: %+v, %v", rows, err)
	}
	hs, err := s.Principals.ReadPrincipals(s.ctx, []principal.ID{a.head.ID})
	s.ok(err)
	if len(hs) != 1 || hs[0].Writers != nil || hs[0].Seq != a.head.Seq {
		s.Errorf("ReadPrincipals returns %+v", hs)
	}
}

func commitPrincipal(s *env) {
	a, b := s.user("a"), s.user("b")
	g := s.newPrincipal(s.group("g"), a)
	for _, base := range []int64{0, 2, 9} {
		r := commit.RequestRow{Key: commit.RequestKey{3}, Answer: []byte("x"), Until: s.later()}
		p := g.next(func(p *principal.Commit) {
			p.Base, p.Header.Seq, p.Header.DisplayName, p.Request = base, base+1, "refused", &r
			p.Members = []principal.GroupMemberRow{{Principal: a, Role: principal.GroupMember}, {Principal: b, Role: principal.GroupMember}}
		})
		s.same("verdict", s.commitPrincipal(p), commit.Verdict{Seq: 1, Writers: g.head.Writers})
		g.wantStored(fmt.Sprintf("group after a commit on base %d was refused", base))
		rows, err := s.Principals.ReadPrincipal(s.ctx, g.head.ID, principal.Query{Request: &r.Key})
		s.ok(err)
		if rows.Request != nil {
			s.Fatalf("a refused commit has written its request row: %+v", rows.Request)
		}
	}
	g.write(func(p *principal.Commit) {
		p.Header.DisplayName = "applied"
		p.Members = []principal.GroupMemberRow{{Principal: a, Role: principal.GroupMember}, {Principal: b, Role: principal.GroupManager}}
	})
	g.wantStored("group after a commit")
	missing := g.next(func(p *principal.Commit) { p.ID, p.Header.ID = s.group("missing"), s.group("missing") })
	s.same("verdict on a missing one", s.commitPrincipal(missing), commit.Verdict{})
	fenced := &principalRows{s: s, rows: make(map[principal.ID]principal.GroupMemberRow)}
	fenced.head.ID = s.user("fenced")
	fenced.write(func(p *principal.Commit) { p.Header.State = commit.Void })
	fenced.wantStored("void header")
}

func commitPrincipalWriters(s *env) {
	u := s.newPrincipal(s.user("u"))
	for range commit.MaxWriters + 3 {
		u.write(nil)
	}
	u.wantStored("user")
	late := u.next(func(p *principal.Commit) { p.Base, p.Header.Seq = 1, 2 })
	s.same("verdict", s.commitPrincipal(late), commit.Verdict{Seq: u.head.Seq, Writers: u.head.Writers})
	if n := len(u.head.Writers); n != commit.MaxWriters {
		s.Fatalf("%d writers", n)
	}
}

func scanPrincipals(s *env) {
	var want []principal.ID
	for _, id := range []principal.ID{s.user("b"), s.group("b"), s.user("a/b"), s.user("a"), s.group("a")} {
		s.newPrincipal(id, s.user("m1"), s.user("m2"))
		want = append(want, id)
	}
	wantIDs(s, want, s.Principals.ScanPrincipals)
}
