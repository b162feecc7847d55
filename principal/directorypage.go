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

// Search asks for a page of the users and groups of a tenant.
type Search struct {
	cursor.PageArgs
	Tenant string
	// Prefix is what their names begin with, as somebody typed it; nil or empty: all.
	Prefix *string
}

// Connection is a page of the users and groups of a tenant.
type Connection struct {
	Edges    []*Edge
	PageInfo cursor.PageInfo
}

// Nodes are the principals of the edges.
func (c *Connection) Nodes() []Principal {
	return NodesOf(c.Edges, func(e *Edge) Principal { return e.Node })
}

// Edge is a user or a group that was found.
type Edge struct {
	Node Principal
	seal func() string
}

// Cursor is the place of the edge.
func (e *Edge) Cursor() string { return e.seal() }

// FindPrincipals lists the users and groups of a tenant that v may see and that
// the prefix begins, in the order of the names at which it does, then of ids;
// without a prefix all of them, by their display names. Who is hidden leaves no
// trace but that a page may be cut short (listBudget). Only who is of the tenant
// may ask, and global administrators: the directory of a tenant is its own.
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
	if err := s.searchable(ctx); err != nil {
		return nil, err
	}
	if !v.Administers(tenant) {
		// They decide about hidden groups. Resolved in any case, they do not tell by
		// the time of the answer whether the prefix finds one.
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
		c.Edges[i] = &Edge{Node: Of(*it.Header), seal: l.Cursor(it.At)}
	}
	return c, nil
}

// MessageOf is what an error of a check says.
func MessageOf(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

// newDirectoryList is the list of those whom a folded prefix begins. Its
// cursors are bound to tenant, prefix and class of viewer.
func (s *Service) newDirectoryList(v *Viewer, tenant, prefix string) *List {
	// A prefix may be longer than what a binding holds.
	sum := sha256.Sum256([]byte(prefix))
	l := &List{s: s, v: v, bound: cursor.Binding(cursor.OfDirectory, cursor.Class(directoryClass(v, tenant)), tenant+"/"+string(sum[:]))}
	l.read = func(ctx context.Context, after ListPlace, limit int) ([]Listed, bool, error) {
		q := DirectorySlice{Tenant: tenant, Prefix: cutName(prefix), Limit: limit}
		if after != "" {
			place := directoryPlaceOf(after)
			q.After = &place
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
		return ok && name == directoryPlaceOf(row.At).Name
	}
	return l
}

// directoryClass is the class of viewers that read a tenant's directory alike,
// as far as a cursor is concerned; what each may see is decided row by row.
func directoryClass(v *Viewer, tenant string) Visibility {
	if v.Administers(tenant) {
		return Private
	}
	return LoggedIn
}

// directoryRows are rows as a list has them. A row that tells of a visibility
// by which v would not see its principal is passed over without reading the
// header: like a library's bucket it follows a change of visibility with the
// fan-out. What is shown is decided by the header.
func (s *Service) directoryRows(ctx context.Context, v *Viewer, rows []DirectoryRow) ([]Listed, error) {
	ls := make([]Listed, len(rows))
	for i := range rows {
		r := &rows[i]
		sees, err := s.Sees(ctx, v, r.Principal, &Header{ID: r.Principal, Visibility: r.Visibility, State: commit.Live})
		if err != nil {
			return nil, err
		}
		ls[i] = Listed{At: placeInDirectory(r.Place()), ID: r.Principal, Active: sees}
	}
	return ls, nil
}

// placeInDirectory is a place of the directory as a list has it. No name holds
// the character between its parts, which sorts before all others.
func placeInDirectory(p DirectoryPlace) ListPlace {
	return ListPlace(p.Name + "\x00" + string(p.Principal))
}

func directoryPlaceOf(at ListPlace) DirectoryPlace {
	name, id, _ := strings.Cut(string(at), "\x00")
	return DirectoryPlace{Name: name, Principal: ID(id)}
}
