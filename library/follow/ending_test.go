package follow_test

import (
	"context"
	"sync/atomic"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// away is a notifier that cannot be reached. It works again when a process that ends has called
// it too often in vain; otherwise the process would call for ever.
type away struct {
	library.Notifier
	called chan struct{} // on calls that fail
	ending atomic.Bool
	vain   atomic.Int64 // calls that failed since ending was set
}

func (a *away) Announce(ctx context.Context, what library.Announcement) error {
	select {
	case a.called <- struct{}{}:
	default:
	}
	if a.ending.Load() && a.vain.Add(1) > 10 {
		return a.Notifier.Announce(ctx, what)
	}
	return domaintest.ErrDown
}

// TestPublisher_ClosesWhileTheStoreIsDown: what could not be announced while the store is down is
// tried once more, and does not delay the end of the process.
func TestPublisher_ClosesWhileTheStoreIsDown(t *testing.T) {
	g := domaintest.NewGateways(t)
	notifier := &away{Notifier: g.Store, called: make(chan struct{}, 1)}
	g.Notifier = notifier
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	here.Note("a", principal.Private)
	<-notifier.called
	here.Engine.End()
	notifier.ending.Store(true)
	clock.Close()
	if n := notifier.vain.Load(); n > 2 {
		t.Errorf("it was announced %d times in vain after the end had come", n)
	}
}
