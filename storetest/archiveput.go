package storetest

import (
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// future is in 2039: later than every clock by which a store may write.
const future clock.Instant = 2177452800000000

// archived returns rows that no method call of this subtest has written.
func (s *archiveEnv) archived() map[archive.Chapter][]archive.Row {
	link, text, expires := "https://example.com/", "text", s.later()
	content, group := s.content("put"), s.group("put")
	a, b := s.user("a"), s.user("b")
	requested, second := s.request(3), s.request(4)
	second.Answer = nil
	body, draft, other := s.text(9, "body"), s.draft("put", 1, "value \x00"), s.draft("put", 2, "other")
	creation := s.creation("put", string(content))
	readable, opaque := s.pasted(5, 7), s.opaque(6, 2)
	writers := []commit.Writer{{Seq: 6, Entry: commit.EntryID{6}}, {Seq: 7, Entry: commit.EntryID{7}}}
	header := library.Header{
		Content: library.Content{ID: content, Kind: library.Link, Title: "Put", Description: &text, Link: &link, Visibility: principal.LoggedIn,
			Creator: a, CreatedAt: start, LastModified: start + 9, Version: 4, ExpiresAt: &expires, CanonicalURL: "https://example.com/put",
			Page: []byte{1, 0}},
		State: commit.Live, Seq: 7, MTS: future, Position: start + 7, Widest: principal.Public,
		LoggedInUntil: start + 5, PublicUntil: start + 4,
		Unsettled: []library.Superseded{{Position: start + 1, Widest: principal.Public}, {Position: start + 3, Widest: principal.Private}},
		Writers:   writers, MovesSince: start + 2, Moves: 31, MovedAt: start + 8, Managers: 1, Members: 1,
	}
	owner := principal.Header{ID: group, DisplayName: "Put", Visibility: principal.Private, Email: "p@x.example", CreatedAt: start,
		State: commit.Live, Seq: 7, MTS: future, Writers: writers, Managers: 1, Members: 1}
	return map[archive.Chapter][]archive.Row{
		archive.ChapterSettings:  {{Setting: &archive.SettingRow{Name: "y:" + s.tenant + ":put", Value: []byte{9, 0}}}},
		archive.ChapterBlocks:    {{Block: &archive.BlockRow{Host: "y:" + s.tenant + ":put", Next: 4711}}},
		archive.ChapterCreations: {{Creation: &creation}},
		archive.ChapterPrincipals: {
			{Principal: &owner},
			{GroupMember: &archive.GroupMemberAt{Group: group, GroupMemberRow: principal.GroupMemberRow{Principal: a,
				Role: principal.GroupManager, Seq: 2}}},
			{GroupMember: &archive.GroupMemberAt{Group: group, GroupMemberRow: principal.GroupMemberRow{Principal: b,
				Role: principal.GroupMember, Leaving: true, Seq: 7}}},
			{Request: &archive.RequestAt{Principal: group, RequestRow: second}},
		},
		archive.ChapterContents: {
			{Content: &header},
			{Member: &archive.MemberAt{Content: content, Member: library.Member{Principal: a, Role: library.Manages, Seq: 1}}},
			{Member: &archive.MemberAt{Content: content, Member: library.Member{Principal: b, Role: library.Viewing, Leaving: true,
				Seq: 5, Since: start + 2, RemovedFrom: 6}}},
			{Request: &archive.RequestAt{Content: content, RequestRow: requested}},
			{ContentRow: &archive.RowAt{Content: content, Row: row(4, "0001/en", "value \x00")}},
		},
		archive.ChapterDues:   {{Due: &commit.Reminder{At: s.later(), Kind: commit.Content, Key: string(content), MTS: future}}},
		archive.ChapterTexts:  {{Text: &body}},
		archive.ChapterDrafts: {{Draft: &draft}, {Draft: &other}},
		archive.ChapterPastes: {{Paste: &readable}, {Paste: &opaque}},
	}
}

// putAll puts the rows of all chapters.
func (s *archiveEnv) putAll(rows map[archive.Chapter][]archive.Row) {
	s.Helper()
	for _, c := range chapters {
		s.put(rows[c]...)
	}
}

// wantAll checks that the store has the rows, by its own methods and as an archive.
func (s *archiveEnv) wantAll(rows map[archive.Chapter][]archive.Row) {
	s.Helper()
	for _, c := range chapters {
		s.same(c.String(), sorted(s.walk(c, 100)), sorted(rows[c]))
	}
	contents, principals := rows[archive.ChapterContents], rows[archive.ChapterPrincipals]
	h := contents[0].Content
	members := []principal.ID{contents[1].Member.Principal, contents[2].Member.Principal}
	for _, serial := range []bool{false, true} {
		further := contents[4].ContentRow.Row
		got := s.read(h.ID, library.ContentQuery{Members: members, Request: &contents[3].Request.Key,
			Rows: rowKeys([]library.Row{further}), Serial: serial})
		s.same("the item", got, &library.ContentRows{Header: *h, Members: []library.Member{contents[1].Member.Member, contents[2].Member.Member},
			Request: &contents[3].Request.RequestRow, Rows: []library.Row{further}})
	}
	g := principals[0].Principal
	got, err := s.Principals.ReadPrincipal(s.ctx, g.ID, principal.Query{Members: members, Request: &principals[3].Request.Key})
	s.ok(err)
	s.same("the group", got, &principal.Rows{Header: *g,
		Members: []principal.GroupMemberRow{principals[1].GroupMember.GroupMemberRow, principals[2].GroupMember.GroupMemberRow},
		Request: &principals[3].Request.RequestRow})
	setting := rows[archive.ChapterSettings][0].Setting
	s.returns("the setting", setting.Value)(s.Registers.PutSettingIfAbsent(s.ctx, setting.Name, []byte("another")))
	creation := rows[archive.ChapterCreations][0].Creation
	s.same("the creation", s.putCreation(s.creation("put", "c:x:another"), nil), *creation)
	due := rows[archive.ChapterDues][0].Due
	dues, err := s.Journal.DueReminders(s.ctx, due.At, 1000)
	s.ok(err)
	if !slices.Contains(dues, *due) {
		s.Fatalf("the due %v is not among %v", *due, dues)
	}
	body := rows[archive.ChapterTexts][0].Text
	s.wantTexts("the text", []note.TextID{body.ID}, *body)
	drafts := rows[archive.ChapterDrafts]
	one, two := drafts[0].Draft, drafts[1].Draft
	s.wantDrafts("the drafts", one.User, []string{two.Name, one.Name}, *two, *one)
	for _, r := range rows[archive.ChapterPastes] {
		s.wantPaste("the paste", r.Paste.ID, *r.Paste)
	}
}

func putRows(s *archiveEnv) {
	rows := s.archived()
	s.putAll(rows)
	s.wantAll(rows)
	block := rows[archive.ChapterBlocks][0].Block
	first, err := s.archive.ReserveBlock(s.ctx, block.Host, 10)
	s.ok(err)
	if first != block.Next {
		s.Fatalf("the next block begins at %d, want %d", first, block.Next)
	}
	// In place of stored rows.
	h := *rows[archive.ChapterContents][0].Content
	h.Title, h.Description, h.ExpiresAt, h.Unsettled, h.Seq = "Another", nil, nil, nil, 8
	s.put(archive.Row{Content: &h})
	s.same("the header put in place of another", s.read(h.ID, library.ContentQuery{}).Header, h)
	it := s.newItem("stored", principal.Public, s.user("a"))
	it.move()
	h.ID, h.Seq, h.Writers = it.head.ID, 1, []commit.Writer{{Seq: 1, Entry: commit.EntryID{1}}}
	s.put(archive.Row{Content: &h})
	s.same("the header put in place of one that was decided", s.read(h.ID, library.ContentQuery{}).Header, h)
	newer := s.draft("put", 1, "newer")
	s.put(archive.Row{Draft: &newer})
	s.wantDrafts("the draft put in place of another", newer.User, []string{newer.Name}, newer)
	s.putPastes()
}

// putPastes puts pastes in place of others, whose times of creation are unknown or different.
func (s *archiveEnv) putPastes() {
	earlier := s.pasted(1, 9)
	earlier.ID = s.pasted(5, 1).ID
	for _, p := range []paste.Row{s.pasted(5, 1), earlier, s.opaque(5, 3), s.pasted(5, 2)} {
		s.put(archive.Row{Paste: &p})
		s.wantPaste("the paste put in place of another", p.ID, p)
	}
	var of []paste.Row
	for _, r := range s.walk(archive.ChapterPastes, 100) {
		if r.Paste.ID == earlier.ID {
			of = append(of, *r.Paste)
		}
	}
	s.same("its rows", of, []paste.Row{s.pasted(5, 2)})
	s.returns("by its former time of creation", []paste.Row{s.pasted(5, 2)})(
		s.Pastes.ReadPastes(s.ctx, []paste.Ref{{ID: earlier.ID, CreatedAt: paste.CreatedAt(earlier)}}))
}

func putRowsAgain(s *archiveEnv) {
	rows := s.archived()
	for range 3 {
		s.putAll(rows)
	}
	s.wantAll(rows)
}

func putRowsThenCommit(s *archiveEnv) {
	rows := s.archived()
	s.putAll(rows)
	it := &item{s: s.env, head: *rows[archive.ChapterContents][0].Content, rows: map[principal.ID]library.Member{}}
	for _, r := range rows[archive.ChapterContents][1:3] {
		it.rows[r.Member.Principal] = r.Member.Member
	}
	// The rows that were put have an MTS of 2039; the writes are of today.
	it.write(func(c *library.ContentCommit) {
		c.Header.Title, c.Header.Description, c.Header.MTS = "Decided", nil, future+1
		c.Members = []library.Member{{Principal: s.user("a"), Role: library.Editing}}
	})
	it.cleanUp(library.Cleanup{Positions: []clock.Instant{start + 1}, Leaving: it.members(s.user("b"))})
	it.cleanedUp(start + 1)
	delete(it.rows, s.user("b"))
	it.wantStored("the item after a conditional write")
	g := &principalRows{s: s.env, head: *rows[archive.ChapterPrincipals][0].Principal, rows: map[principal.ID]principal.GroupMemberRow{}}
	g.write(func(p *principal.Commit) {
		p.Header.DisplayName, p.Header.MTS = "Decided", future+1
		p.Members = []principal.GroupMemberRow{{Principal: s.user("a"), Role: principal.GroupMember}}
	})
	s.returns("the group after a conditional write", &principal.Rows{Header: g.head, Members: g.members(s.user("a"))})(
		s.Principals.ReadPrincipal(s.ctx, g.head.ID, principal.Query{Members: []principal.ID{s.user("a")}}))
	before := rows[archive.ChapterDrafts][0].Draft
	saved := s.draft("put", 1, "saved")
	s.same("the draft after a conditional write", s.putDraft(saved, &before.Token), saved)
	old := *rows[archive.ChapterCreations][0].Creation
	fresh := s.creation("put", "c:x:fresh")
	s.same("the creation that replaced it", s.putCreation(fresh, &old), fresh)
	due := *rows[archive.ChapterDues][0].Due
	s.ok(s.Journal.DropReminder(s.ctx, due))
	dues, err := s.Journal.DueReminders(s.ctx, due.At, 1000)
	s.ok(err)
	if slices.Contains(dues, due) {
		s.Fatalf("the due is still there after it was dropped")
	}
}

func putRowsDerivesNothing(s *archiveEnv) {
	rows := s.archived()
	s.putAll(rows)
	for _, p := range []principal.ID{s.user("a"), s.user("b"), s.group("put")} {
		s.wantLibrary(p, nil)
		s.returns("what was shared", []library.Shared(nil))(s.Libraries.SharedWith(s.ctx, p, "", 10))
		s.returns("memberships", []principal.Membership(nil))(s.Principals.Memberships(s.ctx, p, "", 10))
		s.returns("built of "+string(p), false)(s.Libraries.Built(s.ctx, p, library.ByChange))
	}
}

// note stores the note of a copy.
func (s *archiveEnv) note(text []byte) {
	s.Helper()
	s.ok(s.archive.PutCopyNote(s.ctx, text))
}

func noteIsNoRow(s *archiveEnv) {
	s.note([]byte("x:" + s.tenant + ":note"))
	for _, c := range chapters {
		s.same(c.String(), s.walk(c, 10), []archive.Row(nil))
	}
	s.note(nil)
}

func noteKept(s *archiveEnv) {
	for _, text := range [][]byte{[]byte("first"), {0, 1, 0xff}, []byte("third"), nil, nil, []byte("again"), nil} {
		s.note(slices.Clone(text))
		got, err := s.archive.CopyNote(s.ctx)
		s.ok(err)
		if (got == nil) != (text == nil) || string(got) != string(text) {
			s.Fatalf("the note is %q, want %q", got, text)
		}
	}
}

func durableNote(s *archiveEnv) {
	rows := s.archived()
	s.putAll(rows)
	s.note([]byte("done"))
	s.crash()
	s.returns("the note", []byte("done"))(s.archive.CopyNote(s.ctx))
	s.wantAll(rows)
	s.note(nil)
	s.crash()
	if got, err := s.archive.CopyNote(s.ctx); err != nil || got != nil {
		s.Fatalf("the note that was removed is %q, %v", got, err)
	}
}
