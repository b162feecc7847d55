package library

import (
	"context"
	"errors"
	"time"
)

// EndWithin is how long a process that ends goes on with changes under way, as
// docs/operations.md promises. What is not done by then stays in the journal,
// and the next process does it.
const EndWithin = 10 * time.Second

var errEnding = errors.New("this process is ending")

// End says that the process is ending: what takes long and can be done by
// another is given up at once, changes under way after EndWithin.
func (s *Service) End() {
	s.overAt.CompareAndSwap(0, int64(s.rt.Elapsed()+EndWithin))
	s.ending.Open()
}

// over tells whether the time is up that a process that ends has for changes
// under way. They run for no request, so nothing else would stop them while the
// store is down.
func (s *Service) over() bool {
	at := s.overAt.Load()
	return at != 0 && s.rt.Elapsed() >= time.Duration(at)
}

// pause is a pause in what is given up when the process ends.
func (s *Service) pause(ctx context.Context, d time.Duration) error {
	ending, err := s.rt.Wait(ctx, s.ending, d)
	if err == nil && ending {
		err = errEnding
	}
	return err
}
