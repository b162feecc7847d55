package follow_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
	"carrel/test/simulator"
)

// openGateway opens a gateway with the clock of the synctest bubble.
func openGateway(t *testing.T, store *simulator.Client, shared bool) *domaintest.Fixture {
	t.Helper()
	rt := sched.NewReal()
	t.Cleanup(rt.Close)
	h := &domaintest.Fixture{T: t, Store: store.Store, Runtime: rt, Journal: journal.New(t.Context(), store.Journal, rt, nil)}
	c := domain.Config{Store: store.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: shared}
	if shared {
		c.Notifier = store
	}
	h.Services = domaintest.Open(t, c)
	return h
}

// TestCursor_ContinuesWithoutLoss: a follower after the Cursor of another gets the change that this one returned last,
// and all later ones. It does not begin again: earlier changes that are not recent do not come again.
func TestCursor_ContinuesWithoutLoss(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, missed := range []int{0, 3, 6} { // the others arrive while the follower is connected
			for returned := 1; returned <= 6; returned++ {
				t.Run(fmt.Sprintf("shared %t, %d missed, %d returned", shared, missed, returned), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { continuesAfter(t, shared, missed, returned) })
				})
			}
		}
	}
}

func continuesAfter(t *testing.T, shared bool, missed, returned int) {
	store := simulator.NewClient(simulator.NewStore(nil), nil)
	here := openGateway(t, store, shared)
	ann := domaintest.As("u:acme:ann")
	here.User("u:acme:ann", principal.Public)
	here.Note("before", principal.Public)
	page, err := here.Listing.Library(t.Context(), ann, "u:acme:ann", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	pause := func() {
		if err := here.Runtime.After(t.Context(), 5*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	var f *domaintest.Follower
	for n := range 7 {
		if n == missed {
			f = here.Follow(ann, "u:acme:ann", *page.PageInfo.EndCursor())
		}
		if n < 6 {
			pause()
			here.Note(fmt.Sprint(n), principal.Public)
			all = append(all, fmt.Sprint("+", n))
		}
	}
	pause()
	f.Want("+before") // it resumes a few minutes before its cursor
	f.Want(all[:returned]...)
	resumed := here.Follow(ann, "u:acme:ann", f.Cursor())
	pause()
	here.Note("last", principal.Public)
	resumed.Want(append(all[returned-1:], "+last")...)
}
