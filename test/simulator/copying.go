package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/lease"
)

// copyTries is how often an operator makes a copy again that was broken off.
const copyTries = 20

// copyStore has an operator copy the store to a new one, with processes that die and a store
// that fails, and checks the copy like the store itself. Nothing is in flight, and nobody uses
// the store any more.
func (r *run) copyStore() {
	for _, p := range r.procs {
		p.a.Crash()
	}
	to := NewStore(r.s)
	to.Trace = r.st.Trace
	to.faults = Faults{Budget: 4, Chance: 64, Crashes: 2, Reads: true}
	// Writes of an earlier process may arrive while the next one copies.
	r.s.Between = func() {
		if n := len(to.late); n > 0 && r.s.chance(r.lateness) {
			to.arrive(r.s.pick(n))
		}
	}
	ended := false
	for n := 0; !ended && n < copyTries; n++ {
		if n == copyTries/2 {
			to.faults = Faults{}
		}
		var failed error
		r.copier(to, func(a *Actor, c *Client) {
			failed = r.copyOnce(a, NewClient(r.st, a), c)
			ended = failed == nil
		})
		switch {
		case r.seen(noEnd, defect):
			return
		case fault.CodeOf(failed) == fault.Conflict:
			r.report(lostChange, "the copy was refused: %v", failed)
			return
		}
	}
	if !ended {
		r.report(noEnd, "the copy has not ended after %d tries", copyTries)
		return
	}
	to.faults = Faults{}
	r.copier(to, func(a *Actor, c *Client) { r.finishCopied(a, c) })
	r.keysOfCopy(to)
	to.audit(func(kind, format string, args ...any) { r.report(kind, "in the copy: "+format, args...) })
}

// copier runs a process on the copy until it has finished, or dies.
func (r *run) copier(to *Store, do func(a *Actor, c *Client)) {
	a := r.s.NewActor("copier", 0, 0)
	done := false
	a.Spawn(nil, func() {
		do(a, NewClient(to, a))
		done = true
	})
	r.until("the copy", func() bool { return done || a.dead })
	a.Crash()
}

// copyOnce does what the operator's command does.
func (r *run) copyOnce(a *Actor, from, to *Client) error {
	compared, err := archive.Copy(r.ctx, a, archive.Source{Store: from, Journal: from.Journal, Registers: from.Registers},
		to, func(archive.Progress) {})
	if err != nil {
		return err
	}
	if compared != nil {
		r.compareCopy(to.st)
	}
	p := &process{a: a, c: to}
	if err := p.boot(r.ctx, r.tune); err != nil {
		return err
	}
	if err := p.svc.Repair.DeriveAll(r.ctx, func(int, int) {}); err != nil {
		return err
	}
	to.calm = true // a copy that has ended cannot be made again
	return archive.Finish(r.ctx, to)
}

// compareCopy compares the rows of the copy with those of the store, in any order: the
// simulated store lists creations as they have come, and rows that a copy puts again may
// come late.
func (r *run) compareCopy(to *Store) {
	for _, c := range []archive.Chapter{archive.ChapterCreations, archive.ChapterPrincipals, archive.ChapterContents, archive.ChapterLeases} {
		if got, want := inOrder(rowsAsText(to.archived(c))), inOrder(rowsAsText(r.st.archived(c))); got != want {
			r.report(wrongLibrary, "the copy has the %s %s, not %s", c, got, want)
		}
	}
}

// keysOfCopy checks that permanent leases hold their keys in the copy, too.
func (r *run) keysOfCopy(to *Store) {
	for _, row := range to.leases {
		if !isLease(row.ID) {
			continue
		}
		l := readLeaseRow(row)
		for _, k := range l.keys {
			if holder := to.claimAt(leased(k)).Record; l.state == lease.Confirmed && holder != string(row.ID) {
				r.report(lostKey, "in the copy, the claim of %q points to %q and not to %s", k, holder, row.ID)
			}
		}
	}
}

// finishCopied takes over what a process on the copy has started and not finished: items expire
// there too.
func (r *run) finishCopied(a *Actor, c *Client) {
	p := &process{a: a, c: c}
	if err := p.boot(r.ctx, r.tune); err != nil {
		r.report(noEnd, "serving the copy: %v", err)
		return
	}
	var err error
	for range 50 {
		if err = p.takeOver(r.ctx); err == nil && c.st.quiet() {
			return
		}
		_ = a.After(r.ctx, 30*time.Second)
	}
	r.report(noEnd, "serving the copy: %v, late %d", err, len(c.st.late))
}

// inOrder sorts the lines of a text.
func inOrder(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// rowsAsText returns a text that is different for different rows.
func rowsAsText(rows []archive.Row) string {
	text := ""
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Creation != nil:
			text += fmt.Sprintf("%+v\n", *r.Creation)
		case r.Principal != nil:
			text += fmt.Sprintf("%+v\n", *r.Principal)
		case r.GroupMember != nil:
			text += fmt.Sprintf("%+v\n", *r.GroupMember)
		case r.Content != nil:
			text += fmt.Sprintf("%s %q %d %d %d %v %v %v\n", r.Content.ID, r.Content.Title, r.Content.Seq, r.Content.MTS,
				r.Content.Position, r.Content.Visibility, r.Content.State, r.Content.Unsettled)
		case r.Member != nil:
			text += fmt.Sprintf("%+v\n", *r.Member)
		case r.Lease != nil:
			text += fmt.Sprintf("%s %d %x\n", r.Lease.ID, r.Lease.Seq, r.Lease.Data)
		case r.Request != nil:
			text += fmt.Sprintf("%+v\n", *r.Request)
		}
	}
	return text
}
