//go:build !race

package simulator

import (
	"context"
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// crashSeeds is the number of seeds played for each scenario: they differ in the order of
// concurrent steps.
const crashSeeds = 3

// loseLibrary removes bob's library, as an operator might.
func loseLibrary(st *Store) {
	lib := st.library(bob)
	lib.entries, lib.built = nil, cell{}
}

// byHand is the timestamp with which an operator deletes rows: later than every state,
// and half a second ahead of the clocks of the gateways.
var byHand = int64(clock.Of(epoch.Add(time.Hour + time.Second/2)))

// deleted deletes bob's library by hand: writing the present states again has no visible
// effect.
func deleted(st *Store) {
	lib := st.library(bob)
	for _, cell := range lib.entries {
		cell.del(byHand)
	}
	lib.built.del(byHand)
}

// deletedWithRecord deletes with bob's library the record of what he has a role on.
func deletedWithRecord(st *Store) {
	deleted(st)
	lib := st.library(bob)
	for _, cell := range lib.shared {
		cell.del(byHand)
	}
	lib.recorded.del(byHand)
}

// withWrongEntry puts an entry into bob's library that no header justifies.
func withWrongEntry(st *Store) {
	cell := st.library(bob).entry(principal.Private, library.EntryKey{Position: clock.Of(epoch) - 7, Content: item})
	cell.put(1)
	cell.entry.MTS, cell.entry.Role = 1, library.Viewing
}

// scenarios are all mutations, in all forms in which they write differently.
func scenarios() []Scenario {
	key := "key"
	soon := clock.Of(epoch.Add(time.Hour + 3*time.Second))
	rows := func(ms ...library.Member) []library.Member { return ms }
	title := func(t string) *Operation { return &Operation{kind: opTitle, viewer: ann, content: item, title: t} }
	visibility := func(v principal.Visibility) *Operation {
		return &Operation{kind: opVisibility, viewer: ann, content: item, visibility: v}
	}
	renameTo := func(t string, v principal.Visibility) *Operation {
		return &Operation{kind: opTitle, viewer: ann, content: item, title: t, visibility: v}
	}
	share := func(p principal.ID, r library.ContentRole) *Operation {
		return &Operation{kind: opShare, viewer: ann, content: item, members: rows(library.Member{Principal: p, Role: r})}
	}
	members := func(ms ...library.Member) *Operation {
		return &Operation{kind: opMembers, viewer: ann, content: item, members: ms}
	}
	group := func(p principal.ID, r principal.GroupRole) *Operation {
		return &Operation{kind: opGroup, viewer: ann, group: crew, groupRows: []principal.GroupMemberRow{{Principal: p, Role: r}}}
	}
	create := &Operation{kind: opCreate, viewer: ann, content: later, title: "new", visibility: principal.Public,
		members: rows(library.Member{Principal: bob, Role: library.Viewing}, library.Member{Principal: cid, Role: library.Editing})}
	keyed := func(o *Operation) *Operation {
		copied := *o
		copied.key = &key
		return &copied
	}
	expire := func(in time.Duration) *Operation {
		return &Operation{kind: opExpire, viewer: ann, content: item, expires: soon.Add(in)}
	}
	hot := library.Tuning{HotMoves: 1, HotPause: 2 * time.Second}
	again := func(ctx context.Context, p *process) error {
		_, _, err := p.svc.Repair.Rebuild(ctx, bob)
		return err
	}
	return []Scenario{
		{Name: "create", op: create},
		{Name: "create with a key", op: keyed(create)},
		{Name: "update", op: title("second")},
		{Name: "update with a key", op: keyed(title("second"))},
		{Name: "update widens", op: visibility(principal.Public)},
		{Name: "update narrows", op: visibility(principal.Private)},
		{Name: "update without a rename", op: &Operation{kind: opTitle, viewer: ann, content: item, about: "about"}},
		{Name: "rename back", before: []*Operation{title("second")}, op: title("first")},
		{Name: "rename to a title of the same place", op: title(titles[1])},
		{Name: "rename narrows", op: renameTo("second", principal.Private)},
		{Name: "rename back narrows", before: []*Operation{title("second")}, op: renameTo("first", principal.Private)},
		{Name: "rename back of a hot item", before: []*Operation{title("second")}, op: title("first"), tune: hot},
		{Name: "share of a hot item whose rename is deferred", before: []*Operation{title("second"), title("third")},
			op: share(cid, library.Viewing), tune: hot},
		{Name: "update of a hot item", before: []*Operation{title("second")}, op: title("third"), tune: hot},
		{Name: "update narrows a hot item", before: []*Operation{title("second"), visibility(principal.Public)},
			op: visibility(principal.Private), tune: hot},
		{Name: "update of expiry", op: expire(time.Hour)},
		{Name: "update of expiry to a former time", before: []*Operation{expire(time.Hour), expire(2 * time.Hour)}, op: expire(time.Hour)},
		{Name: "delete of what expires", before: []*Operation{expire(time.Hour)}, op: &Operation{kind: opDelete, viewer: ann, content: item}},
		{Name: "expiry", op: &Operation{kind: opExpire, viewer: ann, content: item, expires: soon}, runFor: 10 * time.Second},
		{Name: "share", op: share(cid, library.Viewing)},
		{Name: "share with a key", op: keyed(share(crew, library.Editing))},
		{Name: "share promotes", op: share(bob, library.Editing)},
		{Name: "setContentMembers", op: members(library.Member{Principal: bob}, library.Member{Principal: cid, Role: library.Viewing})},
		{Name: "setContentMembers takes back in", before: []*Operation{members(library.Member{Principal: bob})},
			op: members(library.Member{Principal: bob, Role: library.Manages})},
		{Name: "removeFromLibrary", op: &Operation{kind: opRemove, viewer: bob, content: item, members: rows(library.Member{Principal: bob})}},
		{Name: "delete", op: &Operation{kind: opDelete, viewer: ann, content: item}},
		{Name: "delete of a hot item", before: []*Operation{title("second"), title("third")},
			op: &Operation{kind: opDelete, viewer: ann, content: item}, tune: hot},
		{Name: "createUser", op: &Operation{kind: opCreateUser, viewer: ann, group: dan, title: "daniel"}},
		{Name: "createUser with a key", op: keyed(&Operation{kind: opCreateUser, viewer: ann, group: dan, title: "daniel"})},
		{Name: "updateUser", op: &Operation{kind: opUpdateUser, viewer: bob, group: bob, title: "robert"}},
		{Name: "updateUser takes a name back", before: []*Operation{{kind: opUpdateUser, viewer: bob, group: bob, title: "robert"}},
			op: &Operation{kind: opUpdateUser, viewer: bob, group: bob, title: "bob"}},
		{Name: "createGroup", op: &Operation{kind: opCreateGroup, viewer: ann, group: club, title: "clubbers"}},
		{Name: "updateGroup", op: &Operation{kind: opUpdateGroup, viewer: ann, group: crew, title: "mates"}},
		{Name: "setGroupMembers adds", op: group(cid, principal.GroupMember)},
		{Name: "setGroupMembers promotes", op: group(bob, principal.GroupManager)},
		{Name: "setGroupMembers takes out", op: group(bob, principal.NotInGroup)},
		{Name: "rebuildLibrary", op: &Operation{kind: opRebuild, viewer: ann, group: bob}, prepare: loseLibrary, after: again},
		{Name: "rebuildLibrary of a wrong one", op: &Operation{kind: opRebuild, viewer: ann, group: bob}, prepare: withWrongEntry, after: again},
		{Name: "rebuildLibrary of one deleted by hand", op: &Operation{kind: opRebuild, viewer: ann, group: bob}, prepare: deleted, after: again},
		{Name: "rebuildLibrary of one deleted with its record", op: &Operation{kind: opRebuild, viewer: ann, group: bob},
			prepare: deletedWithRecord, after: again},
		{Name: "a read of a library deleted by hand", op: &Operation{kind: opRead, viewer: bob, group: bob}, prepare: deleted, after: again},
		{Name: "a read of a lost library", op: &Operation{kind: opRead, viewer: bob, group: bob}, prepare: loseLibrary, after: again},
	}
}

// TestCrashPoints lets every operation fail at every store call in every way, and checks that all
// of them were covered.
func TestCrashPoints(t *testing.T) {
	m := NewMachine()
	defer m.Close()
	points, covered := 0, 0
	for _, sc := range slices.Concat(scenarios(), leaseScenarios(), pageScenarios(), pasteScenarios()) {
		t.Run(sc.Name, func(t *testing.T) {
			for seed := range uint64(crashSeeds) {
				calls, found := m.Record(t.Context(), &sc, seed)
				for _, v := range found {
					t.Fatalf("undisturbed: %v", &v)
				}
				if len(calls) == 0 {
					t.Fatal("no store call was made")
				}
				for _, at := range calls {
					for _, fault := range CrashFaults {
						points++
						hit, found := m.Crash(t.Context(), &sc, seed, at, fault)
						for _, v := range found {
							t.Errorf("%s at call %d, %s: %v", fault, at.N, at.Call, &v)
						}
						if hit == at.Call {
							covered++
						} else {
							t.Errorf("%s at call %d, %s: the fault hit the call %q", fault, at.N, at.Call, hit)
						}
					}
				}
			}
		})
	}
	if points == 0 || covered != points {
		t.Errorf("%d of %d crash points covered", covered, points)
	}
	t.Logf("%d of %d crash points covered", covered, points)
}
