package repair_test

import (
	"context"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestRebuild_NoticesADeletionInTheMiddle: a library that is deleted during its rebuild is
// rebuilt completely, and so is one whose record is.
func TestRebuild_NoticesADeletionInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name   string
		at     int
		page   int
		delete func(h *rebuildFixture, store *rebuilding)
	}{
		{"of the library, early", 150, 0, func(h *rebuildFixture, _ *rebuilding) { h.deleteLibrary() }},
		{"of the library, when all is restored", rebuildItems, 0, func(h *rebuildFixture, _ *rebuilding) { h.deleteLibrary() }},
		{"of the library, at the end", 0, 6, func(h *rebuildFixture, _ *rebuilding) { h.deleteLibrary() }},
		{"of the record", 150, 0, func(h *rebuildFixture, store *rebuilding) {
			store.unrecorded = true
			h.damage(320)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newRebuildFixture(t)
			svc, store := h.gateway(0)
			once := func(at int) func(int) error {
				return func(n int) error {
					if n == at {
						c.delete(h, store)
					}
					return nil
				}
			}
			store.at, store.sweeping = once(c.at), once(c.page)
			// Nothing was missing before.
			if restored, removed, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); restored != 0 || removed != 0 || err != nil {
				t.Errorf("%d restored, %d removed: %v", restored, removed, err)
			}
			h.WantClean()
		})
	}
}

// deleteLibrary removes all entries, the mark and the progress.
func (h *rebuildFixture) deleteLibrary() {
	for n := range h.ids {
		h.damage(n)
	}
	h.lost.lose(rebuildOwner)
	if err := h.Store.Libraries.DropRebuildNote(h.T.Context(), rebuildOwner, clock.Of(h.Runtime.Now())); err != nil {
		h.T.Error(err)
	}
}

// TestRebuild_TwoGatewaysContinueOneRebuild: two gateways rebuild one lost library at the same
// time. The second one continues what the first has started, and completes it; the first one
// notices that, and begins again only if the library is lost again.
func TestRebuild_TwoGatewaysContinueOneRebuild(t *testing.T) {
	for _, c := range []struct {
		name              string
		titles, lostAgain bool
		want              int // how many items the first one repairs
	}{
		{"a library without its marks", false, false, 200},
		{"a library without the mark of titles", true, false, 200},
		{"a library that loses the mark of titles again", true, true, 200 + rebuildItems},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newRebuildFixture(t)
			h.lost.onlyTitles = c.titles
			h.lost.lose(rebuildOwner)
			first, slow := h.gateway(0)
			reached, release := make(chan struct{}), make(chan struct{})
			slow.at = func(n int) error {
				if n == 150 {
					close(reached)
					<-release
				}
				return nil
			}
			ended := make(chan error, 1)
			go func() {
				_, _, err := first.Repair.Rebuild(t.Context(), rebuildOwner)
				ended <- err
			}()
			<-reached
			second, quick := h.gateway(0)
			if _, _, err := second.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
				t.Error(err)
			}
			if quick.repaired != rebuildItems-100 {
				t.Errorf("the second gateway repaired %d items", quick.repaired)
			}
			if c.lostAgain {
				h.lost.lose(rebuildOwner)
			}
			close(release)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if slow.repaired != c.want {
				t.Errorf("the first gateway repaired %d items", slow.repaired)
			}
			if h.progress() != nil || h.lost.isLost(rebuildOwner) {
				t.Error("the progress is kept beyond the end, or the library is not complete")
			}
			h.WantClean()
		})
	}
}

// TestRebuild_NoticesThatTheMarkOfTitlesIsDeleted: the rebuild has just set the marks of both orders when
// one of them is deleted.
func TestRebuild_NoticesThatTheMarkOfTitlesIsDeleted(t *testing.T) {
	h := newRebuildFixture(t)
	h.lost.onlyTitles = true
	svc, store := h.gateway(0)
	marked := 0
	store.marked = func() {
		if marked++; marked == 1 {
			h.lost.lose(rebuildOwner)
		}
	}
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if marked != 2 || h.lost.isLost(rebuildOwner) {
		t.Errorf("the library was marked as complete %d times, and is lost: %t", marked, h.lost.isLost(rebuildOwner))
	}
	h.WantClean()
}

// TestRebuild_ContinuesTheLaterOne: a rebuild that notices that another gateway has started one
// later continues that one, and is not complete before it.
func TestRebuild_ContinuesTheLaterOne(t *testing.T) {
	h := newRebuildFixture(t)
	svc, store := h.gateway(0)
	store.at = func(n int) error {
		if n != 150 {
			return nil
		}
		// The note is gone for a moment, so that the other gateway starts another rebuild.
		if err := h.Store.Libraries.DropRebuildNote(t.Context(), rebuildOwner, clock.Of(h.Runtime.Now())); err != nil {
			t.Error(err)
		}
		later, other := h.gateway(time.Minute)
		other.at = from(20)
		h.fails(later)
		h.damage(5)
		return nil
	}
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if most := 200 + rebuildItems; store.repaired != most {
		t.Errorf("%d items were repaired, want %d", store.repaired, most)
	}
	h.WantClean()
}

// dropped is a store in which a test reads the library whenever entries have been dropped.
type dropped struct {
	*rebuilding
	look func()
}

func (d *dropped) DropEntries(ctx context.Context, p principal.ID, es []library.BucketEntry) error {
	err := d.rebuilding.DropEntries(ctx, p, es)
	d.look()
	return err
}

// TestRebuild_NeverLosesAnItemThatMoves: an item that is moved during a rebuild is in the
// library at every moment. The rebuild drops the entry at the old position only when there is
// one at the new.
func TestRebuild_NeverLosesAnItemThatMoves(t *testing.T) {
	h := newRebuildFixture(t)
	counted := &rebuilding{losing: h.lost}
	store, drops := counted.on(h.Store), &dropped{rebuilding: counted, look: func() {
		n, err := h.Store.Libraries.CountLibrary(t.Context(), rebuildOwner, principal.Private, 2*rebuildItems)
		if n < rebuildItems || err != nil {
			t.Errorf("the library has %d of %d items: %v", n, rebuildItems, err)
		}
	}}
	store.Libraries = drops
	svc := domaintest.Open(t, domain.Config{Store: store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	t.Cleanup(svc.Engine.End)
	counted.sweeping = func(page int) error {
		if page == 1 {
			h.move(7)
		}
		return nil
	}
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	drops.look()
}

// move decides a move of an item, like a process that dies before it moves the entries.
func (h *rebuildFixture) move(n int) {
	h.T.Helper()
	head := h.Content(h.ids[n])
	was := library.Superseded{Position: head.Position, Widest: head.Widest}
	head.Seq, head.Position, head.MTS = head.Seq+1, head.Position+1e9, head.MTS+1e9
	v, err := h.Store.Contents.Commit(h.T.Context(), &library.ContentCommit{ID: h.ids[n], Base: head.Seq - 1, Header: head, Supersede: &was})
	if err != nil || !v.Applied {
		h.T.Errorf("moving %s: %+v, %v", h.ids[n], v, err)
	}
}
