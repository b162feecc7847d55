package sched

import (
	"context"
	"sync"
)

// Permits is a counting semaphore on a Runtime. Waiters are served in order.
type Permits struct {
	rt      Runtime
	mu      sync.Mutex
	free    int
	waiting []Latch
}

// NewPermits returns a semaphore of n permits.
func NewPermits(rt Runtime, n int) *Permits { return &Permits{rt: rt, free: n} }

// Take blocks until there is a permit, or ctx ends.
func (p *Permits) Take(ctx context.Context) error {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	l := p.rt.Latch()
	p.waiting = append(p.waiting, l)
	p.mu.Unlock()
	if _, err := p.rt.Wait(ctx, l, 0); err != nil {
		p.abandon(l)
		return err
	}
	return nil
}

// Give returns a permit. The first waiter gets it.
func (p *Permits) Give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		l := p.waiting[0]
		p.waiting = p.waiting[1:]
		l.Open()
		return
	}
	p.free++
}

// abandon removes a waiter from the queue. If the waiter got a permit at the same time, the
// permit is returned.
func (p *Permits) abandon(l Latch) {
	p.mu.Lock()
	for i, w := range p.waiting {
		if w == l {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			p.mu.Unlock()
			return
		}
	}
	p.mu.Unlock()
	p.Give()
}
