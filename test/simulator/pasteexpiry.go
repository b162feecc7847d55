package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/paste"
)

// expirePastes compares the feed with the rows, lets time pass until everything that expires has
// expired, and then until the rows of what has ended are removed, and checks what remains.
func (r *run) expirePastes(ctx context.Context, p *process) error {
	r.compareFeed()
	r.s.now += 2 * time.Hour
	for _, more := range []time.Duration{0, day + 2*time.Minute} {
		r.s.now += more
		if err := p.j.ExpireDue(ctx, p.svc.Background()); err != nil {
			return err
		}
		for range 20 {
			if r.quiet() {
				break
			}
			_ = p.a.After(ctx, time.Second)
		}
		r.checkFeed()
		r.checkBodies()
		if err := r.checkLatest(ctx, p); err != nil {
			return err
		}
		if err := scrubAll(ctx, p.svc); err != nil {
			return err
		}
	}
	r.checkFeed()
	for _, h := range r.hist.pastes {
		if now := h.now(); now.seq != 0 && now.state != commit.Live {
			r.report(leftOver, "the row of %s is there, in state %d", h.id, now.state)
		}
	}
	if d := r.st.currentDues(); len(d) > 0 {
		r.report(leftOver, "reminders of pastes: %+v", d)
	}
	return nil
}

// listed returns the pastes that the feed must contain now, the newest first.
func (r *run) listed() []*pasteHistory {
	var all []*pasteHistory
	for _, p := range r.hist.pastes {
		if p.now().listed() {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pasteHistory) int { return -feed.Compare(a.entry(), b.entry()) })
	return all
}

// entry returns the entry that the feed must contain for a paste.
func (p *pasteHistory) entry() feed.Entry {
	now := p.now()
	return feed.Entry{Created: now.created, ID: string(p.id), Until: now.expires}
}

// checkFeed checks that what has expired is deleted, and compares the feed with the rows.
func (r *run) checkFeed() {
	now := clock.Of(epoch.Add(r.s.now))
	for _, p := range r.hist.pastes {
		if s := p.now(); s.state == commit.Live && s.expires != 0 && s.expires <= now {
			r.report(leftOver, "%s has expired and is there", p.id)
		}
	}
	r.compareFeed()
}

// compareFeed compares the feed with the rows.
func (r *run) compareFeed() {
	want := r.listed()
	for _, c := range r.st.feeds {
		if !c.live || c.p.Feed != "pastes" {
			continue
		}
		i := slices.IndexFunc(want, func(p *pasteHistory) bool { return p.entry() == c.entry })
		if i < 0 {
			r.report(wrongFeed, "the feed has %+v, which no paste justifies", c.entry)
			continue
		}
		want = slices.Delete(want, i, i+1)
		if !slices.ContainsFunc(r.st.buckets, func(b bucketRow) bool {
			return b.list == c.p.Feed && b.bucket.Day == c.p.Day && c.p.Day == feed.DayOf(c.entry.Created) && c.p.Shard < b.bucket.Shards
		}) {
			r.report(wrongFeed, "the entry %+v is in %+v, which is never read", c.entry, c.p)
		}
	}
	for _, p := range want {
		r.report(wrongFeed, "the feed lacks %+v", p.entry())
	}
}

// checkBodies compares the long bodies with the rows.
func (r *run) checkBodies() {
	named := map[paste.BodyRef]bool{}
	for _, p := range r.hist.pastes {
		if now := p.now(); now.state == commit.Live && now.long != (paste.BodyID{}) {
			named[paste.BodyRef{Paste: p.id, Body: now.long}] = true
		}
	}
	for _, b := range r.st.bodies {
		if !named[b.ref] {
			r.report(leftOver, "the body %x of %s is garbage", b.ref.Body, b.ref.Paste)
		}
		delete(named, b.ref)
	}
	for ref := range named {
		r.report(wrongPaste, "%s has lost its body", ref.Paste)
	}
}

// checkLatest reads the list in both directions, when nothing changes.
func (r *run) checkLatest(ctx context.Context, p *process) error {
	var want []paste.ID
	for _, l := range r.listed() {
		want = append(want, l.id)
	}
	for _, backward := range []bool{false, true} {
		o := &Operation{kind: opLatest, paste: &pasteCall{size: 1 + r.s.pick(3), backward: backward}}
		if err := o.readLatest(ctx, p); err != nil {
			return fmt.Errorf("reading latestPastes: %w", err)
		}
		got := make([]paste.ID, len(o.paste.seen))
		for i, e := range o.paste.seen {
			got[i] = e.paste.ID
		}
		if !slices.Equal(got, want) {
			r.report(wrongFeed, "latestPastes has %v, not %v", got, want)
		}
	}
	return nil
}
