package feed

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Times of listening to other processes.
const (
	listenEvery = time.Second
	// lateAfter is how long announcements may not have been read before they may
	// have gone unread: then every library is looked at.
	lateAfter = announceFor - 2*time.Second
)

// listener reads what other processes announce, while anybody follows anything
// here.
type listener struct {
	s     *Service
	heard map[commit.ListID]heard
	last  time.Duration // of the last reading, on the monotonic clock
	full  map[principal.ID]time.Duration
}

// heard is up to when a process's announcements were heard, by its own clock.
type heard struct{ touched, updated, all clock.Instant }

// keepLooking begins to listen, unless that is done already.
func (s *Service) keepLooking() {
	if !s.feeds.listen() {
		return
	}
	s.rt.Go(func() {
		l := &listener{s: s, heard: map[commit.ListID]heard{}, last: s.rt.Elapsed(), full: map[principal.ID]time.Duration{}}
		for s.rt.After(s.life, listenEvery) == nil {
			if s.feeds.silence() {
				return
			}
			l.step(s.life)
		}
	})
}

// listen tells the caller to begin listening: nobody does.
func (fs *feeds) listen() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.listening {
		return false
	}
	fs.listening = true
	return true
}

// silence tells the listener to end: nobody follows anything any more.
func (fs *feeds) silence() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.open) > 0 {
		return false
	}
	fs.listening = false
	return true
}

// step reads the announcements, and looks at the libraries that are announced
// or have not been looked at for long.
func (l *listener) step(ctx context.Context) {
	s := l.s
	announced, updated := l.hear(ctx)
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

// look looks at libraries; one that cannot be looked at yet is looked at again,
// and in full.
//
// A feed that is not ready is left to its first look, which takes what others
// have changed before it for known, where this one would pass it on. Nothing is
// lost by that. What stands in the library by now is either met by the first
// look: then it stood there before anybody was told that he follows the library,
// so the pages that he reads show it, and what he has missed before, which is
// read after the first look, has it too. Or the first look has read beyond its
// place already: then the next full look finds it, which begins where the first
// one has begun, and passes on what that did not meet.
func (l *listener) look(ctx context.Context, ps []principal.ID, full []bool) {
	if len(ps) == 0 {
		return
	}
	again := make([]bool, len(ps))
	// A failure keeps nobody else's library from being looked at.
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

// hear reads the announcements of the other processes: which libraries they
// have touched since they were heard last, and which items they have updated in
// place. Where some may have gone unheard, all libraries are meant.
func (l *listener) hear(ctx context.Context) (announced func(principal.ID) bool, updated []library.ContentID) {
	s := l.s
	within, cancel := s.rt.Deadline(ctx, announceWithin)
	defer cancel()
	now := s.rt.Elapsed()
	as, err := s.notifier.Announcements(within)
	if err != nil {
		s.log.WarnContext(ctx, "what others have changed could not be read yet", "error", err)
		return func(principal.ID) bool { return false }, nil
	}
	all := now-l.last > lateAfter
	l.last = now
	touched := map[principal.ID]bool{}
	heardNow := make(map[commit.ListID]heard, len(as))
	for _, a := range as {
		if a.Process == s.publisher.process {
			continue
		}
		h := l.heard[a.Process]
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
		heardNow[a.Process] = upTo(&a, h)
	}
	l.heard = heardNow
	return func(p principal.ID) bool { return all || touched[p] }, updated
}

// upTo is up to when a process was heard that announces a.
func upTo(a *library.Announcement, h heard) heard {
	h.all = max(h.all, a.All)
	for _, t := range a.Touched {
		h.touched = max(h.touched, t.At)
	}
	for _, u := range a.Updated {
		h.updated = max(h.updated, u.At)
	}
	return h
}
