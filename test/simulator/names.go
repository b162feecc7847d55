package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// nameSeed is the first seed of a schedule about unique names; every leaseShare-th one from there on
// is, too.
const nameSeed = 2

// isAboutNames reports whether a seed is that of a schedule about the URLs of items and the e-mail
// addresses of users.
func isAboutNames(seed uint64) bool { return seed%leaseShare == nameSeed }

// nameKinds are the operations of such a schedule, with their weights.
var nameKinds = [...]opKind{opMove, opMove, opMove, opMove, opMove, opMove, opCreate, opCreate, opDelete, opExpire, opTitle,
	opMail, opMail, opMail, opMail, opCreateUser, opDeleteUser}

// contended are those of one in which nearly all want the same names.
var contended = [...]opKind{opMove, opMove, opMove, opMove, opMail, opMail, opMail, opMail, opCreate, opExpire, opExpire}

// urls and addresses are few, so that several owners want the same one.
var (
	urls      = [...]string{"https://n.example/a", "https://n.example/b", ""}
	addresses = [...]string{"a@n.example", "b@n.example"}
)

// buildForNames fills an empty store with two items that ann manages, and users.
func (st *Store) buildForNames(s *Scheduler) world {
	w := world{principals: []principal.ID{ann, bob, cid}, groups: []principal.ID{crew}, soon: 700, urls: urls[:]}
	created := st.addEverybody(w.principals)
	for _, id := range []library.ContentID{item, other} {
		st.addContent(s, id, w.principals[:1], created)
		w.contents = append(w.contents, id)
	}
	return w
}

// drawNames draws the parameters of a schedule about unique names.
func (r *run) drawNames() {
	s := r.s
	r.drawTuning()
	kinds := nameKinds[:]
	if r.w.few = r.seed/leaseShare%2 == 1; r.w.few {
		// The clocks of gateways differ by about the time of a claim, so what one takes has lapsed, or is about
		// to, for another.
		kinds, r.apart = contended[:], claim.TakenWithin
	}
	r.ops = r.w.plan(s, 4, 9, kinds)
	r.drawFaults()
	// Few calls decide who owns a name, so faults strike often.
	r.st.faults.Chance *= 4
	r.lateness = []uint64{1, 4, 32}[s.pick(3)]
	s.slow = []uint64{0, 300, 300}[s.pick(3)]
	r.brisk, r.together = s.chance(400), s.chance(300)
	r.assign(2 + s.pick(3))
	if r.w.few {
		s.slow, r.together = 300, false
		r.tune.HotMoves = 0 // the pauses between moves are promised for clocks that agree
	}
	r.after = r.scrubClaims
}

// fillName draws the URL or address that an operation gives to its item or user.
func (w *world) fillName(s *Scheduler, o *Operation) {
	if len(w.urls) == 0 {
		return
	}
	switch o.kind {
	case opMove, opCreate:
		o.unique = w.urls[s.pick(len(w.urls))]
		if w.few && s.chance(800) {
			o.unique = w.urls[0]
		}
	case opMail:
		o.content, o.group = "", w.principals[s.pick(2)]
		o.unique = addresses[s.pick(len(addresses))]
		if w.few && s.chance(800) {
			o.unique = addresses[0]
		}
	case opCreateUser:
		o.unique = addresses[s.pick(len(addresses))]
	}
}

// aimName waits, in some cases, until about the moment at which a claim lapses, so that an operation meets
// the late write of the one that took the claim. In some cases it then asks for the name of the claim.
func (r *run) aimName(p *process, o *Operation) {
	s := r.s
	if len(r.st.claims) == 0 || o.start > 0 || !s.chance(500) {
		return
	}
	c := r.st.claims[s.pick(len(r.st.claims))]
	if rest := c.Until.Time().Sub(p.a.clock()); rest > 0 {
		_ = p.a.After(r.ctx, max(rest+time.Duration(s.pick(4000)-2000)*time.Millisecond, time.Millisecond))
	}
	r.lateness = max(r.lateness, []uint64{8, 64, 200}[s.pick(3)])
	if mails := c.Space == claim.Email(ann.Tenant(), "").Space; mails == (o.kind == opMail) && (mails || o.kind == opMove) {
		o.unique = c.Name
	}
}

// checkLapsed checks that a claim of a name is not replaced before it lapses, by the clock of the process
// that replaces it, unless its record was deleted.
func (st *Store) checkLapsed(former, mine claim.Claim, now time.Time) {
	// A clock may have been set back a little since it was read.
	if former.Key == leased(former.Name) || former.Record == mine.Record || former.Until.Time().Before(now.Add(time.Second)) ||
		st.isDeleted(former.Record) {
		return
	}
	st.history.lost = append(st.history.lost, fmt.Sprintf("%s takes %q at step %d from %s, whose claim lasts until %s",
		mine.Record, mine.Name, st.history.s.steps, former.Record, former.Until))
}

// isDeleted reports whether an item or a user was deleted.
func (st *Store) isDeleted(record string) bool {
	return slices.ContainsFunc(st.contents, func(p *contentPart) bool { return string(p.id) == record && p.header.State == commit.Deleted }) ||
		slices.ContainsFunc(st.principals, func(p *principalPart) bool { return string(p.id) == record && p.header.State == commit.Deleted })
}

// checkURL checks the state of an item that was just decided: if it owns a URL, the claim of the URL
// points to it. One claim points to one item, so no two items own the same URL.
func (st *Store) checkURL(p *contentPart) {
	if h := &p.header; h.State == commit.Live && h.CanonicalURL != "" {
		st.checkClaim(claim.URL(p.id.Tenant(), h.CanonicalURL), string(p.id))
	}
}

// checkAddress does the same for the e-mail address of a user.
func (st *Store) checkAddress(p *principalPart) {
	if h := &p.header; h.State == commit.Live && h.Email != "" {
		st.checkClaim(claim.Email(p.id.Tenant(), h.Email), string(p.id))
	}
}

func (st *Store) checkClaim(k claim.Key, owner string) {
	if got := st.claimAt(k).Record; got != owner {
		st.history.lost = append(st.history.lost, fmt.Sprintf("%s owns %q at step %d, and the claim of it points to %q",
			owner, k.Name, st.history.s.steps, got))
	}
}

// checkOwners checks, after a claim has changed, that each item and user still has the claim of what
// it owns.
func (st *Store) checkOwners() {
	for _, p := range st.contents {
		st.checkURL(p)
	}
	for _, p := range st.principals {
		st.checkAddress(p)
	}
}

// scrubClaims has the scrubber check everything two hours later. Then every claim belongs to an owner,
// which may be an item that has expired and is not deleted yet.
func (r *run) scrubClaims(ctx context.Context, p *process) error {
	r.s.now += 2 * time.Hour
	if err := scrubAll(ctx, p.svc); err != nil {
		return err
	}
	owned := map[claim.Key]bool{}
	for _, c := range r.st.contents {
		if h := &c.header; h.State == commit.Live && h.CanonicalURL != "" {
			owned[claim.URL(c.id.Tenant(), h.CanonicalURL)] = true
		}
	}
	for _, c := range r.st.principals {
		if h := &c.header; h.State == commit.Live && h.Email != "" {
			owned[claim.Email(c.id.Tenant(), h.Email)] = true
		}
	}
	for _, c := range r.st.claims {
		if !owned[c.Key] {
			r.report(leftOver, "nobody owns %q, and its claim points to %s", c.Name, c.Record)
		}
	}
	return nil
}
