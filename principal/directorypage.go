package principal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/id"
)

// Search requests a page of the users and groups of a tenant.
type Search struct {
	cursor.PageArgs
	Tenant string
	// Prefix is the beginning of their names, as a person typed it; nil or empty: all.
	Prefix *string
}

// Connection is a page of the users and groups of a tenant, and Edge one of its edges.
type (
	Connection = cursor.Connection[Principal]
	Edge       = cursor.Edge[Principal]
)

// FindPrincipals lists the users and groups of a tenant that v may see and that have a name with
// the prefix, in the order of these names, then of ids; without a prefix all of them, by their
// display names. Hidden principals leave no trace except that a page may end early (directoryBudget).
// Only viewers of the tenant and global administrators may search its directory.
func (s *Service) FindPrincipals(ctx context.Context, v *Viewer, q Search) (*Connection, error) {
	if !v.SignedIn() {
		return nil, fault.SignInFirst()
	}
	p, err := q.Forwards()
	if err != nil {
		return nil, err
	}
	tenant := id.Lower(q.Tenant)
	if err := id.CheckTenant(tenant); err != nil {
		return nil, fault.BadInputf("tenant: %s", MessageOf(err))
	}
	if v.User.Tenant() != tenant && !v.GlobalAdmin {
		return nil, fault.Forbiddenf(nil, "you may look up the users and groups of your own tenant, %s", v.User.Tenant())
	}
	prefix := ""
	if q.Prefix != nil {
		if err := checkPrefix(*q.Prefix); err != nil {
			return nil, fault.BadInputf("prefix: %s", MessageOf(err))
		}
		prefix = foldName(*q.Prefix)
	}
	if !v.Administers(tenant) {
		// The viewer's groups decide about hidden groups. They are resolved in any case, so that
		// the response time does not reveal whether the prefix finds one.
		if _, err := s.GroupsOf(ctx, v); err != nil {
			return nil, err
		}
	}
	l := s.newDirectoryList(v, tenant, prefix)
	shown, info, err := l.Page(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &Connection{PageInfo: info, Edges: make([]*Edge, len(shown))}
	for i, it := range shown {
		c.Edges[i] = &Edge{Node: Of(*it.Header), Seal: l.Cursor(it.At)}
	}
	return c, nil
}

// MessageOf returns the message of an error of a check.
func MessageOf(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

// newDirectoryList returns the list of the principals that a folded prefix finds. Its cursors
// are bound to tenant, prefix and class of viewer.
func (s *Service) newDirectoryList(v *Viewer, tenant, prefix string) *List {
	// A prefix may be longer than a binding allows.
	sum := sha256.Sum256([]byte(prefix))
	l := &List{s: s, v: v, budget: directoryBudget,
		bound: cursor.Binding(cursor.OfDirectory, cursor.Class(directoryClass(v, tenant)), tenant+"/"+string(sum[:]))}
	l.read = func(ctx context.Context, after ListPosition, limit int) ([]Listed, bool, error) {
		q := DirectorySlice{Tenant: tenant, Prefix: cutName(prefix), Limit: limit}
		if after != "" {
			position := directoryPosition(after)
			q.After = &position
		}
		rows, err := s.directory.PageDirectory(ctx, q)
		if err != nil {
			return nil, false, fmt.Errorf("read the directory: %w", err)
		}
		ls, err := s.directoryRows(ctx, v, rows)
		return ls, len(rows) < limit, err
	}
	l.fits = func(row *Listed) bool {
		name, ok := directoryName(row.Header, prefix)
		return ok && name == directoryPosition(row.At).Name
	}
	return l
}

// directoryClass returns the class of viewers that share cursors of a tenant's directory. What
// each may see is decided row by row.
func directoryClass(v *Viewer, tenant string) Visibility {
	if v.Administers(tenant) {
		return Private
	}
	return LoggedIn
}

// directoryRows converts rows to those of a list. A row whose visibility hides its principal
// from v is skipped without reading the header: like a library's bucket, the row follows a
// change of visibility after the fan-out. The header decides what is shown.
func (s *Service) directoryRows(ctx context.Context, v *Viewer, rows []DirectoryRow) ([]Listed, error) {
	ids, hs := make([]ID, len(rows)), make([]*Header, len(rows))
	for i, r := range rows {
		ids[i], hs[i] = r.Principal, &Header{ID: r.Principal, Visibility: r.Visibility, State: commit.Live}
	}
	sees, err := s.seesEach(ctx, v, ids, hs)
	if err != nil {
		return nil, err
	}
	ls := make([]Listed, len(rows))
	for i := range rows {
		ls[i] = Listed{At: listPosition(rows[i].Position()), ID: ids[i], Active: sees[i]}
	}
	return ls, nil
}

// listPosition converts a position of the directory to that of a list. No name contains the
// character between its parts, which sorts before all others.
func listPosition(p DirectoryPosition) ListPosition {
	return ListPosition(p.Name + "\x00" + string(p.Principal))
}

func directoryPosition(at ListPosition) DirectoryPosition {
	name, id, _ := strings.Cut(string(at), "\x00")
	return DirectoryPosition{Name: name, Principal: ID(id)}
}
