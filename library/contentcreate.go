package library

import (
	"context"
	"strconv"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/principal"
)

// CreateContent creates an item. Its creator is a manager. Either all initial members are added
// or none.
func (s *Service) CreateContent(ctx context.Context, v *principal.Viewer, in CreateContent) (*ContentOutcome, error) {
	defer v.Forget()
	members, faults := in.check(s.engine.Now(), s.tune.Targets)
	m, err := s.people.BeginAsUser(ctx, v, commit.Call{Name: "createContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	tenant := v.User.Tenant()
	if in.Tenant != nil && *in.Tenant != tenant {
		if tenant = *in.Tenant; !v.GlobalAdmin {
			return nil, fault.Forbiddenf([]string{"tenant"}, "content is created in one's own tenant")
		}
	}
	var id string
	err = s.engine.WithBudget(ctx, m.Budget, func(ctx context.Context) (err error) {
		fresh := func() (string, error) { return s.nameFor(ctx, tenant, in.Name) }
		if m.Request == nil {
			id, err = fresh()
		} else {
			id, err = s.engine.PutCreationIfAbsent(ctx, m.Request, fresh)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.createAs(ctx, m, v, ContentID(id), &in, members)
}

// nameFor returns the id of a new item: that of the chosen name, or a generated one.
func (s *Service) nameFor(ctx context.Context, tenant string, name *string) (string, error) {
	if name != nil {
		return "c:" + tenant + ":" + *name, nil
	}
	generated, err := s.names.ContentName(ctx)
	if err != nil {
		return "", fault.Unavailablef(err, "no name could be generated; nothing was created, try again")
	}
	return "c:" + tenant + ":" + generated, nil
}

// createAs creates an item under an id.
func (s *Service) createAs(ctx context.Context, m commit.Mutation, v *principal.Viewer, id ContentID, in *CreateContent,
	members roles) (*ContentOutcome, error) {
	all := withCreator(v.User, members)
	var first *keptAnswer
	var text *Edit
	e, decided, err := s.decide(ctx, m.Budget, id, func(ctx context.Context) (*attempt, error) {
		rows, err := s.contents.Read(ctx, id, ContentQuery{Request: m.Request.Lookup()})
		if err != nil {
			return nil, err
		}
		again, err := m.Request.Answered(rows.Request, s.engine.Now())
		if err != nil {
			return nil, err
		}
		if again {
			first, err = decodeAnswer(rows.Request.Answer)
			return nothingToChange, err
		}
		if err := checkExpiry(in.ExpiresAt, s.engine.Now()); err != nil {
			return nil, err
		}
		v.Forget() // what a former try has read
		if err := s.checkMembers(ctx, v, members.Principals); err != nil {
			return nil, err
		}
		if rows.Header.State == commit.Live || rows.Header.State == commit.Deleted {
			return nil, s.namesTaken(ctx, id, in.url)
		}
		if err := s.takeURL(ctx, id, in.url); err != nil {
			return nil, err
		}
		if text == nil {
			if text, err = s.firstText(ctx, id, in, v.User); err != nil {
				return nil, err
			}
		}
		return s.planCreate(ctx, v.User, id, in, all, text, &rows.Header, m.Request)
	})
	if err != nil {
		return nil, err
	}
	if first != nil {
		return s.repeatedAnswer(ctx, v, id, first)
	}
	return s.answer(ctx, v, id, e, decided, len(all.Roles))
}

// check returns the initial members, and the errors of the input except those of its
// idempotency key.
func (in *CreateContent) check(now clock.Instant, limit int) (members roles, faults fault.List) {
	if in.Tenant != nil {
		faults.Add(id.CheckTenant(*in.Tenant), "tenant")
	}
	if in.Name != nil {
		faults.Add(checkContentName(*in.Name), "name")
	}
	faults.Add(CheckTitle(in.Title), "title")
	if in.Description != nil {
		faults.Add(checkDescription(*in.Description), "description")
	}
	switch {
	case in.Kind == Link && in.Link == nil:
		faults = append(faults, fault.Emptyf([]string{"link"}, "a LINK needs a link"))
	case in.Kind == Note && in.Link != nil:
		faults = append(faults, fault.NotApplicablef([]string{"link"}, "a NOTE has no link"))
	case in.Kind == Link:
		faults.Add(checkLink(*in.Link), "link")
	case in.Kind != Note:
		faults = append(faults, fault.Invalidf([]string{"kind"}, "a kind is LINK or NOTE"))
	}
	if !in.Visibility.Valid() {
		faults = append(faults, fault.Invalidf([]string{"visibility"}, "a visibility is PUBLIC, LOGGEDIN or PRIVATE"))
	}
	if in.URL != nil {
		var err error
		in.url, err = checkURL(*in.URL)
		faults.Add(err, "url")
	}
	in.checkText(&faults)
	if in.IdempotencyKey == nil {
		faults.Add(checkExpiry(in.ExpiresAt, now))
	}
	members = parseRoles(in.Members, limit, true, &faults)
	return members, faults
}

// checkExpiry refuses an instant that has passed. For a request with an idempotency key it is
// called once the request is known not to be a repetition: a repetition gets the first answer
// again, even if the instant has passed since.
func checkExpiry(at *clock.Instant, now clock.Instant) error {
	if at != nil && *at <= now {
		return fault.OutOfRangef([]string{"expiresAt"}, "expiresAt must lie in the future; to take an item away now, delete it")
	}
	return nil
}

// checkContentName checks a chosen name. Only generated names contain a slash.
func checkContentName(name string) error {
	if strings.Contains(name, "/") {
		return fault.Invalidf(nil, "the name of a content holds no /")
	}
	return id.CheckName(name)
}

// withCreator returns the initial roles, and that of the creator as a manager.
func withCreator(creator principal.ID, members roles) roles {
	all := roles{Principals: []principal.ID{creator}, Roles: []ContentRole{Manages}}
	for i, p := range members.Principals {
		if p != creator {
			all.Principals, all.Roles = append(all.Principals, p), append(all.Roles, members.Roles[i])
		}
	}
	return all
}

// checkMembers checks existence and visibility of the initial members.
func (s *Service) checkMembers(ctx context.Context, v *principal.Viewer, ps []principal.ID) error {
	faults, err := s.people.PrincipalsFor(ctx, v, ps,
		func(i int, _ *principal.Header) bool { return ps[i] == v.User },
		func(i int) []string { return []string{"members", strconv.Itoa(i), "principalId"} })
	if err != nil {
		return err
	}
	return faults.OrNil()
}

// planCreate plans the first state of an item, on no state or on a fence.
func (s *Service) planCreate(ctx context.Context, creator principal.ID, id ContentID, in *CreateContent, members roles,
	text *Edit, before *Header, r *commit.Request) (*attempt, error) {
	mts := s.engine.MTS(before.MTS)
	h := Header{
		Content: Content{
			ID: id, Kind: in.Kind, Title: in.Title, Description: in.Description, Link: in.Link,
			Visibility: in.Visibility, Creator: creator, CreatedAt: mts, LastModified: mts, Version: 1, ExpiresAt: in.ExpiresAt,
			CanonicalURL: in.url,
		},
		State: commit.Live, Seq: before.Seq + 1, MTS: mts, Position: mts, Widest: in.Visibility,
	}
	var further []Row
	if text != nil {
		h.Page, further = text.Page, text.Rows
	}
	rows := changeRows(&h, absentRows(members.Principals), members.Roles)
	if err := s.putReminder(ctx, &h); err != nil {
		return nil, fault.Unavailablef(err, "the store did not take the change; nothing was created, try again")
	}
	causes := reasonsOfRoles(&h, rows)
	causes.madeBy(creator, func(principal.ID) principal.ID { return creator })
	return s.contentAttempt(
		inFlight{commit.Entry{Reach: commit.Reach{Scope: commit.ScopeListed, Principals: principalsOf(rows), All: true}}, causes},
		&ContentCommit{ID: id, Base: before.Seq, Header: h, Members: rows, Rows: further,
			Request: r.Row(s.engine.Now(), keptAnswer{Libraries: len(rows), Seq: h.Seq}.encode())}), nil
}

// Partition reads the partition of an item for its creation. Its Claim writes the void state
// that a fence writes, together with the request row.
func (s *Service) Partition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	id := ContentID(globalID)
	rows, err := s.contents.Read(ctx, id, ContentQuery{Request: key})
	if err != nil {
		return nil, err
	}
	before := rows.Header
	claim := func(row *commit.RequestRow) *commit.Attempt {
		h := Header{Content: Content{ID: id}, State: commit.Void, Seq: before.Seq + 1, MTS: s.engine.MTS(before.MTS)}
		a := s.contentAttempt(inFlight{}, &ContentCommit{ID: id, Base: before.Seq, Header: h, Request: row})
		return &commit.Attempt{Entry: a.entry.Entry, Commit: a.commit}
	}
	return &commit.Partition{State: before.State, Request: rows.Request, Claim: claim}, nil
}
