package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"carrel/core/fault"
	"carrel/lease"
	"carrel/library"
	"carrel/principal"
)

const (
	// contenders is how many clients compete for some of the keys at the same time.
	contenders    = 200
	contendedKeys = 50
	// contendWithin is how long it may take until each of them has had its keys once.
	contendWithin = 2 * time.Minute
	// leasesEach is how often a lease is timed on a cluster.
	leasesEach = 40
)

// measureLeases times leases of few and of many keys, and lets many clients contend for a
// few keys.
func measureLeases(ctx context.Context, o *options, t *table) error {
	g, err := o.fresh(ctx, filepath.Join(o.dir, "leases"), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	var subjects []subject
	for _, keys := range leaseSizes {
		subjects = append(subjects, subject{keysText(keys), func() error { return g.leaseOnce(ctx, keys) }})
	}
	costs, err := compare(subjects...)
	if err != nil {
		return err
	}
	t.title("Acquiring and cancelling leases, in one process (CPU a lease)")
	for i, keys := range leaseSizes {
		t.figure(keysText(keys), micros(costs[i].cpu))
	}
	return g.contend(ctx, t, g)
}

// leaseSizes are the numbers of keys of the leases that are measured.
var leaseSizes = []int{1, 10, 100}

func keysText(n int) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprint(n, " keys")
}

// leaseTime is the duration of the measured leases: half a minute, which needs no further
// write.
const leaseTime = 30 * time.Second

// acquire leases keys for a time.
func (g *gateway) acquire(ctx context.Context, within time.Duration, keys ...string) (lease.End, error) {
	ttl := int(within.Milliseconds())
	in := lease.Acquire{TTLMs: &ttl}
	for _, k := range keys {
		in.Documents = append(in.Documents, lease.Document{Key: k})
	}
	a, err := g.leases.Acquire(ctx, asWriter(), in)
	if err != nil {
		return lease.End{}, err
	}
	return lease.End{ID: string(a.Lease.ID), Token: a.Token}, nil
}

// leaseOnce leases some keys and releases them.
func (g *gateway) leaseOnce(ctx context.Context, keys int) error {
	end, err := g.acquire(ctx, leaseTime, keyNames("key", keys)...)
	if err == nil {
		_, err = g.leases.Cancel(ctx, end)
	}
	return err
}

func keyNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i)
	}
	return names
}

// contention counts the answers that contending clients received.
type contention struct{ won, refused, undecided atomic.Int64 }

// contend lets many clients of some gateways lease one to four of a few keys each, until
// each has had its keys once.
func (g *gateway) contend(ctx context.Context, t *table, gateways ...*gateway) error {
	ctx, cancel := context.WithTimeout(ctx, contendWithin)
	defer cancel()
	var c contention
	begin := time.Now()
	err := parallelTasks(contenders, func(n int) error {
		return gateways[n%len(gateways)].win(ctx, &c, rand.New(rand.NewPCG(1, uint64(n))))
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	t.title("%d clients of %d gateways that request 1 to 4 of %d keys, until each has its keys", contenders, len(gateways), contendedKeys)
	t.required("clients that got their keys", fmt.Sprint(c.won.Load()), fmt.Sprint(contenders), c.won.Load() == contenders)
	t.figure("refused because a key was taken", fmt.Sprint(c.refused.Load()))
	t.figure("refused with CONTENTION", fmt.Sprint(c.undecided.Load()))
	t.figure("total time", millis(time.Since(begin)))
	return nil
}

// parallelTasks runs n tasks at the same time.
func parallelTasks(n int, do func(n int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// win tries to lease some keys until it succeeds, and releases them.
func (g *gateway) win(ctx context.Context, c *contention, random *rand.Rand) error {
	for {
		var keys []string
		for _, k := range random.Perm(contendedKeys)[:1+random.IntN(4)] {
			keys = append(keys, fmt.Sprint("wanted", k))
		}
		end, err := g.acquire(ctx, leaseTime, keys...)
		switch {
		case err == nil:
			c.won.Add(1)
			_, err = g.leases.Cancel(ctx, end)
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case fault.ReasonOf(err) == fault.ReasonTaken:
			c.refused.Add(1)
		case fault.CodeOf(err) == fault.Unavailable:
			c.undecided.Add(1)
		default:
			return err
		}
		// As docs/leases.md advises: after a random pause.
		if err := g.runtime.After(ctx, time.Duration(1+random.IntN(20))*time.Millisecond); err != nil {
			return err
		}
	}
}

// addWriter creates the user whose notes and leases are measured.
func (g *gateway) addWriter(ctx context.Context) error {
	_, err := g.service.People.CreateUser(ctx, asWriter(), principal.CreateUser{
		Tenant: "bench", Name: "writer", DisplayName: "Writer", Email: "writer@bench.example", Visibility: principal.Public})
	return err
}
