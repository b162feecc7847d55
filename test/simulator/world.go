package simulator

import (
	"cmp"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The principals of every world: users of two tenants, and a group of one of them. In some worlds
// there is a second group, inner, which may be nested in the first one, or contain it.
const (
	ann   = principal.ID("u:t:ann") // manages what is there at the start
	bob   = principal.ID("u:t:bob")
	cid   = principal.ID("u:o:cid")
	crew  = principal.ID("g:t:crew")
	guest = principal.ID("g:o:guest")
	inner = principal.ID("g:t:inner")
	boss  = principal.ID("u:t:boss") // an administrator of t, who is not stored
	dan   = principal.ID("u:t:dan")  // created by an operation
	club  = principal.ID("g:t:club") // created by an operation
)

// item exists at the start, and in some worlds other or abroad. later is created by an operation,
// and old is imported by one.
const (
	item   = library.ContentID("c:t:item")
	other  = library.ContentID("c:t:other")
	abroad = library.ContentID("c:o:other")
	later  = library.ContentID("c:t:later")
	old    = library.ContentID("c:t:old")
)

// world is the setting of a schedule.
type world struct {
	principals []principal.ID
	contents   []library.ContentID
	groups     []principal.ID
	// crowded: others than ann make changes too, and do not always have the right to.
	crowded bool
	// soon is the chance, in 1024, that an item that is given an end expires while
	// others use it.
	soon uint64
	// urls are those that items are given, in a schedule about unique names.
	urls []string
	// few: most operations want the same name.
	few bool
	// focus, if it is set, is the principal of most changes of members.
	focus principal.ID
}

// build fills an empty store with a consistent world.
func (st *Store) build(s *Scheduler) world {
	w := world{principals: []principal.ID{ann, bob, cid, crew}, groups: []principal.ID{crew}}
	if s.chance(300) {
		w.principals[3], w.groups[0] = guest, guest
	}
	w.crowded, w.soon = s.chance(500), 512
	created := clock.Of(epoch)
	for _, p := range w.principals {
		st.addPrincipal(p, created)
	}
	rows := []principal.GroupMemberRow{
		{Principal: ann, Role: principal.GroupManager, Seq: 1},
		{Principal: bob, Role: principal.GroupMember, Seq: 1},
	}
	nested := s.chance(250)
	if nested {
		st.addPrincipal(inner, created)
		if s.chance(600) {
			rows = slices.Insert(rows, 0, principal.GroupMemberRow{Principal: inner, Role: principal.GroupRole(1 + s.pick(2)), Seq: 1})
		}
	}
	st.addGroupMembers(w.groups[0], rows)
	w.principals = w.principals[:2+s.pick(3)]
	if nested {
		st.addGroupMembers(inner, []principal.GroupMemberRow{
			{Principal: cid, Role: principal.GroupMember, Seq: 1}, {Principal: ann, Role: principal.GroupManager, Seq: 1},
		})
		w.groups, w.principals = append(w.groups, inner), append(w.principals, inner)
	}
	w.contents = []library.ContentID{item}
	st.addContent(s, item, w.principals, created)
	if s.chance(256) {
		second := other
		if s.chance(256) {
			second = abroad
		}
		w.contents = append(w.contents, second)
		st.addContent(s, second, w.principals, created+1)
	}
	return w
}

func (st *Store) addPrincipal(id principal.ID, at clock.Instant) {
	p := st.makePrincipal(id)
	p.header = principal.Header{ID: id, DisplayName: id.Name(), Visibility: principal.Public,
		CreatedAt: at, State: commit.Live, Seq: 1, MTS: at}
	st.library(id).built.put(int64(at))
	st.library(id).recorded.put(int64(at))
	st.applyDirectory(&principal.DirectoryUpdate{Header: &p.header})
	if st.history != nil && id.IsUser() { // addGroupMembers notes groups
		st.history.principal(p, nil)
	}
}

// addEverybody adds principals who exist from the start, and crew with ann and bob.
func (st *Store) addEverybody(principals []principal.ID) clock.Instant {
	at := clock.Of(epoch)
	for _, p := range append(slices.Clip(principals), crew) {
		st.addPrincipal(p, at)
	}
	st.addGroupMembers(crew, []principal.GroupMemberRow{
		{Principal: ann, Role: principal.GroupManager, Seq: 1},
		{Principal: bob, Role: principal.GroupMember, Seq: 1},
	})
	return at
}

func (st *Store) addGroupMembers(group principal.ID, rows []principal.GroupMemberRow) {
	p := st.makePrincipal(group)
	slices.SortFunc(rows, func(a, b principal.GroupMemberRow) int { return cmp.Compare(a.Principal, b.Principal) })
	p.members = rows
	p.header.Members = len(rows)
	for _, m := range rows {
		if m.Role == principal.GroupManager {
			p.header.Managers++
		}
		cell := st.library(m.Principal).group(group)
		cell.put(int64(p.header.MTS))
		cell.role = m.Role
	}
	if st.history != nil {
		st.history.principal(p, nil)
	}
}

// addContent adds an item that ann manages, and that is shared with some of the others.
func (st *Store) addContent(s *Scheduler, id library.ContentID, principals []principal.ID, at clock.Instant) {
	members := []library.Member{{Principal: ann, Role: library.Manages, Seq: 1}}
	for _, who := range principals[1:] {
		if s.chance(600) {
			members = putMembers(members, []library.Member{{Principal: who, Role: library.Viewing, Seq: 1}})
		}
	}
	st.putContent(id, principal.Visibility(1+s.pick(3)), members, at)
}

// putContent puts an item with its member rows, in order of id, into libraries.
func (st *Store) putContent(id library.ContentID, visibility principal.Visibility, members []library.Member, at clock.Instant) {
	p := st.makeContent(id)
	link := "https://example.com/"
	p.members = members
	p.header = library.Header{
		Content: library.Content{ID: id, Kind: library.Link, Title: "first", Link: &link, Visibility: visibility,
			Creator: ann, CreatedAt: at, LastModified: at, Version: 1},
		State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: visibility,
		Managers: 1, Members: len(members),
	}
	e := &library.IndexUpdate{Header: &p.header, Rows: members, All: true}
	st.applyLibrary(e)
	st.applyRecord(e)
	if st.history != nil {
		st.history.content(p, nil)
	}
}
