package library

import (
	"context"
	"math"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// target is what a mutation of an item has read, all of one state.
type target struct {
	header Header
	own    Member   // the row of the actor
	named  []Member // in the order requested
	rows   []Row    // further rows, in the order requested
	// repeated is the answer of the first outcome, if the request was answered before. Nothing
	// else is checked then.
	repeated *keptAnswer
}

// most returns how many of the libraries that a change concerns the actor may know of. Who is no manager itself does
// not see all members, and must not count them, by the answer or by the price.
func (t *target) most(v *principal.Viewer) int {
	if v.Administers(t.header.Tenant()) || t.own.Active() && t.own.Role == Manages {
		return math.MaxInt
	}
	return 1
}

// readTarget reads the item of a mutation, checks that the actor may act, and returns NOT_FOUND at the
// item's path unless the viewer sees it. Whether the request was answered before is decided before that.
// Rights are decided by what is read after the item: the compare-and-set is refused if the item has
// changed since, so nothing is changed by rights that are older than the state that they were read for.
func (s *Service) readTarget(ctx context.Context, c *contentChange) (*target, error) {
	var rows *ContentRows
	var err error
	if c.rows != nil {
		rows, err = s.readItem(ctx, c)
	} else {
		rows, err = s.readState(ctx, c.id, append([]principal.ID{c.v.User}, c.named...), c.Request.Lookup())
	}
	if err != nil {
		return nil, err
	}
	t := &target{header: rows.Header, own: rows.Members[0], named: rows.Members[1:], rows: rows.Rows}
	if err := c.CheckActor(ctx); err != nil {
		return nil, err
	}
	t.repeated, err = s.repeatedOrSeen(ctx, c, t, rows.Request)
	return t, err
}

// repeatedOrSeen returns the answer of a request that was answered before. For all other
// requests it returns NOT_FOUND unless the viewer sees the item.
func (s *Service) repeatedOrSeen(ctx context.Context, c *contentChange, t *target, row *commit.RequestRow) (*keptAnswer, error) {
	again, err := c.Request.Answered(row, s.engine.Now())
	if err != nil {
		return nil, err
	}
	if again {
		return decodeAnswer(row.Answer)
	}
	sees, err := s.sees(ctx, c.v, c.id, &t.header, t.own)
	if err == nil && !sees {
		err = fault.NotFoundf([]string{c.path}, "there is no such content, or you may not see it")
	}
	return nil, err
}

// readState reads rows of one state of an item. Each read requests at most MaxList members. The
// compare-and-set refuses a plan made from mixed states, so it is enough that all reads returned
// the same seq.
func (s *Service) readState(ctx context.Context, id ContentID, members []principal.ID, request *commit.RequestKey) (*ContentRows, error) {
	for range commit.MaxTries {
		var whole *ContentRows
		mixed := false
		for part := range slices.Chunk(members, input.MaxList) {
			rows, err := s.contents.Read(ctx, id, ContentQuery{Members: part, Request: request})
			if err != nil {
				return nil, err
			}
			if whole == nil {
				whole = rows
				continue
			}
			mixed = mixed || rows.Header.Seq != whole.Header.Seq
			whole.Members = append(whole.Members, rows.Members...)
		}
		if !mixed {
			return whole, nil
		}
	}
	return nil, sched.ErrQueueFull
}

// requireVersion returns CONFLICT if the caller expected another version.
func requireVersion(h *Header, expected *int) error {
	if expected == nil || *expected == h.Version {
		return nil
	}
	return fault.VersionConflict(h.Version, "the item has changed since: read it again, review the change, and repeat yours with its version")
}
