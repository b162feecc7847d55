package simulator

import (
	"time"

	"carrel/library"
)

// The principals of every world: two tenants, and a group that may stand in
// either.
const (
	ann   = library.PrincipalID("u:t:ann") // manages what is there at the start
	bob   = library.PrincipalID("u:t:bob")
	cid   = library.PrincipalID("u:o:cid")
	crew  = library.PrincipalID("g:t:crew")
	guest = library.PrincipalID("g:o:guest")
	dan   = library.PrincipalID("u:t:dan") // is created, as
	club  = library.PrincipalID("g:t:club")
)

// item is the content that is there at the start, other one that may be;
// later is one that is created.
const (
	item  = library.ContentID("c:t:item")
	other = library.ContentID("c:t:other")
	later = library.ContentID("c:t:later")
)

// world is what a schedule plays in.
type world struct {
	principals []library.PrincipalID
	contents   []library.ContentID
	group      library.PrincipalID
	// focus, where set, is whom most changes of members are about.
	focus library.PrincipalID
}

// build fills an empty store with a world in which everything is in order.
func (st *Store) build(s *Scheduler) world {
	w := world{principals: []library.PrincipalID{ann, bob, cid, crew}, group: crew}
	if s.chance(300) {
		w.principals[3], w.group = guest, guest
	}
	created := library.InstantOf(epoch)
	for _, p := range w.principals {
		st.addPrincipal(p, created)
	}
	st.addGroupMembers(w.group, []library.GroupMemberRow{
		{Principal: ann, Role: library.GroupManager, Seq: 1},
		{Principal: bob, Role: library.GroupMember, Seq: 1},
	})
	w.principals = w.principals[:2+s.pick(3)]
	w.contents = []library.ContentID{item}
	st.addContent(s, item, w.principals, created)
	if s.chance(256) {
		w.contents = append(w.contents, other)
		st.addContent(s, other, w.principals, created+1)
	}
	return w
}

func (st *Store) addPrincipal(id library.PrincipalID, at library.Instant) {
	p := st.makePrincipal(id)
	p.header = library.PrincipalHeader{ID: id, DisplayName: id.Name(), Visibility: library.Public,
		CreatedAt: at, State: library.Live, Seq: 1, MTS: at}
	st.library(id).built.put(int64(at))
	st.library(id).recorded.put(int64(at))
	st.enforceDirectory(&library.DirectoryEnforcement{Header: &p.header})
}

func (st *Store) addGroupMembers(group library.PrincipalID, rows []library.GroupMemberRow) {
	p := st.makePrincipal(group)
	p.members = rows
	p.header.Members = len(rows)
	for _, m := range rows {
		if m.Role == library.GroupManager {
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

// addContent adds an item that ann manages and that some of the others have.
func (st *Store) addContent(s *Scheduler, id library.ContentID, principals []library.PrincipalID, at library.Instant) {
	members := []library.Member{{Principal: ann, Role: library.Manages, Seq: 1}}
	for _, who := range principals[1:] {
		if s.chance(600) {
			members = putMembers(members, []library.Member{{Principal: who, Role: library.Viewing, Seq: 1}})
		}
	}
	st.putContent(id, library.Visibility(1+s.pick(3)), members, at)
}

// putContent puts an item with its member rows, in order of id, into libraries.
func (st *Store) putContent(id library.ContentID, visibility library.Visibility, members []library.Member, at library.Instant) {
	p := st.makeContent(id)
	link := "https://example.com/"
	p.members = members
	p.header = library.Header{
		Content: library.Content{ID: id, Kind: library.Link, Title: "first", Link: &link, Visibility: visibility,
			Creator: ann, CreatedAt: at, LastModified: at, Version: 1},
		State: library.Live, Seq: 1, MTS: at, Position: at, Widest: visibility,
		Managers: 1, Members: len(members),
	}
	e := &library.Enforcement{Header: &p.header, Rows: members, Reverse: true}
	st.enforceLibrary(e)
	st.enforceReverse(e)
	if st.history != nil {
		st.history.content(p, nil)
	}
}

// kinds are the operations of a schedule, with their weights; churn those of
// one that is about few rows changed again and again, moves those of one that
// is about hot items, names those of one about what principals are called.
var (
	kinds = [...]opKind{opTitle, opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility,
		opShare, opShare, opMembers, opMembers, opMembers, opMembers, opRemove, opRemove, opDelete,
		opExpire, opCreate, opGroup, opGroup, opRebuild, opUpdateGroup, opCreateGroup, opCreateUser}
	churn = [...]opKind{opTitle, opTitle, opTitle, opVisibility, opMembers, opMembers, opMembers, opShare, opShare, opShare, opRemove}
	names = [...]opKind{opUpdateUser, opUpdateUser, opUpdateGroup, opUpdateGroup, opUpdateGroup, opGroup, opCreateUser, opTitle}
	moves = [...]opKind{opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility, opVisibility, opMembers, opMembers, opRemove, opDelete}
)

// plan draws the operations of a schedule.
func (w *world) plan(s *Scheduler, least, most int, kinds []opKind) []*Operation {
	ops := make([]*Operation, least+s.pick(most-least+1))
	var once [numOps]bool
	for i := range ops {
		o := &Operation{n: i + 1, viewer: ann, content: w.contents[s.pick(len(w.contents))]}
		o.kind = kinds[s.pick(len(kinds))]
		if o.kind == opCreate || o.kind == opCreateUser || o.kind == opCreateGroup {
			// Of what is new there is one.
			if once[o.kind] {
				o.kind = opTitle
			}
			once[o.kind] = true
		}
		w.fill(s, o)
		if s.chance(200) {
			key := "key-" + string(rune('a'+i))
			o.key = &key
		}
		ops[i] = o
	}
	return ops
}

// fill draws what an operation asks for.
func (w *world) fill(s *Scheduler, o *Operation) {
	someone := func() library.PrincipalID {
		if w.focus != "" {
			return w.focus
		}
		return w.principals[s.pick(len(w.principals))]
	}
	switch o.kind {
	case opTitle:
		o.title = "title-" + string(rune('0'+o.n))
	case opVisibility:
		o.visibility = library.Visibility(1 + s.pick(3))
	case opExpire:
		// Some in a day; some so soon that it ends while others still change it.
		o.expires = library.InstantOf(epoch.Add(time.Duration(24+o.n) * time.Hour))
		if s.chance(512) {
			o.expires = library.InstantOf(epoch.Add(time.Hour + 4*time.Second + time.Duration(s.pick(20_000_000_000))))
		}
	case opShare:
		o.members = []library.Member{{Principal: someone(), Role: library.ContentRole(1 + s.pick(2))}}
	case opMembers:
		o.members = w.rows(s, 3)
	case opRemove:
		o.viewer = bob
		o.members = []library.Member{{Principal: bob}}
	case opCreate:
		o.content, o.title, o.visibility = later, "title-"+string(rune('0'+o.n)), library.Visibility(1+s.pick(3))
		o.members = w.rows(s, 0)
		w.contents = append(w.contents, later)
	case opGroup:
		o.content, o.group = "", w.group
		who := []library.PrincipalID{bob, cid}[s.pick(2)]
		o.groupRows = []library.GroupMemberRow{{Principal: who, Role: library.GroupRole(s.pick(3))}}
	case opRebuild:
		o.content, o.group = "", someone()
	case opUpdateUser:
		// Few names, so that some come back.
		o.content, o.group, o.title = "", bob, "name"+string(rune('a'+s.pick(3)))
	case opUpdateGroup:
		o.content, o.group, o.title = "", w.group, "name"+string(rune('a'+s.pick(3)))
	case opCreateUser:
		o.content, o.group, o.title = "", dan, "name"+string(rune('a'+o.n))
	case opCreateGroup:
		o.content, o.group, o.title = "", club, "name"+string(rune('a'+o.n))
	}
}

// rows are role changes of one or two principals other than ann; none in eight
// of them are no role at all.
func (w *world) rows(s *Scheduler, none int) []library.Member {
	var list []library.Member
	if w.focus != "" && s.chance(800) {
		role := library.ContentRole(1 + s.pick(2))
		if s.pick(8) < none {
			role = library.NoRole
		}
		return []library.Member{{Principal: w.focus, Role: role}}
	}
	for _, p := range w.principals[1:] {
		if len(list) < 2 && s.chance(512) {
			role := library.ContentRole(1 + s.pick(2))
			if s.pick(8) < none {
				role = library.NoRole
			}
			list = append(list, library.Member{Principal: p, Role: role})
		}
	}
	if len(list) == 0 {
		role := library.Viewing
		if none > 0 && s.chance(512) {
			role = library.NoRole
		}
		list = []library.Member{{Principal: w.principals[1], Role: role}}
	}
	return list
}
