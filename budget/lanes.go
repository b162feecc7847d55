package budget

import (
	"context"
	"sync"
)

// Lanes limits how many goroutines do the work of one account at once. The others of the account wait in line,
// so that the scheduler does not run them before those of other accounts. It is safe for concurrent
// use.
type Lanes struct {
	width int

	mu   sync.Mutex
	used map[string]*lane // by the accounts whose work is done or waits
}

type lane struct {
	places chan struct{}
	users  int
}

// NewLanes returns Lanes that let so many goroutines of an account work at once.
func NewLanes(width int) *Lanes { return &Lanes{width: width, used: map[string]*lane{}} }

// Run does work of an account when it is its turn. It returns the error of ctx if that ends before. Work must
// not call Run.
func (l *Lanes) Run(ctx context.Context, account string, work func()) error {
	l.mu.Lock()
	of := l.used[account]
	if of == nil {
		of = &lane{places: make(chan struct{}, l.width)}
		l.used[account] = of
	}
	of.users++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if of.users--; of.users == 0 {
			delete(l.used, account)
		}
	}()
	select {
	case of.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-of.places }()
	work()
	return nil
}
