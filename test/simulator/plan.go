package simulator

import (
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// kinds are the operations of a schedule, with their weights. churn are those of a schedule that
// changes few rows again and again, moves of one about hot items, shares of one in which many
// share an item, ends of one in which items expire, names of one about the names of principals,
// gone of one about deletions of principals.
var (
	kinds = [...]opKind{opTitle, opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility,
		opShare, opShare, opMembers, opMembers, opMembers, opMembers, opRemove, opRemove, opDelete,
		opExpire, opCreate, opGroup, opGroup, opRebuild, opUpdateGroup, opCreateGroup, opCreateUser, opImport, opImportMembers}
	churn  = [...]opKind{opTitle, opTitle, opTitle, opVisibility, opMembers, opMembers, opMembers, opShare, opShare, opShare, opRemove}
	names  = [...]opKind{opUpdateUser, opUpdateUser, opUpdateGroup, opUpdateGroup, opUpdateGroup, opGroup, opCreateUser, opTitle}
	shares = [...]opKind{opShare, opShare, opShare, opShare, opShare, opShare, opVisibility, opMembers, opRemove}
	ends   = [...]opKind{opExpire, opExpire, opTitle, opTitle, opVisibility, opShare}
	gone   = [...]opKind{opDeleteUser, opDeleteUser, opDeleteGroup, opShare, opShare, opShare, opMembers, opMembers,
		opGroup, opGroup, opGroup, opTitle, opRead, opCreate, opRemove, opUpdateGroup}
	moves = [...]opKind{opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility, opVisibility, opMembers,
		opMembers, opRemove, opDelete}
)

// plan draws the operations of a schedule.
func (w *world) plan(s *Scheduler, least, most int, kinds []opKind) []*Operation {
	ops := make([]*Operation, least+s.pick(most-least+1))
	var once [numOps]bool
	keyed := []uint64{0, 200, 500}[s.pick(3)]
	for i := range ops {
		o := &Operation{n: i + 1, viewer: ann, content: w.contents[s.pick(len(w.contents))]}
		o.kind = kinds[s.pick(len(kinds))]
		if o.kind == opCreate || o.kind == opCreateUser || o.kind == opCreateGroup || o.kind == opImport || o.kind.deletes() {
			// Each of these happens at most once.
			if once[o.kind] {
				o.kind = opTitle
			}
			once[o.kind] = true
		}
		w.fill(s, o)
		w.fillName(s, o)
		if w.crowded {
			w.crowd(s, o)
		}
		if s.chance(keyed) && !o.kind.imports() {
			o.key = keyFor(i)
		}
		ops[i] = o
	}
	return ops
}

// keyFor returns the idempotency key of the i-th operation of a schedule.
func keyFor(i int) *string {
	key := "key-" + string(rune('a'+i))
	return &key
}

// fill draws the input of an operation.
func (w *world) fill(s *Scheduler, o *Operation) {
	someone := func() principal.ID {
		if w.focus != "" {
			return w.focus
		}
		return w.principals[s.pick(len(w.principals))]
	}
	switch o.kind {
	case opTitle:
		o.fillUpdate(s)
	case opVisibility:
		o.visibility = principal.Visibility(1 + s.pick(3))
	case opExpire:
		// Some items expire in a day, at one of two times, so that a former expiry is set again.
		// Others expire so soon that clients still change them.
		o.expires = clock.Of(epoch.Add(time.Duration(24+o.n%2) * time.Hour))
		if s.chance(w.soon) {
			o.expires = clock.Of(epoch.Add(time.Hour + 4*time.Second + time.Duration(s.pick(20_000_000_000))))
		}
	case opShare:
		o.members = []library.Member{{Principal: someone(), Role: library.ContentRole(1 + s.pick(2))}}
	case opMembers:
		o.members = w.rows(s, 3)
	case opRemove:
		o.viewer = bob
		o.members = []library.Member{{Principal: bob}}
	case opCreate:
		o.content, o.title, o.visibility = later, someTitle(s), principal.Visibility(1+s.pick(3))
		o.members = w.rows(s, 0)
		w.contents = append(w.contents, later)
	case opImport:
		o.content, o.title, o.visibility = old, someTitle(s), principal.Visibility(1+s.pick(3))
		o.members = putMembers(w.rows(s, 0), []library.Member{{Principal: ann, Role: library.Manages}})
		o.expires = clock.Of(epoch.Add(time.Duration(s.pick(60)) * time.Minute)) // its last modification
		w.contents = append(w.contents, old)
	case opImportMembers:
		o.members = w.rows(s, 0)
	case opGroup:
		o.content, o.group = "", w.groups[s.pick(len(w.groups))]
		o.groupRows = []principal.GroupMemberRow{{Principal: w.joiner(s, o.group), Role: principal.GroupRole(s.pick(3))}}
	case opRebuild:
		o.content, o.group = "", someone()
	case opUpdateUser:
		// Few names, so that some are repeated.
		o.content, o.group, o.title = "", bob, "name"+string(rune('a'+s.pick(3)))
	case opUpdateGroup:
		o.content, o.group, o.title = "", w.groups[s.pick(len(w.groups))], "name"+string(rune('a'+s.pick(3)))
	case opDeleteUser:
		o.content, o.group = "", bob
	case opDeleteGroup:
		o.content, o.group = "", w.groups[s.pick(len(w.groups))]
	case opRead:
		o.content, o.group = "", someone()
	case opCreateUser:
		o.content, o.group, o.title = "", dan, "name"+string(rune('a'+o.n))
	case opCreateGroup:
		o.content, o.group, o.title = "", club, "name"+string(rune('a'+o.n))
	}
}

// fillUpdate draws the fields of an update: description, title, or both, and now and then the visibility too.
func (o *Operation) fillUpdate(s *Scheduler) {
	if s.chance(512) {
		o.about = "about " + string(rune('0'+o.n))
	}
	if o.about == "" || s.chance(512) {
		o.title = someTitle(s)
	}
	if s.chance(100) {
		o.visibility = principal.Visibility(1 + s.pick(3))
	}
}

// titles are few, so that they come back. The first is that of items at the start; the second is at the same place in the
// order of titles.
var titles = [...]string{"first", "fir\u00adst", "Fourth 4", "fourth 10"}

func someTitle(s *Scheduler) string { return titles[s.pick(len(titles))] }

// joiner returns a principal that may be added to a group, or removed. It may be another group.
func (w *world) joiner(s *Scheduler, group principal.ID) principal.ID {
	who := []principal.ID{bob, cid}
	for _, g := range w.groups {
		if g != group {
			who = append(who, g)
		}
	}
	if w.crowded {
		who = append(who, ann)
	}
	return who[s.pick(len(who))]
}

// crowd chooses actors who have no right to the operation or may lose it, and who send the version
// that they have seen.
func (w *world) crowd(s *Scheduler, o *Operation) {
	switch o.kind {
	case opTitle, opVisibility, opDelete, opExpire, opMembers, opShare, opGroup:
		if s.chance(450) {
			o.viewer = []principal.ID{bob, cid}[s.pick(2)]
		}
	case opRemove:
		if s.chance(450) {
			o.viewer = []principal.ID{ann, bob, cid}[s.pick(3)]
			o.members = []library.Member{{Principal: w.principals[s.pick(len(w.principals))]}}
		}
	}
	switch o.kind {
	case opTitle, opVisibility, opDelete:
		if s.chance(300) {
			version := 1 + s.pick(3)
			o.expected = &version
		}
	case opShare:
		for range s.pick(3) {
			p := w.principals[s.pick(len(w.principals))]
			if !slices.ContainsFunc(o.members, func(m library.Member) bool { return m.Principal == p }) {
				o.members = append(o.members, library.Member{Principal: p, Role: o.members[0].Role})
			}
		}
		if o.viewer != ann && s.chance(700) {
			for i := range o.members {
				o.members[i].Role = library.Viewing
			}
		}
	case opMembers:
		// The others may manage too, so ann may cease to.
		if s.chance(350) {
			o.members = []library.Member{{Principal: w.principals[1+s.pick(len(w.principals)-1)], Role: library.Manages}}
		} else if s.chance(300) {
			o.members = []library.Member{{Principal: ann, Role: library.ContentRole(s.pick(3))}}
			if s.chance(700) { // and hands over to somebody else
				o.members = append(o.members, library.Member{Principal: w.principals[1+s.pick(len(w.principals)-1)], Role: library.Manages})
			}
		}
	}
}

// rows draws role changes of one or two principals other than ann. On average, removals
// of eight changes remove the role.
func (w *world) rows(s *Scheduler, removals int) []library.Member {
	var list []library.Member
	if w.focus != "" && s.chance(800) {
		role := library.ContentRole(1 + s.pick(2))
		if s.pick(8) < removals {
			role = library.NoRole
		}
		return []library.Member{{Principal: w.focus, Role: role}}
	}
	for _, p := range w.principals[1:] {
		if len(list) < 2 && s.chance(512) {
			role := library.ContentRole(1 + s.pick(2))
			if s.pick(8) < removals {
				role = library.NoRole
			}
			list = append(list, library.Member{Principal: p, Role: role})
		}
	}
	if len(list) == 0 {
		role := library.Viewing
		if removals > 0 && s.chance(512) {
			role = library.NoRole
		}
		list = []library.Member{{Principal: w.principals[1], Role: role}}
	}
	return list
}
