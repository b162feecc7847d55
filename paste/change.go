package paste

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
)

// Update changes a paste. Anybody with its secret may do so. An update that changes nothing
// writes nothing.
//
// Errors: the faults of the input; NOT_FOUND; WRONG_SECRET; CONFLICT if the paste does not have
// the expected version; CONTENTION; those of the store.
func (s *Service) Update(ctx context.Context, in Update) (*Paste, error) {
	id, faults := in.check(s.engine.Now())
	m, err := s.engine.Begin("", commit.Call{Name: "updatePaste", Input: &in, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.change(ctx, m, id, in.Secret, func(ctx context.Context, before *Paste) (*Paste, error) {
		if v := in.ExpectedVersion; v != nil && *v != before.Version {
			return nil, fault.VersionConflict(before.Version, fmt.Sprintf("the paste has version %d; read it again and repeat the change",
				before.Version))
		}
		if in.ExpiresAt.Set {
			if err := checkExpiry(in.ExpiresAt.Value, s.engine.Now()); err != nil {
				return nil, err
			}
		}
		same, err := s.hasBody(ctx, before, in.Body.Value)
		if err != nil {
			return nil, err
		}
		after := in.apply(before)
		if same && after.looksLike(before) {
			return nil, nil
		}
		after.Seq, after.Version, after.MTS = before.Seq+1, before.Version+1, s.engine.MTS(before.MTS)
		after.ModifiedAt = max(s.engine.Now(), before.ModifiedAt)
		body := in.Body.Value
		if same {
			body = nil
		}
		return after, s.prepare(ctx, before, after, body)
	})
}

// Delete removes a paste permanently. Anybody with its secret may do so.
//
// Errors: the faults of the input; NOT_FOUND; WRONG_SECRET; CONTENTION; those of the store.
func (s *Service) Delete(ctx context.Context, in Delete) (ID, error) {
	var faults fault.List
	id, err := ParseID(in.ID)
	faults.Add(err, "id")
	m, err := s.engine.Begin("", commit.Call{Name: "deletePaste", Input: &in, Faults: faults})
	if err != nil {
		return "", err
	}
	_, err = s.change(ctx, m, id, in.Secret, s.planDelete)
	return id, err
}

// planDelete plans the deletion of a paste.
func (s *Service) planDelete(ctx context.Context, before *Paste) (*Paste, error) {
	after := before.deleted(s.engine.MTS(before.MTS))
	return after, s.putReminder(ctx, after, after.reminder())
}

// change changes a paste for a caller with its secret. plan returns the next state, or nil if
// nothing changes.
func (s *Service) change(ctx context.Context, m commit.Mutation, id ID, secret string,
	plan func(ctx context.Context, before *Paste) (*Paste, error)) (*Paste, error) {
	var before, p *Paste
	entry, decided, err := s.engine.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		var err error
		if before, err = s.read(ctx, id); err != nil {
			return nil, err
		}
		opens := before.opens(secret)
		switch {
		case !before.readable(s.engine.Now()):
			return nil, noSuchPaste()
		case !opens:
			return nil, &fault.Error{Code: fault.Forbidden, Reason: fault.ReasonWrongSecret, Path: []string{"secret"},
				Msg: "this is not the secret of the paste"}
		}
		after, err := plan(ctx, before)
		if err != nil {
			return nil, err
		}
		if p = after; after == nil {
			p = before
			return commit.Nothing, nil
		}
		attempt := s.write(after, relists(before, after))
		if before.ExpiresAt != nil {
			attempt.Until = *before.ExpiresAt // from then on readers see that it is gone
		}
		attempt.Withdraws = attempt.Withdraws || after.IsPrivate && !before.IsPrivate
		return attempt, nil
	})
	if err != nil {
		return nil, err
	}
	if decided {
		s.finish(ctx, entry, before, p)
	}
	return p, nil
}

// apply returns the paste with the fields of the input, except for the body.
func (in *Update) apply(before *Paste) *Paste {
	after := *before
	if in.Title.Set {
		after.Title = in.Title.Value
	}
	if in.IsPrivate.Set {
		after.IsPrivate = in.IsPrivate.Value != nil && *in.IsPrivate.Value
	}
	if in.ExpiresAt.Set {
		after.ExpiresAt = in.ExpiresAt.Value
	}
	if in.ClearExpiry {
		after.ExpiresAt = nil
	}
	return &after
}

// looksLike reports whether two states look the same to a reader, except for the body.
func (p *Paste) looksLike(q *Paste) bool {
	return same(p.Title, q.Title) && p.IsPrivate == q.IsPrivate && same(p.ExpiresAt, q.ExpiresAt)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// prepare stores what must be stored before a state is decided: a long body, and the reminders for
// deleting the paste when it has expired and for removing the former body. body is nil if it does
// not change.
func (s *Service) prepare(ctx context.Context, before, after *Paste, body *string) error {
	if after.ExpiresAt != nil && (before == nil || !same(before.ExpiresAt, after.ExpiresAt)) {
		if err := s.putReminder(ctx, after, *after.ExpiresAt); err != nil {
			return err
		}
	}
	if body == nil {
		return nil
	}
	long := len(*body) > inlineBody
	if long || before != nil && before.Body.IsLong() {
		if err := s.putReminder(ctx, after, s.engine.Now().Add(bodyKeptFor)); err != nil {
			return err
		}
	}
	after.Body = Body{Size: len(*body)}
	if !long {
		after.Body.Text = *body
		return nil
	}
	after.Body.Long, after.Body.stored = s.newBodyID(), body
	if err := s.putBody(ctx, after); err != nil {
		return fault.Unavailablef(err, "the store did not take the body; nothing was changed, try again")
	}
	return nil
}

// putBody stores the long body of a state that is not decided yet.
func (s *Service) putBody(ctx context.Context, after *Paste) error {
	return s.store.PutBody(ctx, BodyRef{after.ID, after.Body.Long}, *after.Body.stored)
}

// putReminder stores a reminder to tidy a paste at a time.
func (s *Service) putReminder(ctx context.Context, p *Paste, at clock.Instant) error {
	if err := s.dues.PutReminder(ctx, commit.Reminder{At: at, Kind: commit.Paste, Key: string(p.ID), MTS: p.MTS}); err != nil {
		return fault.Unavailablef(err, "the store did not take the paste; nothing was changed, try again")
	}
	return nil
}
