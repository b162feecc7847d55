package simulator

import (
	"context"
	"errors"
	"time"

	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/headercache"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// process is a simulated gateway: the product's Service and journal, wired as
// the product wires them.
type process struct {
	a      *Actor
	c      *Client
	svc    *domain.Services
	leases *lease.Service
	pages  *note.Service
	pastes *paste.Service
	j      *journal.Journal
	// started opens when it has started, or failed to.
	started sched.Latch
	failed  error
	// announces: it announces its changes. If nothing is followed it need not, and schedules are
	// shorter.
	announces bool
	// copies says how its pages are served from copies of headers, and linger how long changes of
	// principals stay on its list after they have ended.
	copies headercache.Config
	linger time.Duration
	watch  library.Watcher
	// drains: it has started to drain.
	drains bool
}

// boot starts the process, or waits until it has started. It does not take over lists, because the
// processes that wrote them may be alive.
func (p *process) boot(ctx context.Context, tune library.Tuning) error {
	if p.started != nil {
		_, err := p.a.Wait(ctx, p.started, 0)
		return errors.Join(err, p.failed)
	}
	p.started = p.a.Latch()
	defer p.started.Open()
	p.c.calm = true
	defer func() { p.c.calm = false }()
	p.j = journal.New(ctx, p.c.Journal, p.a, nil)
	c := domain.Config{Store: p.c.Store, Runtime: p.a, Journal: p.j, Tuning: tune, Remote: true, HeaderCache: p.copies,
		Linger: p.linger, Watch: p.watch}
	if p.announces {
		c.Notifier = p.c
	}
	services, err := domain.Open(ctx, c)
	if err != nil {
		p.failed = err
		return err
	}
	p.svc, p.leases, p.pages, p.pastes = services, services.Leases, services.Notes, services.Pastes
	p.a.Go(func() { p.j.Run(ctx, services.Background()) })
	return nil
}

// takeOver takes over all lists but its own, whether their owners are dead or not.
func (p *process) takeOver(ctx context.Context) error { return p.j.Recover(ctx, p.svc.Background()) }

// page reads a page of a library, as inTime does.
func (p *process) page(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) (*library.LibraryConnection, error) {
	return inTime(ctx, p, func(ctx context.Context) (*library.LibraryConnection, error) {
		return p.svc.Listing.Library(ctx, v, owner, q)
	})
}

// inTime ends a query that takes too long, as the edge of a gateway does.
func inTime[T any](ctx context.Context, p *process, query func(context.Context) (T, error)) (T, error) {
	return sched.WithQueryTimeout(ctx, p.a, query)
}
