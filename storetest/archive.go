package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/core/commit"
	"carrel/core/naming"
	"carrel/domain"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// Archive is what a store whose contents can be copied to another does as a whole.
type Archive interface {
	archive.Store
	naming.BlockStore
}

// archiveChecks returns the checks of archive.Store.
func archiveChecks() []archiveCheck {
	return []archiveCheck{
		{"ReadRows", "It must give each row of the chapter once, exactly as stored, and none that is derived", readEveryRow},
		{"ReadRows", "The header of a partition must come before the other rows of it, with no row of another partition between them",
			readPartitions},
		{"ReadRows", "next is where to continue, also from another process; nil at the end of the chapter", readOn},
		{"PutRows", "PutRows must store each row exactly as it is, headers with their Unsettled and Writers, in place of existing ones",
			putRows},
		{"PutRows", "Repeating it must be harmless", putRowsAgain},
		{"PutRows", "A conditional write that comes after it must find the row and prevail, whatever the clocks say", putRowsThenCommit},
		{"PutRows", "Nothing derived is written", putRowsDerivesNothing},
		{"CopyNote", "The note must not be among the rows", noteIsNoRow},
		{"CopyNote", "CopyNote returns the note of the last PutCopyNote, or nil if there is none", noteKept},
	}
}

// durableArchiveChecks returns the checks for which a process must die.
func durableArchiveChecks() []archiveCheck {
	return []archiveCheck{
		{"PutCopyNote", "It must be durable when it returns, with all rows put before it", durableNote},
	}
}

type archiveCheck = checkOf[*archiveEnv]

// RunArchive runs the checks of archive.Store. open returns a store as for Run, which nothing
// else uses meanwhile.
func RunArchive(t *testing.T, open func(t *testing.T) (domain.Store, Archive)) {
	runArchive(t, archiveChecks(), 700, func(t *testing.T, s *archiveEnv) { s.Store, s.archive = open(t) })
}

// RunDurableArchive runs the checks of durability; open is as for RunDurable.
func RunDurableArchive(t *testing.T, open func(t *testing.T) (s domain.Store, a Archive, crash func() (domain.Store, Archive))) {
	runArchive(t, durableArchiveChecks(), 800, func(t *testing.T, s *archiveEnv) { s.Store, s.archive, s.reopen = open(t) })
}

func runArchive(t *testing.T, checks []archiveCheck, number int, open func(t *testing.T, s *archiveEnv)) {
	runAll(t, checks, number, func(t *testing.T, tenant string) *archiveEnv {
		s := &archiveEnv{env: newEnv(t, domain.Store{}, tenant)}
		open(t, s)
		return s
	})
}

// archiveEnv is the environment of a subtest with an archive.
type archiveEnv struct {
	*env
	archive Archive
	reopen  func() (domain.Store, Archive)
}

// crash lets the process of the store die, and opens the store again.
func (s *archiveEnv) crash() { s.Store, s.archive = s.reopen() }

// chapters are all chapters of an archive.
var chapters = []archive.Chapter{
	archive.ChapterSettings, archive.ChapterBlocks, archive.ChapterCreations,
	archive.ChapterPrincipals, archive.ChapterContents, archive.ChapterDues, archive.ChapterTexts,
	archive.ChapterDrafts, archive.ChapterLeases, archive.ChapterPastes, archive.ChapterBodies,
}

// walk reads a chapter in pages and returns the rows of this subtest's tenant. The store may
// have rows of other tenants too.
func (s *archiveEnv) walk(c archive.Chapter, limit int) []archive.Row {
	s.Helper()
	var own []archive.Row
	var after []byte
	for {
		rows, next, err := s.archive.ReadRows(s.ctx, c, after, limit)
		s.ok(err)
		if len(rows) > limit {
			s.Fatalf("%d rows for a limit of %d", len(rows), limit)
		}
		for _, r := range rows {
			if s.owns(&r) {
				own = append(own, r)
			}
		}
		if next == nil {
			return own
		}
		after = next
	}
}

// owns reports whether a row belongs to this subtest.
func (s *archiveEnv) owns(r *archive.Row) bool {
	text, err := json.Marshal(r)
	s.ok(err)
	return strings.Contains(string(text), ":"+s.tenant+":")
}

// put puts rows.
func (s *archiveEnv) put(rows ...archive.Row) {
	s.Helper()
	s.ok(s.archive.PutRows(s.ctx, rows))
}

// request returns an answered request of this subtest.
func (s *archiveEnv) request(key byte) commit.RequestRow {
	return commit.RequestRow{
		Key: commit.RequestKey{0: key, 31: 0xff}, InputHash: [32]byte{1: key}, Answer: []byte{0, key, 0xff}, Until: s.later(),
	}
}

// written are rows of every chapter that the methods of a Store have written, as they must be
// read.
type written struct {
	item, gone, void *item
	principalRows    *principalRows
	rows             map[archive.Chapter][]archive.Row
}

// write fills the store.
func (s *archiveEnv) write() *written {
	s.Helper()
	w := &written{rows: map[archive.Chapter][]archive.Row{}}
	a, b := s.user("a"), s.group("b/c")
	w.item = s.newItem("item", principal.LoggedIn, a)
	w.item.share(b, library.Editing)
	w.item.move()
	w.item.setVisibility(principal.Private)
	w.item.remove(b)
	requested := s.request(1)
	w.item.write(func(c *library.ContentCommit) {
		expires := s.later()
		text := "two\nlines \x00 \U0001F600"
		c.Header.ExpiresAt, c.Header.Description, c.Request = &expires, &text, &requested
		c.Rows = []library.Row{row(3, "1", "one"), row(4, "1", "two")}
	})
	w.item.applyIndex(a, b)
	w.gone = s.newItem("gone", principal.Public, a)
	w.gone.delete()
	w.gone.cleanUp(library.Cleanup{Leaving: w.gone.members(a), Purge: true, Final: true})
	w.gone.head = library.Header{Content: library.Content{ID: w.gone.head.ID}, State: commit.Deleted,
		Seq: w.gone.head.Seq, MTS: w.gone.head.MTS, Writers: w.gone.head.Writers}
	w.gone.rows = nil
	w.void = &item{s: s.env, rows: map[principal.ID]library.Member{}}
	w.void.head.ID = s.content("void")
	w.void.write(func(c *library.ContentCommit) { c.Header.State = commit.Void })
	for _, it := range []*item{w.gone, w.item, w.void} {
		w.add(archive.ChapterContents, archive.Row{Content: &it.head})
		for _, m := range it.members(it.principals()...) {
			w.add(archive.ChapterContents, archive.Row{Member: &archive.MemberAt{Content: it.head.ID, Member: m}})
		}
	}
	w.add(archive.ChapterContents, archive.Row{Request: &archive.RequestAt{Content: w.item.head.ID, RequestRow: requested}})
	for _, r := range []library.Row{row(3, "1", "one"), row(4, "1", "two")} {
		w.add(archive.ChapterContents, archive.Row{ContentRow: &archive.RowAt{Content: w.item.head.ID, Row: r}})
	}
	s.writeGroup(w, a, b)
	s.writeRest(w)
	return w
}

func (w *written) add(c archive.Chapter, r archive.Row) { w.rows[c] = append(w.rows[c], r) }

// writeGroup writes a group with a leaving member and an answered request.
func (s *archiveEnv) writeGroup(w *written, a, b principal.ID) {
	s.Helper()
	w.principalRows = s.newPrincipal(s.group("circle"), a)
	w.principalRows.put(b, principal.GroupMember, true)
	second := s.request(2)
	w.principalRows.write(func(c *principal.Commit) { c.Header.Email, c.Request = "a@b.example", &second })
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, w.principalRows.snapshot(a, b)))
	s.ok(s.Libraries.SetBuilt(s.ctx, w.principalRows.head.ID, start))
	w.add(archive.ChapterPrincipals, archive.Row{Principal: &w.principalRows.head})
	for _, m := range w.principalRows.members(w.principalRows.principals()...) {
		w.add(archive.ChapterPrincipals, archive.Row{GroupMember: &archive.GroupMemberAt{Group: w.principalRows.head.ID, GroupMemberRow: m}})
	}
	w.add(archive.ChapterPrincipals, archive.Row{Request: &archive.RequestAt{Principal: w.principalRows.head.ID, RequestRow: second}})
}

// writeRest writes rows of all other chapters.
func (s *archiveEnv) writeRest(w *written) {
	s.Helper()
	name, value := "x:"+s.tenant+":setting", []byte{0, 1, 0xff}
	s.same("the setting", s.putSetting(name, value), value)
	w.add(archive.ChapterSettings, archive.Row{Setting: &archive.SettingRow{Name: name, Value: value}})
	host := "x:" + s.tenant + ":host"
	first := settled(s.env, func() (int64, error) { return s.archive.ReserveBlock(s.ctx, host, 100) })
	w.add(archive.ChapterBlocks, archive.Row{Block: &archive.BlockRow{Host: host, Next: first + 100}})
	c := s.creation("a", string(s.content("created")))
	s.same("the creation", s.putCreation(c, nil), c)
	w.add(archive.ChapterCreations, archive.Row{Creation: &c})
	d := commit.Reminder{At: s.later(), Kind: commit.Content, Key: string(s.content("item")), MTS: s.tick()}
	s.ok(s.Journal.PutReminder(s.ctx, d))
	w.add(archive.ChapterDues, archive.Row{Due: &d})
	for n := range 3 {
		t := s.text(n, fmt.Sprint("body ", n))
		s.ok(s.Texts.PutText(s.ctx, t))
		w.add(archive.ChapterTexts, archive.Row{Text: &t})
	}
	for _, d := range []note.DraftRow{s.draft("a", 1, "one"), s.draft("a", 2, "two"), s.draft("b", 1, "three")} {
		s.putDraft(d, nil)
		w.add(archive.ChapterDrafts, archive.Row{Draft: &d})
	}
	for n := range 3 {
		l := s.leased(n, 1)
		s.same("the lease", s.leases().put(l), l)
		w.add(archive.ChapterLeases, archive.Row{Lease: &l})
	}
	for n := range 3 {
		p := s.pasted(n, 1)
		if n == 1 {
			p = s.opaque(n, 1)
		}
		s.same("the paste", s.commitPaste(p), p)
		w.add(archive.ChapterPastes, archive.Row{Paste: &p})
		for body := range byte(n) {
			b := archive.BodyRow{BodyRef: s.bodied(n, body), Text: fmt.Sprint("body ", n, body)}
			s.ok(s.Pastes.PutBody(s.ctx, b.BodyRef, b.Text))
			w.add(archive.ChapterBodies, archive.Row{Body: &b})
		}
	}
}

// sorted returns rows in an order that does not depend on the order of the archive.
func sorted(rows []archive.Row) []archive.Row {
	text := func(r archive.Row) string {
		b, _ := json.Marshal(r) // a row can be encoded: it is made of numbers and strings
		return string(b)
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b archive.Row) int { return strings.Compare(text(a), text(b)) })
	return rows
}

func readEveryRow(s *archiveEnv) {
	w := s.write()
	for _, c := range chapters {
		s.same(c.String(), sorted(s.walk(c, 100)), sorted(w.rows[c]))
	}
}

func readPartitions(s *archiveEnv) {
	for _, name := range []string{"a", "a/b", "b"} {
		s.newItem(name, principal.Public, s.user("x"), s.user("y"), s.group("z"))
		s.newPrincipal(s.group(name), s.user("x"), s.user("y"))
	}
	for _, c := range []archive.Chapter{archive.ChapterPrincipals, archive.ChapterContents} {
		for _, limit := range []int{1, 2, 100} {
			begun, current := map[string]bool{}, ""
			for _, r := range s.walk(c, limit) {
				header, of := partitionOf(&r)
				if header != (of != current) || header && begun[of] {
					s.Fatalf("pages of %d of %s: a row of %s (its header: %t) follows one of %s", limit, c, of, header, current)
				}
				current, begun[of] = of, true
			}
			if len(begun) != 3 {
				s.Fatalf("pages of %d of %s give %d partitions", limit, c, len(begun))
			}
		}
	}
}

// partitionOf returns the id of the partition of a row, and whether the row is its header.
func partitionOf(r *archive.Row) (header bool, id string) {
	switch {
	case r.Content != nil:
		return true, string(r.Content.ID)
	case r.Principal != nil:
		return true, string(r.Principal.ID)
	case r.Member != nil:
		return false, string(r.Member.Content)
	case r.GroupMember != nil:
		return false, string(r.GroupMember.Group)
	}
	return false, string(r.Request.Content) + string(r.Request.Principal)
}

func readOn(s *archiveEnv) {
	w := s.write()
	for _, c := range chapters {
		for _, limit := range []int{1, 2, 3} {
			s.same(fmt.Sprintf("%s in pages of %d", c, limit), sorted(s.walk(c, limit)), sorted(w.rows[c]))
		}
	}
}
