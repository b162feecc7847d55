package paste

import (
	"context"
	"crypto/sha256"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// Created is the outcome of Create.
type Created struct {
	Paste *Paste
	// Secret authorizes changes of the paste. It is returned only once, and is empty for a
	// repetition.
	Secret string
}

// Create stores a paste. The caller may be anonymous. The idempotency keys of anonymous callers are
// long.
//
// Errors: the faults of the input; FORBIDDEN if the caller's user was deleted; IDEMPOTENCY_MISMATCH; those of the store.
func (s *Service) Create(ctx context.Context, v *principal.Viewer, in Create) (*Created, error) {
	m, err := s.engine.Begin(string(v.User), commit.Call{Name: "createPaste", Input: &in, Key: &in.IdempotencyKey,
		Faults: in.check(s.engine.Now())})
	if err != nil {
		return nil, err
	}
	if err := s.people.RefuseDeleted(ctx, m.Budget, v); err != nil {
		return nil, err
	}
	id, err := s.reserveID(ctx, m)
	if err != nil {
		return nil, err
	}
	secret := s.newSecret()
	p, repeated, err := s.create(ctx, m, id, v.User, &in, secret)
	switch {
	case err != nil:
		return nil, err
	case repeated:
		return s.repetition(p)
	}
	return &Created{Paste: p, Secret: secret}, nil
}

// reserveID returns the id of the paste that a mutation creates. It is the same for all repetitions
// of a request.
func (s *Service) reserveID(ctx context.Context, m commit.Mutation) (id ID, err error) {
	if m.Request == nil {
		return s.newID(), nil
	}
	err = s.engine.WithBudget(ctx, m.Budget, func(ctx context.Context) error {
		fixed, err := s.engine.PutCreationIfAbsent(ctx, m.Request, func() (string, error) { return string(s.newID()), nil })
		id = ID(fixed)
		return err
	})
	return id, err
}

// create stores a new paste and lists it. repeated reports that p is the paste that the same
// request has created before.
func (s *Service) create(ctx context.Context, m commit.Mutation, id ID, author principal.ID, in *Create,
	secret string) (p *Paste, repeated bool, err error) {
	entry, decided, err := s.engine.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		var before *Paste
		if m.Request != nil { // a new random id is not in use
			if before, err = s.read(ctx, id); err != nil {
				return nil, err
			}
		}
		if before != nil {
			if repeated, err = m.Request.Answered(before.Request, s.engine.Now()); err != nil {
				return nil, err
			}
			if p = before; !repeated {
				return nil, fault.Unavailablef(nil, "an earlier attempt of this request was interrupted; try again")
			}
			return commit.Nothing, nil
		}
		now := s.engine.Now()
		if in.ExpiresAt != nil && *in.ExpiresAt <= now {
			return nil, fault.List{fault.OutOfRangef([]string{"expiresAt"}, "expiresAt must be in the future")}
		}
		p = &Paste{
			ID: id, Seq: 1, State: commit.Live, MTS: now, Secret: sha256.Sum256([]byte(secret)), Author: author, IsPrivate: in.IsPrivate,
			BornPublic: !in.IsPrivate, Title: in.Title, CreatedAt: now, ModifiedAt: now, ExpiresAt: in.ExpiresAt, Version: 1,
			Request: m.Request.Row(now, nil),
		}
		if err := s.prepare(ctx, nil, p, &in.Body); err != nil {
			return nil, err
		}
		return s.write(p, relists(nil, p)), nil
	})
	if err == nil && decided {
		s.finish(ctx, entry, nil, p)
	}
	return p, repeated, err
}

// repetition returns the paste that the same request has created before, without its secret.
func (s *Service) repetition(p *Paste) (*Created, error) {
	if !p.readable(s.engine.Now()) {
		return nil, fault.NotFoundf(nil, "the paste that this request has created has expired or was deleted")
	}
	return &Created{Paste: p}, nil
}

// Partition returns what is stored under the id of a paste. It is a commit.ReadPartition.
func (s *Service) Partition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	p, err := s.read(ctx, ID(globalID))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return &commit.Partition{State: commit.Absent, Claim: func(row *commit.RequestRow) *commit.Attempt {
			return s.writeVoid(ID(globalID), row)
		}}, nil
	}
	// A void row is a claim, or the fence of a creation that can no longer happen: nothing
	// is ever created under its id.
	found := &commit.Partition{State: commit.Deleted}
	if p.State == commit.Live {
		found.State = commit.Live
	}
	if p.Request != nil && key != nil && p.Request.Key == *key {
		found.Request = p.Request
	}
	return found, nil
}

// writeVoid returns an attempt that makes an id unusable.
func (s *Service) writeVoid(id ID, request *commit.RequestRow) *commit.Attempt {
	now := s.engine.Now()
	void := &Paste{ID: id, Seq: 1, State: commit.Void, MTS: now, CreatedAt: now, ModifiedAt: now, Request: request}
	a := s.write(void, false)
	insert := a.Commit
	a.Commit = func(ctx context.Context, writer commit.EntryID) (commit.Verdict, error) {
		// The reminder for removing the row.
		if err := s.putReminder(ctx, void, void.reminder()); err != nil {
			return commit.Verdict{}, err
		}
		return insert(ctx, writer)
	}
	return a
}
