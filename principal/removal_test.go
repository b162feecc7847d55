package principal_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// slowRemoval is a store that lists memberships only after a wait has timed out, so that no
// mutation waits until a removal ends.
type slowRemoval struct {
	principal.Store
	timedOut chan struct{}
}

func (s *slowRemoval) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	<-s.timedOut
	return s.Store.Memberships(ctx, p, after, limit)
}

// signaling is a Runtime that closes timedOut when a wait of a nanosecond has timed out, and counts
// the tasks that run.
type signaling struct {
	sched.Runtime
	once     sync.Once
	timedOut chan struct{}
	tasks    sync.WaitGroup
}

// Go implements sched.Runtime.
func (r *signaling) Go(task func()) {
	r.tasks.Add(1)
	r.Runtime.Go(func() {
		defer r.tasks.Done()
		task()
	})
}

// Wait implements sched.Runtime.
func (r *signaling) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	ended, err := r.Runtime.Wait(ctx, l, d)
	if !ended && d == time.Nanosecond {
		r.once.Do(func() { close(r.timedOut) })
	}
	return ended, err
}

// TestDeleteUser_IsAnsweredBeforeASlowRemovalEnds: the answer reports that the removal is not
// complete, and the removal ends while the answer is made. The race detector sees what both write.
func TestDeleteUser_IsAnsweredBeforeASlowRemovalEnds(t *testing.T) {
	h := domaintest.Staff(t, nil)
	rt := &signaling{Runtime: h.Runtime, timedOut: make(chan struct{})}
	store := h.Store
	store.Principals = &slowRemoval{Store: h.Store.Principals, timedOut: rt.timedOut}
	svc := domaintest.Open(t, domain.Config{
		Store: store, Runtime: rt,
		Names: &domaintest.CountingNames{}, Journal: h.Journal, Tuning: library.Tuning{AnswerWithin: time.Nanosecond},
	})
	d, err := svc.People.DeleteUser(t.Context(), domaintest.As("u:acme:ann"), principal.DeleteUser{ID: "u:acme:ann"})
	rt.tasks.Wait() // before anything that both lock, which would hide a race
	if err != nil || d.Complete {
		t.Errorf("got %+v, %v; want a removal that is not complete", d, err)
	}
	h.Quiet()
	if header := h.Header("u:acme:ann"); !header.Removed() {
		t.Errorf("not everything was removed: %+v", header)
	}
	h.WantAudited()
}
