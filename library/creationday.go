package library

import (
	"context"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/id"
)

// creationKept is how long the id fixed for a keyed creation is kept, from the
// start of an attempt. It exceeds requestKept, which is counted from the commit,
// by what an attempt may take and by the skew of the gateways' clocks.
const creationKept = requestKept + time.Minute

// keepID returns the row by which the next attempt of a creation keeps the id
// that an earlier one has fixed: the same row once the creation has succeeded, and
// one that is kept until a later time before that, because the day of a key is
// counted from the attempt that succeeds. It returns the zero Creation where the
// id is in use and its request row has expired: the attempt is a new request then.
func (s *Service) keepID(ctx context.Context, fixed Creation, until clock.Instant) (Creation, error) {
	var state State
	var row *RequestRow
	switch id.KindOf(fixed.ID) {
	case id.Content:
		rows, err := s.store.Read(ctx, ContentID(fixed.ID), ContentQuery{Request: &fixed.Key})
		if err != nil {
			return Creation{}, fmt.Errorf("reading %s: %w", fixed.ID, err)
		}
		state, row = rows.Header.State, rows.Request
	case id.User, id.Group:
		rows, err := s.store.ReadPrincipal(ctx, PrincipalID(fixed.ID), PrincipalQuery{Request: &fixed.Key})
		if err != nil {
			return Creation{}, fmt.Errorf("reading %s: %w", fixed.ID, err)
		}
		state, row = rows.Header.State, rows.Request
	}
	exists := state == Live || state == Deleted
	switch {
	case !exists:
		fixed.Until = max(fixed.Until, until)
	case row == nil || row.Until <= s.now():
		return Creation{}, nil
	}
	return fixed, nil
}
