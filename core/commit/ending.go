package commit

import (
	"context"
	"errors"
	"time"
)

// EndWithin is how long a process that ends goes on with changes under way, as
// docs/operations.md promises. What is not done by then stays in the journal,
// and the next process does it.
const EndWithin = 10 * time.Second

// ErrEnding is the error of work that is given up because the process ends.
var ErrEnding = errors.New("this process is ending")

// End says that the process is ending: what takes long and can be done by
// another is given up at once, changes under way after EndWithin.
func (g *Engine) End() {
	g.overAt.CompareAndSwap(0, int64(g.rt.Elapsed()+EndWithin))
	g.ending.Open()
}

// Over tells whether the time is up that a process that ends has for changes
// under way. They run for no request, so nothing else would stop them while the
// store is down.
func (g *Engine) Over() bool {
	at := g.overAt.Load()
	return at != 0 && g.rt.Elapsed() >= time.Duration(at)
}

// Pause is a pause in what is given up when the process ends.
func (g *Engine) Pause(ctx context.Context, d time.Duration) error {
	ending, err := g.rt.Wait(ctx, g.ending, d)
	if err == nil && ending {
		err = ErrEnding
	}
	return err
}

// Ending reports whether the process is ending.
func (g *Engine) Ending() bool { return g.ending.IsOpen() }
