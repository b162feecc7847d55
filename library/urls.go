package library

import (
	"context"
	"errors"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/core/urlname"
	"carrel/principal"
)

// An item owns its URL by a claim (docs/unique-names.md). Its header decides: URL and state are
// written in one compare-and-set, based on a header that was read before the claim was taken.

// MoveContent is the input of Service.MoveContent.
type MoveContent struct {
	ID string
	// URL is null to remove the URL; it must be set.
	URL             input.Optional[*string]
	ExpectedVersion *int
	IdempotencyKey  *string

	url string // the canonical form
}

// checkURL returns the canonical form of a URL that a caller sets on an item. Its error is
// INVALID.
func checkURL(url string) (string, error) {
	canonical, err := urlname.Canonical(url)
	if err != nil {
		var e *urlname.Error
		if errors.As(err, &e) && e.TooLong {
			return "", fault.TooLongf(nil, "%s", err)
		}
		return "", fault.Invalidf(nil, "%s", err)
	}
	return canonical, nil
}

// check returns the item that the input names, and the errors of the input except those of its
// idempotency key.
func (in *MoveContent) check() (ContentID, fault.List) {
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	switch {
	case !in.URL.Set:
		faults = append(faults, fault.Emptyf([]string{"url"}, "give the url to move to, or null to remove the url"))
	case in.URL.Value != nil:
		in.url, err = checkURL(*in.URL.Value)
		faults.Add(err, "url")
	}
	return id, faults
}

// MoveContent gives an item another canonical URL, or removes its URL. Once the move is decided,
// the new URL names the item and the old one no longer does. Neither its version nor its position
// in libraries changes. Only managers may move an item.
func (s *Service) MoveContent(ctx context.Context, v *principal.Viewer, in MoveContent) (*ContentOutcome, error) {
	defer v.Forget()
	id, faults := in.check()
	m, err := s.people.BeginAsActor(v, id.Tenant(), commit.Call{Name: "moveContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeContent(ctx, contentChange{Mutation: m, v: v, id: id, path: "id"},
		func(ctx context.Context, t *target) (*attempt, int, error) {
			if err := s.requireContentManager(ctx, v, t, "id"); err != nil {
				return nil, 0, err
			}
			if err := requireVersion(&t.header, in.ExpectedVersion); err != nil {
				return nil, 0, err
			}
			return s.planMove(ctx, &t.header, in.url, m.Request)
		})
}

// planMove takes the claim of the new URL and plans the change of the header. It also returns
// the number of libraries that the change concerns.
func (s *Service) planMove(ctx context.Context, h *Header, url string, r *commit.Request) (*attempt, int, error) {
	if url == h.CanonicalURL && r == nil {
		return nothingToChange, 0, nil
	}
	after := *h
	after.Seq, after.MTS, after.CanonicalURL = h.Seq+1, s.engine.MTS(h.MTS), url
	e, libraries := inFlight{Causes: reasonForAll(ReasonUpdated)}, 0
	if url != h.CanonicalURL {
		e.Scope, libraries = commit.ScopeAll, h.Members
	}
	a := s.contentAttempt(e, &ContentCommit{ID: h.ID, Base: h.Seq, Header: after,
		Request: r.Row(s.engine.Now(), keptAnswer{Libraries: libraries, Seq: after.Seq}.encode())})
	if url == h.CanonicalURL {
		return a, 0, nil
	}
	if h.CanonicalURL != "" {
		var err error
		if a.former, err = s.claims.Former(ctx, claim.URL(h.Tenant(), h.CanonicalURL), string(h.ID)); err != nil {
			return nil, 0, err
		}
	}
	return a, libraries, s.takeURL(ctx, h.ID, url)
}

// takeURL takes the claim of a URL for an item whose header has been read; "" is no URL. Its
// error is TAKEN at url if another item has it.
func (s *Service) takeURL(ctx context.Context, id ContentID, url string) error {
	if url == "" {
		return nil
	}
	err := s.claims.Take(ctx, claim.URL(id.Tenant(), url), string(id), s.claims.Until())
	if errors.Is(err, claim.ErrTaken) {
		return urlTaken()
	}
	return err
}

func urlTaken() *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"url"},
		Msg: "another item has this url; choose another one"}
}

// namesTaken returns the error of a creation whose name is in use: TAKEN for the name, and for the
// URL if another item has it.
func (s *Service) namesTaken(ctx context.Context, id ContentID, url string) error {
	faults := fault.List{{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"name"},
		Msg: "this name is taken; choose another one, or leave it out"}}
	if url == "" {
		return faults
	}
	taken, err := s.claims.Taken(ctx, claim.URL(id.Tenant(), url), string(id))
	switch {
	case err != nil:
		return err
	case taken:
		faults = append(faults, urlTaken())
	}
	return faults
}

// formerURL returns the claim that the deletion of an item leaves behind; nil if it has no URL.
func formerURL(h *Header) *claim.Former {
	if h.CanonicalURL == "" {
		return nil
	}
	return &claim.Former{Key: claim.URL(h.Tenant(), h.CanonicalURL), Record: string(h.ID)}
}

// urlRecord reports to package claim which URL an item owns. It implements claim.Record.
type urlRecord struct{ s *Service }

// URLRecord returns how items own URLs.
func URLRecord(s *Service) claim.Record { return urlRecord{s} }

// Look implements claim.Record.
func (r urlRecord) Look(ctx context.Context, record string, k claim.Key) (claim.Look, error) {
	rows, err := r.s.contents.Read(ctx, ContentID(record), ContentQuery{Serial: true})
	if err != nil {
		return claim.Look{}, err
	}
	h := &rows.Header
	look := claim.Look{Base: h.Seq}
	switch {
	case h.State == commit.Deleted:
		look.Status = claim.Ended
	case h.State != commit.Live || h.CanonicalURL == "" || claim.URL(ContentID(record).Tenant(), h.CanonicalURL) != k:
	case h.Exists(r.s.engine.Now()):
		look.Status = claim.Held
	default:
		look.Status = claim.Lapsed
	}
	return look, nil
}

// Fence implements claim.Record.
func (r urlRecord) Fence(ctx context.Context, record string, base int64) (bool, error) {
	id := ContentID(record)
	rows, err := r.s.contents.Read(ctx, id, ContentQuery{Serial: true})
	if err != nil || rows.Header.Seq != base {
		return false, err
	}
	c := r.s.fenceOf(id, &rows.Header)
	c.Writer = r.s.engine.NewEntryID()
	verdict, err := r.s.contents.Commit(ctx, c)
	return err == nil && verdict.Applied, err
}

// End implements claim.Record: it deletes an item that has expired, as its own expiry does.
func (r urlRecord) End(ctx context.Context, record string) error {
	rows, err := r.s.contents.Read(ctx, ContentID(record), ContentQuery{Serial: true})
	if err != nil {
		return err
	}
	h := &rows.Header
	if h.State != commit.Live || h.ExpiresAt == nil || *h.ExpiresAt > r.s.engine.Now() {
		return nil
	}
	_, err = r.s.expire(ctx, commit.Reminder{At: *h.ExpiresAt, Kind: commit.Content, Key: record, MTS: h.MTS})
	return err
}

// ContentByURL returns the item that a canonical URL names in a tenant, by default the viewer's
// own. It returns nil if there is none that the viewer may see.
func (s *Service) ContentByURL(ctx context.Context, v *principal.Viewer, url string, tenant *string) (*Content, error) {
	canonical, err := urlname.Canonical(url)
	if err != nil {
		return nil, fault.BadInputf("%s", err)
	}
	in, err := tenantOf(v, tenant)
	if err != nil {
		return nil, err
	}
	record, err := s.claims.Candidate(ctx, claim.URL(in, canonical))
	if err != nil {
		return nil, err
	}
	named := ContentID(record)
	if record == "" {
		// An item that the viewer may not see costs the same reads as one that does not exist.
		named = ContentID("c:" + in + ":/")
	}
	found, err := s.Contents(ctx, v, []ContentID{named})
	if err != nil || found[0] == nil || found[0].CanonicalURL != canonical {
		return nil, err
	}
	return found[0], nil
}

// tenantOf returns the tenant of a look-up by name. A viewer without a tenant must name one.
func tenantOf(v *principal.Viewer, tenant *string) (string, error) {
	switch {
	case tenant != nil:
		if err := id.CheckTenant(*tenant); err != nil {
			return "", fault.BadInputf("%s", principal.MessageOf(err))
		}
		return *tenant, nil
	case v.SignedIn():
		return v.User.Tenant(), nil
	}
	return "", fault.BadInputf("name the tenant: you are not signed in")
}
