package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/session"
	"carrel/core/fault"
)

// sharedStore is a store that several processes may use at the same time.
type sharedStore interface {
	// Join makes this process known to the others, and gives those there are.
	Join(ctx context.Context, host, doing string, heed func(others []cassandra.Presence)) ([]cassandra.Presence, error)
	// WatchClock compares this process's clock with the store's from now on.
	WatchClock(ctx context.Context)
	// Skew is what was found, and Ahead how far ahead the clock is at least.
	Skew() (skew session.Skew, known bool)
	Ahead() time.Duration
	// Load is how many statements are under way, and how many wait to be.
	Load() (under, waiting int)
	// Ready is nil, ErrSchema, ErrClock, or an error of the store.
	Ready(ctx context.Context) error
}

// doingCopy is what a copy tells others of itself: nobody may use a store that
// is copied, or copied to.
const doingCopy = "carrel copy"

// join makes this process known to all that use the store. It is refused while
// the store is copied. alone tells that nobody else uses it.
func join(ctx context.Context, store backend, with surroundings) (alone bool, err error) {
	shared, ok := store.(sharedStore)
	if !ok {
		return true, nil // a second process could not have opened it
	}
	host, err := with.host()
	if err != nil {
		return false, err
	}
	others, err := shared.Join(ctx, host, with.doing, nil)
	if err != nil {
		return false, err
	}
	for _, o := range others {
		if o.Doing == doingCopy {
			return false, inUse("the store", others)
		}
	}
	shared.WatchClock(ctx)
	return len(others) == 0, nil
}

// occupy is join for a copy, which wants to be alone. Where somebody comes
// later all the same, fail is told.
func occupy(ctx context.Context, what string, store backend, with surroundings) error {
	shared, ok := store.(sharedStore)
	if !ok {
		return nil
	}
	host, err := with.host()
	if err != nil {
		return err
	}
	others, err := shared.Join(ctx, host, doingCopy, func(others []cassandra.Presence) {
		if len(others) > 0 {
			with.fatal(inUse(what, others))
		}
	})
	if err == nil && len(others) > 0 {
		err = inUse(what, others)
	}
	return err
}

// inUse tells who uses a store, and how long to wait for one that may be dead.
func inUse(what string, others []cassandra.Presence) error {
	longest, first := time.Duration(0), others[0]
	for _, o := range others {
		if o.Left > longest {
			longest, first = o.Left, o
		}
	}
	more := ""
	if n := len(others) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return &fault.Error{Code: fault.Conflict, Msg: fmt.Sprintf(
		"%s is in use by %s on %s%s: end it; if it has been killed, its mark ends by itself within %d s", what, first.Doing, first.Host, more, int(longest.Seconds()))}
}

// host is the name of this machine, or the one it was given.
func (w surroundings) host() (string, error) {
	if w.hostID != "" {
		return w.hostID, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host-id is not given, and the machine has no name: %w", err)
	}
	return name, nil
}
