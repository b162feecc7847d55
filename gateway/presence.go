package gateway

import (
	"context"
	"fmt"
	"os"
	"time"

	"carrel/cassandra"
	"carrel/core/fault"
)

// doingCopy is the command by which other processes recognize a copy. They must not use its source
// or its target.
const doingCopy = "carrel copy"

// register registers this process as a user of the store. It fails while the store is copied. alone
// reports that no other process uses the store.
func register(ctx context.Context, store OpenStore, with Options) (alone bool, err error) {
	if store.shared == nil {
		return true, nil // a second process could not have opened it
	}
	host, err := HostName(with.HostID)
	if err != nil {
		return false, err
	}
	others, err := store.shared.Register(ctx, host, with.Doing, nil)
	if err != nil {
		return false, err
	}
	for _, o := range others {
		if o.Doing == doingCopy {
			return false, inUse("the store", others)
		}
	}
	store.shared.WatchClock(ctx)
	return len(others) == 0, nil
}

// lockExclusive registers a copy, and fails if another process uses the store. If another process
// registers later, it calls with.Fatal.
func lockExclusive(ctx context.Context, what string, store OpenStore, with Options) error {
	if store.shared == nil {
		return nil
	}
	host, err := HostName(with.HostID)
	if err != nil {
		return err
	}
	others, err := store.shared.Register(ctx, host, doingCopy, func(others []cassandra.Presence) {
		if len(others) > 0 {
			with.Fatal(inUse(what, others))
		}
	})
	if err == nil && len(others) > 0 {
		err = inUse(what, others)
	}
	return err
}

// inUse returns an error that names a process which uses the store, and says how
// long to wait if that process has been killed.
func inUse(what string, others []cassandra.Presence) error {
	longest, first := time.Duration(0), others[0]
	for _, o := range others {
		if o.ExpiresIn > longest {
			longest, first = o.ExpiresIn, o
		}
	}
	more := ""
	if n := len(others) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return &fault.Error{Code: fault.Conflict, Msg: fmt.Sprintf(
		"%s is in use by %s on %s%s: end it; if it has been killed, its registration expires within %d s", what, first.Doing,
		first.Host, more, int(longest.Seconds()))}
}

// HostName returns the name of this host for operators: the one given, or the machine's name if that
// is empty.
func HostName(hostID string) (string, error) {
	if hostID != "" {
		return hostID, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host-id is not given, and the machine has no name: %w", err)
	}
	return name, nil
}
