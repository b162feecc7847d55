package commit

import (
	"context"
	"errors"
	"time"
)

// EndTimeout is how long a process that is shutting down works on pending changes, as
// docs/operations.md promises. Changes that are not finished by then stay in the journal,
// and the next process finishes them.
const EndTimeout = 10 * time.Second

// ErrEnding is the error of work that is abandoned because the process is shutting down.
var ErrEnding = errors.New("this process is ending")

// End begins the shutdown. Long work that another process can do is abandoned at once,
// pending changes after EndTimeout.
func (g *Engine) End() {
	g.overAt.CompareAndSwap(0, int64(g.rt.Elapsed()+EndTimeout))
	g.ending.Open()
}

// Over reports whether the time that a shutdown allows for pending changes is over. They
// belong to no request, so nothing else would stop them while the store is down.
func (g *Engine) Over() bool {
	at := g.overAt.Load()
	return at != 0 && g.rt.Elapsed() >= time.Duration(at)
}

// Pause waits for d in work that is abandoned at shutdown. It returns ErrEnding then.
func (g *Engine) Pause(ctx context.Context, d time.Duration) error {
	ending, err := g.rt.Wait(ctx, g.ending, d)
	if err == nil && ending {
		err = ErrEnding
	}
	return err
}

// Ending reports whether the process is shutting down.
func (g *Engine) Ending() bool { return g.ending.IsOpen() }
