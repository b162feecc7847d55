package graph

import (
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/library"
)

// content plans the fields of an item on a page.
func (c *compiler) content(below ast.SelectionSet) plan[*Row] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *Row) []byte {
		switch f.Name {
		case "createdBy":
			c.want.Creators = true
			user := c.user(f.Selections)
			return func(b []byte, r *Row) []byte {
				if r.Creator == nil {
					return appendNull(b)
				}
				return user.append(b, r.Creator)
			}
		case "viewerRole", "viewerCanShare", "viewerCanEdit", "viewerCanManage":
			c.want.Standings = true
			return standingField(f.Name)
		}
		return contentField(f.Name)
	}, "Content", "Node")
}

// contentField writes a field that is a value of the item.
func contentField(name string) func([]byte, *Row) []byte {
	switch name {
	case "id":
		return func(b []byte, r *Row) []byte { return appendString(b, string(r.Node.ID)) }
	case "tenant":
		return func(b []byte, r *Row) []byte { return appendString(b, r.Node.Tenant()) }
	case "kind":
		return func(b []byte, r *Row) []byte { return appendName(b, r.Node.Kind.String()) }
	case "title":
		return func(b []byte, r *Row) []byte { return appendString(b, r.Node.Title) }
	case "description":
		return func(b []byte, r *Row) []byte { return appendStringOrNull(b, r.Node.Description) }
	case "link":
		return func(b []byte, r *Row) []byte { return appendStringOrNull(b, r.Node.Link) }
	case "visibility":
		return func(b []byte, r *Row) []byte { return appendName(b, r.Node.Visibility.String()) }
	case "createdAt":
		return func(b []byte, r *Row) []byte { return appendInstant(b, r.Node.CreatedAt) }
	case "lastModified":
		return func(b []byte, r *Row) []byte { return appendInstant(b, r.Node.LastModified) }
	case "version":
		return func(b []byte, r *Row) []byte { return strconv.AppendInt(b, int64(r.Node.Version), 10) }
	case "expiresAt":
		return func(b []byte, r *Row) []byte {
			if r.Node.ExpiresAt == nil {
				return appendNull(b)
			}
			return appendInstant(b, *r.Node.ExpiresAt)
		}
	}
	return nil
}

// standingField writes a field of what the viewer may do.
func standingField(name string) func([]byte, *Row) []byte {
	switch name {
	case "viewerRole":
		return func(b []byte, r *Row) []byte {
			if r.Standing.Role == library.NoRole {
				return appendNull(b)
			}
			return appendName(b, r.Standing.Role.String())
		}
	case "viewerCanShare":
		return func(b []byte, r *Row) []byte { return appendBool(b, r.Standing.CanShare) }
	case "viewerCanEdit":
		return func(b []byte, r *Row) []byte { return appendBool(b, r.Standing.CanEdit) }
	}
	return func(b []byte, r *Row) []byte { return appendBool(b, r.Standing.CanManage) }
}

// user plans the fields of a creator that are its values. Its address, library
// and groups are asked of the domain, so they are not planned.
func (c *compiler) user(below ast.SelectionSet) plan[*library.User] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *library.User) []byte {
		switch f.Name {
		case "id":
			return func(b []byte, u *library.User) []byte { return appendString(b, string(u.ID)) }
		case "tenant":
			return func(b []byte, u *library.User) []byte { return appendString(b, u.Tenant()) }
		case "displayName":
			return func(b []byte, u *library.User) []byte { return appendString(b, u.DisplayName) }
		case "visibility":
			return func(b []byte, u *library.User) []byte { return appendName(b, u.Visibility.String()) }
		case "createdAt":
			return func(b []byte, u *library.User) []byte { return appendInstant(b, u.CreatedAt) }
		}
		return nil
	}, "User", "Node", "Principal")
}
