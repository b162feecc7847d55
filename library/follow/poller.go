package follow

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Times of polling other processes.
const (
	pollEvery = time.Second
	// lateAfter is for how long announcements may go unread before some may have been lost: then
	// every library is read.
	lateAfter = announceFor - 2*time.Second
)

// poller reads what other processes announce, while any library is followed here.
type poller struct {
	s    *Service
	read map[commit.ListID]readPosition
	last time.Duration // of the last reading, on the monotonic clock
	// full is when the next full look at each library is due, on the monotonic clock.
	full map[principal.ID]time.Duration
}

// readPosition is the position up to which a process's announcements were read, by its own clock.
type readPosition struct{ touched, updated, all clock.Instant }

// startPoller starts to poll, unless that was done already.
func (s *Service) startPoller() {
	if !s.feeds.startPolling() {
		return
	}
	s.rt.Go(func() {
		l := &poller{s: s, read: map[commit.ListID]readPosition{}, last: s.rt.Elapsed(), full: map[principal.ID]time.Duration{}}
		for s.rt.After(s.life, pollEvery) == nil {
			if s.feeds.stopPolling() {
				return
			}
			l.step(s.life)
		}
	})
}

// startPolling returns true if the caller must start to poll.
func (fs *feeds) startPolling() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.polling {
		return false
	}
	fs.polling = true
	return true
}

// stopPolling returns true if the poller must end: no library is followed any more.
func (fs *feeds) stopPolling() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.open) > 0 {
		return false
	}
	fs.polling = false
	return true
}

// step reads the announcements, and reads the libraries that are announced or have not been
// read for long.
func (l *poller) step(ctx context.Context) {
	s := l.s
	announced, updated := l.announcements(ctx)
	now := s.rt.Elapsed()
	var look []principal.ID
	var full []bool
	due := make(map[principal.ID]time.Duration, len(l.full))
	for _, p := range s.feeds.owners() {
		at, known := l.full[p]
		if !known {
			at = now + library.FullLookEvery
		}
		isDue := at <= now
		if isDue {
			at = now + library.FullLookEvery
		}
		due[p] = at
		if isDue || announced(p) {
			look, full = append(look, p), append(full, isDue)
		}
	}
	l.full = due
	l.look(ctx, look, full)
	for _, id := range updated {
		s.noteUpdate(id)
	}
}

// look reads the changes of libraries. If one cannot be read yet, the next step reads it again,
// in full.
//
// A feed that is not ready is not read: its first look records earlier changes of others as known,
// and this look would pass them on. No change is lost. If the first look reads a change, the change
// was there before the subscription was acknowledged. So the pages that the follower reads contain
// it, and so do the missed changes, which are read after the first look. If the first look does not
// read a change, the next full look does, because it starts where the first look started and passes
// on what the first look did not read.
func (l *poller) look(ctx context.Context, ps []principal.ID, full []bool) {
	if len(ps) == 0 {
		return
	}
	again := make([]bool, len(ps))
	// A failure must not keep the other libraries from being read.
	_ = sched.ForEach(ctx, l.s.rt, len(ps), lookWidth, func(i int) error {
		fd := l.s.feeds.find(ps[i])
		if fd == nil {
			return nil
		}
		if again[i] = !fd.ready.IsOpen(); again[i] {
			return nil
		}
		if err := l.s.look(ctx, fd, full[i]); err != nil {
			again[i] = true
			l.s.log.WarnContext(ctx, "the changes of a library could not be read yet", "principal", string(ps[i]), "error", err)
		}
		return nil
	})
	for i, p := range ps {
		if again[i] {
			l.full[p] = 0
		}
	}
}

// announcements reads the announcements of the other processes: which libraries they have
// touched since the last reading, and which items they have updated in place. If some may have
// been lost, announced returns true for all libraries.
func (l *poller) announcements(ctx context.Context) (announced func(principal.ID) bool, updated []library.ContentID) {
	s := l.s
	within, cancel := s.rt.Deadline(ctx, announceTimeout)
	defer cancel()
	now := s.rt.Elapsed()
	as, err := s.notifier.Announcements(within)
	if err != nil {
		s.log.WarnContext(ctx, "the changes of other processes could not be read yet", "error", err)
		return func(principal.ID) bool { return false }, nil
	}
	all := now-l.last > lateAfter
	l.last = now
	touched := map[principal.ID]bool{}
	current := make(map[commit.ListID]readPosition, len(as))
	for _, a := range as {
		if a.Process == s.announcer.process {
			continue
		}
		h := l.read[a.Process]
		all = all || a.All > h.all
		for _, t := range a.Touched {
			if t.At > h.touched {
				touched[t.Principal] = true
			}
		}
		for _, u := range a.Updated {
			if u.At > h.updated {
				updated = append(updated, u.Content)
			}
		}
		current[a.Process] = upTo(&a, h)
	}
	l.read = current
	return func(p principal.ID) bool { return all || touched[p] }, updated
}

// upTo returns the position after reading a from the process whose position was h.
func upTo(a *library.Announcement, h readPosition) readPosition {
	h.all = max(h.all, a.All)
	for _, t := range a.Touched {
		h.touched = max(h.touched, t.At)
	}
	for _, u := range a.Updated {
		h.updated = max(h.updated, u.At)
	}
	return h
}
