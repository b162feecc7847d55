package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
)

// A keyed creation has its id fixed before it runs, in a row per viewer and key.
// An attempt that was refused gives its key free: another input may replace the
// row. The earlier attempt may still be running then, so its id is claimed
// first: a row in the partition of that id, under the same key and with the hash
// of the new input, written by compare-and-set. A creation is refused by the
// claim of another input (IDEMPOTENCY_MISMATCH), and a claim is refused by a
// creation. So of two inputs at the same time one creates at most.

// claimAnswer marks a request row that is a claim, and no outcome. No outcome is
// encoded like this.
var claimAnswer = []byte("claimed")

// claims reports whether the row claims an id for a creation, which has not happened.
func (r *RequestRow) claims() bool { return bytes.Equal(r.Answer, claimAnswer) }

// fixCreation gives a keyed creation its id before it runs, so that a
// repetition runs under the same id and finds the first outcome there. fresh
// makes an id.
func (s *Service) fixCreation(ctx context.Context, r *keyedRequest, fresh func() (string, error)) (string, error) {
	id, err := fresh()
	if err != nil {
		return "", err
	}
	mine := Creation{Key: r.key, InputHash: r.hash, ID: id, Until: s.now().Add(creationKept)}
	write := mine
	var replace *Creation
	for range maxFixes {
		stands, err := s.store.FixCreation(ctx, write, replace)
		if err != nil {
			// Whether the row was written does not matter: it promises nothing,
			// and a repetition finds it.
			return "", fault.Unavailablef(err, "the store did not answer; nothing was created, try again")
		}
		if stands == write {
			return write.ID, nil
		}
		write = mine
		if stands.Until > s.now() && stands.InputHash == r.hash {
			keep, err := s.keepID(ctx, stands, mine.Until)
			if err != nil {
				return "", err
			}
			if keep == stands {
				return stands.ID, nil
			}
			if keep != (Creation{}) {
				write = keep
			}
		} else if stands.Until > s.now() {
			if err := s.claim(ctx, stands.ID, r); err != nil {
				return "", err
			}
		}
		replace = &stands
		if stands == (Creation{}) {
			replace = nil // what was to be replaced has been forgotten meanwhile
		}
	}
	return "", &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "other requests use this idempotencyKey at the same time; try again"}
}

// claim makes sure that no other input of the request's key creates id. It is
// IDEMPOTENCY_MISMATCH where one has. An id that exists otherwise is not claimed:
// it can be created no more.
func (s *Service) claim(ctx context.Context, globalID string, r *keyedRequest) error {
	_, _, err := s.decide(ctx, s.newBudget(), globalID, func(ctx context.Context) (*attempt, error) {
		var state State
		var row *RequestRow
		var a *attempt
		switch id.KindOf(globalID) {
		case id.Content:
			rows, err := s.store.Read(ctx, ContentID(globalID), ContentQuery{Request: &r.key})
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", globalID, err)
			}
			state, row, a = rows.Header.State, rows.Request, s.claimContent(ContentID(globalID), rows.Header, r)
		case id.User, id.Group:
			rows, err := s.store.ReadPrincipal(ctx, PrincipalID(globalID), PrincipalQuery{Request: &r.key})
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", globalID, err)
			}
			state, row, a = rows.Header.State, rows.Request, s.claimPrincipal(PrincipalID(globalID), rows.Header, r)
		default:
			return nil, fmt.Errorf("the id %q fixed for a creation is of no known kind", globalID)
		}
		switch {
		case row != nil && row.Until > s.now() && !row.claims():
			return nil, idempotencyMismatch()
		case state == Live || state == Deleted:
			return nothingToChange, nil
		}
		return a, nil
	})
	if err != nil && fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return fault.Unavailablef(errors.Unwrap(err), "the store did not answer; nothing was created, try again")
	}
	return err
}

// claimContent is the claim of an item that does not exist: a void state, as a
// fence makes it, with the row.
func (s *Service) claimContent(id ContentID, before Header, r *keyedRequest) *attempt {
	h := Header{Content: Content{ID: id}, State: Void, Seq: before.Seq + 1, MTS: s.mts(before.MTS)}
	return s.contentAttempt(InFlight{Content: id, Base: before.Seq},
		&ContentCommit{ID: id, Base: before.Seq, Header: h, Request: r.row(s.now(), claimAnswer)})
}

// claimPrincipal is claimContent for a user or a group.
func (s *Service) claimPrincipal(id PrincipalID, before PrincipalHeader, r *keyedRequest) *attempt {
	c := &PrincipalCommit{ID: id, Base: before.Seq, Request: r.row(s.now(), claimAnswer),
		Header: PrincipalHeader{ID: id, State: Void, Seq: before.Seq + 1, MTS: s.mts(before.MTS)}}
	return &attempt{entry: InFlight{Principal: id, Base: before.Seq}, commit: func(ctx context.Context, by commit.EntryID) (Verdict, error) {
		c.Writer = by
		return s.store.CommitPrincipal(ctx, c)
	}}
}
