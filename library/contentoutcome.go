package library

import (
	"context"
	"encoding/json"
	"errors"

	"carrel/core/fault"
	"carrel/principal"
)

// keptAnswer is the part of an outcome that a request row keeps. A repetition reads everything
// else again.
type keptAnswer struct {
	Libraries int `json:"libraries"`
	// Seq is that of the state that the change has made.
	Seq int64 `json:"seq"`
	// Answer is the Answer of an Edit.
	Answer []byte `json:"answer,omitempty"`
}

func (a keptAnswer) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // a number and bytes can always be encoded
	}
	return b
}

func decodeAnswer(b []byte) (*keptAnswer, error) {
	a := &keptAnswer{}
	if err := json.Unmarshal(b, a); err != nil {
		return nil, &fault.Error{Code: fault.Internal, Msg: "the answer of an earlier request cannot be read", Err: err}
	}
	return a, nil
}

// answer fans out a mutation of an item, if it was decided, and returns the outcome.
func (s *Service) answer(ctx context.Context, v *principal.Viewer, id ContentID, e inFlight, decided bool,
	libraries int) (*ContentOutcome, error) {
	complete := true
	if decided {
		complete = s.fanOut(ctx, e, v.User)
	}
	return s.outcome(ctx, v, id, decided, FanOut{Complete: complete, Libraries: libraries})
}

// repeatedAnswer returns the outcome of a request that was answered before.
func (s *Service) repeatedAnswer(ctx context.Context, v *principal.Viewer, id ContentID, first *keptAnswer) (*ContentOutcome, error) {
	out, err := s.readBack(ctx, v, id)
	if err != nil {
		return nil, err
	}
	out.FanOut = FanOut{Complete: s.fannedOut(ctx, id, first.Seq), Libraries: first.Libraries}
	out.Answer = first.Answer
	return out, nil
}

// outcome is what a mutation returns after its fan-out. If it was decided, an error of
// reading the item does not undo it, and is logged only.
func (s *Service) outcome(ctx context.Context, v *principal.Viewer, id ContentID, decided bool, fan FanOut) (*ContentOutcome, error) {
	out, err := s.readBack(ctx, v, id)
	if err != nil && decided {
		s.warnNotReadBack(ctx, id, err)
		out, err = &ContentOutcome{ID: id}, nil
	}
	if err != nil {
		return nil, err
	}
	out.FanOut = fan
	return out, nil
}

// readBack reads the item as the actor may see it now, and its edge in the actor's own library.
func (s *Service) readBack(ctx context.Context, v *principal.Viewer, id ContentID) (*ContentOutcome, error) {
	v.Forget()
	out := &ContentOutcome{ID: id}
	rows, err := s.contents.Read(ctx, id, ContentQuery{Members: []principal.ID{v.User}})
	if err != nil {
		return nil, err
	}
	h, own := rows.Header, rows.Members[0]
	sees, err := s.sees(ctx, v, id, &h, own)
	if err != nil || !sees {
		return out, err
	}
	out.Content = &h.Content
	if own.Active() {
		out.Edge = s.edgeFor(v.User, principal.Private, &h, own.Role)
	}
	return out, nil
}

// warnNotReadBack logs that the outcome of a change could not be read. It does not log this for
// a client that has disconnected: it reads no outcome.
func (s *Service) warnNotReadBack(ctx context.Context, id ContentID, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		s.log.WarnContext(ctx, "a change was made, but its outcome could not be read", "content", string(id), "error", err)
	}
}
