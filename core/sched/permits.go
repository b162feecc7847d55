package sched

import (
	"context"
	"slices"
	"sync"
)

// Permits is a counting semaphore on a Runtime, which accounts share fairly: a permit goes to the
// account that holds the fewest of those that wait for one, and in turn if several do. The waiters of an account are served in
// order.
type Permits struct {
	rt     Runtime
	mu     sync.Mutex
	free   int
	shares []*share // of the accounts that hold permits or wait; those that were served last are at the end
}

// share is what an account has of the permits.
type share struct {
	account string
	held    int
	waiting []Latch
}

// NewPermits returns a semaphore of n permits.
func NewPermits(rt Runtime, n int) *Permits { return &Permits{rt: rt, free: n} }

// Take blocks until there is a permit for the account, or ctx ends.
func (p *Permits) Take(ctx context.Context, account string) error {
	p.mu.Lock()
	s := p.of(account)
	if p.free > 0 {
		p.free--
		s.held++
		p.mu.Unlock()
		return nil
	}
	l := p.rt.Latch()
	s.waiting = append(s.waiting, l)
	p.mu.Unlock()
	if _, err := p.rt.Wait(ctx, l, 0); err != nil {
		p.abandon(account, l)
		return err
	}
	return nil
}

// Give returns a permit that the account has taken.
func (p *Permits) Give(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(account)
	s.held--
	p.free++
	p.dropIdle(s)
	p.serve()
}

// of returns the share of an account. The caller holds p.mu.
func (p *Permits) of(account string) *share {
	for _, s := range p.shares {
		if s.account == account {
			return s
		}
	}
	s := &share{account: account}
	p.shares = append(p.shares, s)
	return s
}

// serve gives the free permit to a waiter. The caller holds p.mu.
func (p *Permits) serve() {
	var next *share
	for _, s := range p.shares {
		if len(s.waiting) > 0 && (next == nil || s.held < next.held) {
			next = s
		}
	}
	if next == nil {
		return
	}
	l := next.waiting[0]
	next.waiting = next.waiting[1:]
	next.held++
	p.free--
	p.shares = append(slices.DeleteFunc(p.shares, func(s *share) bool { return s == next }), next)
	l.Open()
}

// dropIdle forgets a share that nobody uses. The caller holds p.mu.
func (p *Permits) dropIdle(s *share) {
	if s.held == 0 && len(s.waiting) == 0 {
		p.shares = slices.DeleteFunc(p.shares, func(o *share) bool { return o == s })
	}
}

// abandon removes a waiter from its queue. If the waiter got a permit at the same time, the
// permit is returned.
func (p *Permits) abandon(account string, l Latch) {
	p.mu.Lock()
	s := p.of(account)
	for i, w := range s.waiting {
		if w == l {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			p.dropIdle(s)
			p.mu.Unlock()
			return
		}
	}
	p.mu.Unlock()
	p.Give(account)
}
