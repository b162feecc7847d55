package paste

import (
	"context"
	"crypto/sha256"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// Import is a paste in a line of a file. It has no secret, because exports have none.
type Import struct {
	ID        string
	Title     *string
	Body      string
	IsPrivate bool
	// Author created the paste; nil for an anonymous caller.
	Author *string
	// CreatedAt defaults to the time of the import, and ModifiedAt to CreatedAt.
	CreatedAt, ModifiedAt, ExpiresAt *clock.Instant
	// Version defaults to 1.
	Version *int
}

// check returns the faults of the input.
func (in *Import) check(now clock.Instant) (ID, fault.List) {
	var faults fault.List
	id, err := ParseID(in.ID)
	faults.Add(err, "id")
	if in.Title != nil {
		faults.Add(checkTitle(*in.Title), "title")
	}
	faults.Add(checkBody(in.Body), "body")
	for _, t := range []struct {
		at    *clock.Instant
		field string
	}{{in.CreatedAt, "createdAt"}, {in.ModifiedAt, "modifiedAt"}} {
		if t.at != nil && *t.at > now {
			faults = append(faults, fault.OutOfRangef([]string{t.field}, "%s must not be in the future", t.field))
		}
	}
	if in.ModifiedAt != nil && (in.CreatedAt == nil || *in.ModifiedAt < *in.CreatedAt) {
		faults = append(faults, fault.OutOfRangef([]string{"modifiedAt"}, "modifiedAt must not be before createdAt"))
	}
	return id, faults
}

// Import stores a paste from a file. Nobody has its secret, so nobody can change it.
//
// Errors: the faults of the line; TAKEN if another paste has the id; those of the store.
func (s *Service) Import(ctx context.Context, in Import) (principal.ImportResult, error) {
	now := s.engine.Now()
	id, faults := in.check(now)
	if err := faults.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	p := in.paste(id, now)
	// A secret that nobody knows.
	p.Secret = sha256.Sum256([]byte(s.newSecret()))
	entry, decided, err := s.engine.Decide(ctx, s.engine.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			if err := s.prepare(ctx, nil, p, &in.Body); err != nil {
				return nil, err
			}
			return s.write(p, relists(nil, p)), nil
		}
		same, err := s.hasBody(ctx, before, &in.Body)
		if err != nil {
			return nil, err
		}
		if before.State != commit.Live || !same || !in.describes(before) {
			return nil, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"id"},
				Msg: "there is, or was, another paste of this id"}
		}
		return commit.Nothing, nil
	})
	if err != nil || !decided {
		return principal.Unchanged, err
	}
	s.finish(ctx, entry, nil, p)
	return principal.Created, nil
}

// paste returns the paste that a line describes, without its body.
func (in *Import) paste(id ID, now clock.Instant) *Paste {
	p := &Paste{
		ID: id, Seq: 1, State: commit.Live, MTS: now, IsPrivate: in.IsPrivate, Title: in.Title, CreatedAt: now,
		ExpiresAt: in.ExpiresAt, Version: 1,
	}
	if in.Author != nil {
		p.Author = principal.ID(*in.Author)
	}
	if in.CreatedAt != nil {
		p.CreatedAt = *in.CreatedAt
	}
	if p.ModifiedAt = p.CreatedAt; in.ModifiedAt != nil {
		p.ModifiedAt = *in.ModifiedAt
	}
	if in.Version != nil {
		p.Version = *in.Version
	}
	return p
}

// describes reports whether a line describes a paste, except for the body. Fields that the line
// omits may have any value.
func (in *Import) describes(p *Paste) bool {
	want := in.paste(p.ID, p.CreatedAt)
	return p.looksLike(want) && p.Author == want.Author && p.CreatedAt == want.CreatedAt &&
		(in.ModifiedAt == nil || p.ModifiedAt == *in.ModifiedAt) && (in.Version == nil || p.Version == *in.Version)
}

// Export calls write for each paste that has not ended, in a stable order. It exports no secrets.
func (s *Service) Export(ctx context.Context, write func(Import) error) error {
	return s.Each(ctx, func(p *Paste) error {
		if !p.readable(s.engine.Now()) {
			return nil
		}
		bodies, err := s.Bodies(ctx, []*Paste{p})
		if err != nil {
			return err
		}
		if bodies[0] == nil {
			return nil // it has ended meanwhile
		}
		line := Import{
			ID: string(p.ID), Title: p.Title, Body: *bodies[0], IsPrivate: p.IsPrivate,
			CreatedAt: &p.CreatedAt, ModifiedAt: &p.ModifiedAt, ExpiresAt: p.ExpiresAt, Version: &p.Version,
		}
		if p.Author != "" {
			author := string(p.Author)
			line.Author = &author
		}
		if err := write(line); err != nil {
			return fmt.Errorf("exporting %s: %w", p.ID, err)
		}
		return nil
	})
}
