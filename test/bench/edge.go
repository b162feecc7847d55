package main

import (
	"context"
	"path/filepath"

	"carrel/library"
)

// edgeSections are the sections of `make bench-edge`: the cost that the edge adds to the
// domain, and the cost of hostile requests.
func edgeSections() []section {
	return []section{
		{"transport", measureTransport},
		{"hostile", measureHostile},
		{"idle", measureIdle},
		{"event", measureEvent},
		{"followers", measureFollowers},
	}
}

// wantedOfExecution is the highest cost of a page through the real transport, in pages
// that are executed in the process without a response.
const wantedOfExecution = 1.15

// measureTransport compares a page that is only executed with one that arrives as a POST,
// with token verification, decoding of the body and limits, and is encoded as bytes. Both
// are measured in this process: the cost of the connection in net/http and the kernel is
// the same for any handler, and is not counted.
func measureTransport(ctx context.Context, o *options, t *table) error {
	g, err := o.fresh(ctx, filepath.Join(o.dir, "transport"), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.createLibrary(ctx, mediumOwner, smallSize); err != nil {
		return err
	}
	inside, err := g.viaPlan(ctx, mediumOwner)
	if err != nil {
		return err
	}
	whole, err := g.viaEdge(ctx, pageSpec{owner: mediumOwner})
	if err != nil {
		return err
	}
	costs, err := compare(subject{"execution", inside}, subject{"transport", whole})
	if err != nil {
		return err
	}
	t.title("A page of 20 edges with creator (CPU a page, of the handler without its connection)")
	t.figure("answered in the process by its plan, of a parsed document", micros(costs[0].cpu))
	t.ratio("through the transport, with authentication and limits", micros(costs[1].cpu), ratio(costs[1], costs[0]), wantedOfExecution)
	return nil
}
