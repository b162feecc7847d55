package simulator

import (
	"cmp"
	"slices"
	"sync"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// Store is the simulated store that all actors share: authoritative partitions changed by
// conditional writes, and derived cells in which the last write wins. The product accesses it
// through a Client.
type Store struct {
	mu            sync.Mutex // for clients without a scheduler; never held across a switch
	s             *Scheduler // nil: calls take effect at once, from any goroutine
	contents      []*contentPart
	principals    []*principalPart
	libraries     []*libraryPart
	directory     []*foundCell // by tenant, list, name and id
	inFlightLists []*listCell
	dues          []*dueCell // by instant and row
	creations     []commit.Creation
	claims        []claim.Claim   // in order of their keys
	texts         []note.Text     // in order of their ids
	drafts        []note.DraftRow // in order of user and name
	leases        []lease.Row     // in order of their ids
	pastes        []paste.Row     // likewise
	bodies        []bodyRow       // of pastes, in order of paste and id
	buckets       []bucketRow     // days of feeds
	feeds         []*feedCell     // entries of feeds, by partition, the oldest first
	settings      []setting
	blocks        []archive.BlockRow
	decided       int // conditional writes applied to partitions
	copyNote      []byte
	// notes counts the notes of copies; noted is the number of the one that is there.
	notes, noted int

	announcements []*announcementCell // by process
	late          []*message          // writes that have not arrived yet
	// replicas are three replicas of contents, libraries and lists; none: there is one copy of
	// everything. repairs: quorum reads repair the replicas that they have read.
	replicas []*Store
	repairs  bool
	faults   Faults
	struck   int      // faults so far, clients that gave up among them
	givenUp  int      // calls whose caller's context has ended before they did
	history  *History // nil: not kept
	Trace    func(format string, args ...any)
}

// message is a write under way.
type message struct {
	call string
	// partition names the Paxos group of a conditional write; empty for others.
	partition string
	apply     func()
}

// cell is a last-write-wins cell.
type cell struct {
	ts   int64
	live bool
}

// put reports whether a value written at ts wins. At equal timestamps a delete wins over an
// insert.
func (c *cell) put(ts int64) bool {
	if ts <= c.ts {
		return false
	}
	c.ts, c.live = ts, true
	return true
}

// del deletes at ts.
func (c *cell) del(ts int64) {
	if ts >= c.ts {
		c.ts, c.live = ts, false
	}
}

type contentPart struct {
	id       library.ContentID
	version  int // rises with each conditional write, if there are replicas
	header   library.Header
	members  []library.Member // by id; replaced, never changed in place
	rows     []library.Row    // by kind and key; likewise
	requests []commit.RequestRow
}

type principalPart struct {
	id       principal.ID
	header   principal.Header
	members  []principal.GroupMemberRow // likewise
	requests []commit.RequestRow
}

// libraryPart holds all derived rows of one principal.
type libraryPart struct {
	id      principal.ID
	entries []*entryCell // by bucket, then as the bucket's order, oldest first
	shared  []*sharedCell
	groups  []*groupCell
	// built and recorded mark the library and what is shared as complete.
	built, recorded cell
	rebuild         noteCell
	changes         []library.Change // in their order
}

type entryCell struct {
	cell
	bucket library.Bucket
	entry  library.Entry
}

// noteCell is the note of a rebuild.
type noteCell struct {
	cell
	note []byte
}

type sharedCell struct {
	cell
	content library.ContentID
	role    library.ContentRole
}

type groupCell struct {
	cell
	group principal.ID
	role  principal.GroupRole
	since clock.Instant
}

type foundCell struct {
	cell
	row principal.DirectoryRow
}

type listCell struct {
	cell
	id      commit.ListID
	block   []byte
	pending bool // some change in it has not ended
}

type dueCell struct {
	cell
	at  clock.Instant
	row string
}

type setting struct {
	name  string
	value []byte
}

// NewStore returns an empty store. With a scheduler, every call through a Client is a point at
// which it may switch tasks; without one, a Client is an ordinary backend.
func NewStore(s *Scheduler) *Store { return &Store{s: s} }

// Reset empties the store.
func (st *Store) Reset() {
	*st = Store{s: st.s}
}

func (st *Store) content(id library.ContentID) *contentPart {
	return at(st.contents, id, compareContent)
}

func (st *Store) makeContent(id library.ContentID) *contentPart {
	return made(&st.contents, id, compareContent, func() *contentPart { return &contentPart{id: id} })
}

func compareContent(p *contentPart, id library.ContentID) int { return cmp.Compare(p.id, id) }

func (st *Store) principal(id principal.ID) *principalPart {
	return at(st.principals, id, comparePrincipal)
}

func (st *Store) makePrincipal(id principal.ID) *principalPart {
	return made(&st.principals, id, comparePrincipal, func() *principalPart { return &principalPart{id: id} })
}

func comparePrincipal(p *principalPart, id principal.ID) int { return cmp.Compare(p.id, id) }

// library returns the derived rows of a principal, empty ones if there are none.
func (st *Store) library(id principal.ID) *libraryPart {
	return made(&st.libraries, id, func(p *libraryPart, id principal.ID) int { return cmp.Compare(p.id, id) },
		func() *libraryPart { return &libraryPart{id: id} })
}

// compareEntry orders entry cells: by bucket, then by key.
func compareEntry(c *entryCell, k *entryCell) int {
	return cmp.Or(cmp.Compare(c.bucket, k.bucket),
		c.entry.Compare(k.entry.EntryKey))
}

// entry returns the cell of a key, which it creates if needed.
func (p *libraryPart) entry(b library.Bucket, at library.EntryKey) *entryCell {
	key := &entryCell{bucket: b, entry: library.Entry{EntryKey: at}}
	return made(&p.entries, key, compareEntry, func() *entryCell { return key })
}

// compareChange orders changes by their keys.
func compareChange(c library.Change, k library.ChangeKey) int {
	return cmp.Or(cmp.Compare(c.At, k.At), cmp.Compare(c.Content, k.Content), cmp.Compare(c.MTS, k.MTS))
}

// change stores a change, and replaces one with its key.
func (p *libraryPart) change(c library.Change) {
	p.changes = put(p.changes, c.ChangeKey, compareChange, c)
}

func (p *libraryPart) share(id library.ContentID) *sharedCell {
	return made(&p.shared, id, func(c *sharedCell, id library.ContentID) int { return cmp.Compare(c.content, id) },
		func() *sharedCell { return &sharedCell{content: id} })
}

func (p *libraryPart) group(id principal.ID) *groupCell {
	return made(&p.groups, id, func(c *groupCell, id principal.ID) int { return cmp.Compare(c.group, id) },
		func() *groupCell { return &groupCell{group: id} })
}

// arrive lets a late write take effect.
func (st *Store) arrive(i int) {
	m := st.late[i]
	st.late = slices.Delete(st.late, i, i+1)
	st.tracef("late %s arrives", m.call)
	m.apply()
}

func (st *Store) tracef(format string, args ...any) {
	if st.Trace != nil {
		st.Trace(format, args...)
	}
}

// decide applies the effect of a serial read to the conditional writes in progress on a partition:
// each is applied now, or never will be, or has not reached its first replica yet and stays in
// progress.
func (st *Store) decide(partition string) {
	for i := 0; i < len(st.late); {
		m := st.late[i]
		if m.partition != partition {
			i++
			continue
		}
		switch st.s.pick(3) {
		case 0:
			st.late = slices.Delete(st.late, i, i+1)
			st.tracef("serial read of %s finishes %s", partition, m.call)
			m.apply()
		case 1:
			st.late = slices.Delete(st.late, i, i+1)
			st.tracef("serial read of %s ends %s", partition, m.call)
		default:
			i++
		}
	}
}
