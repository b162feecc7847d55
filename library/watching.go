package library

import (
	"context"
	"time"
)

// Watcher is told what operators want to see in figures. It is called on the
// way of requests, so it returns at once.
type Watcher interface {
	// FannedOut tells that a decided change has reached every library that it
	// concerns, and how long that took since it was decided; complete is false
	// where the rest was left to the background.
	FannedOut(lag time.Duration, complete bool)
	// FanOut tells that the fan-out of a change begins, which the mutation of ctx
	// has brought about and may not wait for, and which carries the changes of
	// other mutations too. It is done with the context during, and ended tells how
	// it went.
	FanOut(ctx context.Context, others []context.Context) (during context.Context, ended func(error))
	// Hid tells of entries of a library that a page has read and not shown as
	// they stood: stale ones, whose items stand elsewhere or nowhere, and those
	// that the viewer may not see.
	Hid(stale, unseen int)
	// Copied tells of entries of a page that was read while copies of headers were in
	// use: those that copies have served, those whose copies were refused, because a change
	// was in flight or they were too old, and those without a copy.
	Copied(hits, refused, misses int)
	// CopyWrong tells that a copy was served that was not current.
	CopyWrong()
	// Follows tells of n followers of libraries more, or less.
	Follows(n int)
	// CutOff tells of a follower that was cut off because it did not keep up.
	CutOff()
	// Told tells of a change that a follower was told.
	Delivered()
}

// Unwatched is the Watcher of a Service that has none.
type Unwatched struct{}

func (Unwatched) FannedOut(time.Duration, bool) {}
func (Unwatched) FanOut(ctx context.Context, _ []context.Context) (context.Context, func(error)) {
	return ctx, func(error) {}
}
func (Unwatched) Hid(int, int)         {}
func (Unwatched) Copied(int, int, int) {}
func (Unwatched) CopyWrong()           {}
func (Unwatched) Follows(int)          {}
func (Unwatched) CutOff()              {}
func (Unwatched) Delivered()           {}
