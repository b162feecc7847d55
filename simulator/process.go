package simulator

import (
	"context"

	"carrel/journal"
	"carrel/library"
)

// process is a simulated gateway: the product's Service and journal, wired as
// the product wires them.
type process struct {
	a   *Actor
	c   *Client
	svc *library.Service
	j   *journal.Journal
}

// boot starts the process. It does not take over lanes: in a cluster others
// live.
func (p *process) boot(ctx context.Context, tune library.Tuning) error {
	p.c.calm = true
	defer func() { p.c.calm = false }()
	p.j = journal.New(ctx, p.c, p.a, nil, tune.Without)
	svc, err := library.New(ctx, library.Config{Store: p.c, Runtime: p.a, Journal: p.j, Tuning: tune})
	if err != nil {
		return err
	}
	p.svc = svc
	p.a.Go(func() { p.j.Run(ctx, svc) })
	return nil
}

// takeOver takes over all lanes but its own, whether their owners are dead or
// not.
func (p *process) takeOver(ctx context.Context) error { return p.j.Recover(ctx, p.svc) }
