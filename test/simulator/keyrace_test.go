package simulator

import (
	"context"
	"testing"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// keyRaces is the number of seeds of concurrent creations with one key.
const keyRaces = 4000

// keyRace plays two creations by one viewer with one key and two inputs, each through a gateway
// of its own or a shared one, with faults, crashes and recoverers. It returns how many items
// were created.
func (m *Machine) keyRace(ctx context.Context, seed uint64, named bool) (created int, found []Violation) {
	key := "key"
	r := m.begin(ctx, seed, crashWorld)
	r.tune = library.Tuning{SnapshotPage: 1, FanOutWidth: 2}
	r.drawFaults()
	for n, id := range []library.ContentID{later, "c:t:second"} {
		if named {
			id = later
		}
		o := &Operation{n: n + 1, kind: opCreate, viewer: ann, content: id, title: string(id) + string(rune('a'+n)),
			visibility: principal.Public, key: &key}
		r.ops = append(r.ops, o)
		r.users = append(r.users, &client{queue: []*Operation{o}})
	}
	for _, c := range r.users {
		r.start(c)
	}
	for range r.recoverers {
		r.recoverer()
	}
	if !r.until("the creations", r.idle) {
		return 0, r.found
	}
	r.ending, r.s.jump, r.s.slow = true, 0, 0
	r.st.faults = Faults{}
	for _, p := range r.procs {
		p.c.outage = 0
	}
	r.clear()
	if !r.seen(noEnd, defect) {
		r.verify()
	}
	for _, part := range m.st.contents {
		if part.header.State == commit.Live && part.header.ID != item {
			created++
		}
	}
	if answers := len(answeredOf(r.ops)); answers > created {
		r.report(lostChange, "%d creations were answered, %d items are there", answers, created)
	}
	return created, r.found
}

func answeredOf(ops []*Operation) (done []*Operation) {
	for _, o := range ops {
		if o.outcome == answered {
			done = append(done, o)
		}
	}
	return done
}

// TestKeyRace_TwoInputsCreateOnce: whatever fails, one key creates one item.
func TestKeyRace_TwoInputsCreateOnce(t *testing.T) {
	m := NewMachine()
	defer m.Close()
	races := keyRaces
	if underRace {
		races = raceSample
	}
	var none, one int
	for seed := range uint64(races) {
		created, found := m.keyRace(t.Context(), seed, seed%2 == 1)
		for _, v := range found {
			t.Fatalf("seed %d: %v", seed, &v)
		}
		switch created {
		case 0:
			none++
		case 1:
			one++
		default:
			t.Fatalf("seed %d: one key created %d items", seed, created)
		}
	}
	if one < races/2 {
		t.Errorf("%d of %d races created anything", one, races)
	}
	t.Logf("%d created one item, %d none", one, none)
}
