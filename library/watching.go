package library

import (
	"context"
	"time"
)

// Watcher receives the figures that operators watch. Its methods are called while requests run,
// so they must return at once.
type Watcher interface {
	// FannedOut reports that the fan-out of a change has ended, and how long after the decision of
	// the change. complete is false if the fan-out failed: the background then does it again.
	FannedOut(lag time.Duration, complete bool)
	// FanOut reports that the fan-out of a change starts. The mutation of ctx has caused it, and
	// need not wait for it; others are the mutations whose changes it includes. The fan-out runs
	// with the returned context, and calls the returned function with its result.
	FanOut(ctx context.Context, others []context.Context) (during context.Context, ended func(error))
	// Hid reports the entries of a library that a page has read and not shown: stale ones, whose
	// items are at another position or deleted, and those that the viewer may not see.
	Hid(stale, unseen int)
	// Copied reports the entries of a page that was read while copies of headers were in use:
	// those that copies have served, those whose copies were refused, because a change was in
	// flight or they were too old, and those without a copy.
	Copied(hits, refused, misses int)
	// CopiedPrincipals is Copied for headers of users and groups.
	CopiedPrincipals(hits, refused, misses int)
	// CopyWrong reports that a copy was served that was not current.
	CopyWrong()
	// Follows adds n to the number of followers; n may be negative.
	Follows(n int)
	// CutOff reports that a follower was disconnected because it did not keep up.
	CutOff()
	// Delivered reports that a change was delivered to a follower.
	Delivered()
}

// Unwatched is a Watcher that ignores everything.
type Unwatched struct{}

func (Unwatched) FannedOut(time.Duration, bool) {}
func (Unwatched) FanOut(ctx context.Context, _ []context.Context) (context.Context, func(error)) {
	return ctx, func(error) {}
}
func (Unwatched) Hid(int, int)                   {}
func (Unwatched) Copied(int, int, int)           {}
func (Unwatched) CopiedPrincipals(int, int, int) {}
func (Unwatched) CopyWrong()                     {}
func (Unwatched) Follows(int)                    {}
func (Unwatched) CutOff()                        {}
func (Unwatched) Delivered()                     {}
