package graph

import (
	"strconv"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// The fields that a plan writes itself, by their names in the schema. If a field is missing here,
// the generated code resolves the whole page, which is correct but slow. A test lists the fields
// for which that is intended.

var connectionFields = map[string]writer[*Page]{
	"bucket": func(b []byte, p *Page) []byte { return appendName(b, p.Bucket.String()) },
}

var edgeFields = map[string]writer[*Row]{
	"cursor": func(b []byte, r *Row) []byte { return append(r.SealedCursor.AppendCursor(append(b, '"')), '"') },
	"role":   func(b []byte, r *Row) []byte { return appendName(b, r.Role.String()) },
}

// sortKey returns the writer of LibraryEdge.sortKey; nil if its argument depends on variables.
func sortKey(field argument) writer[*Row] {
	name, _ := field.fixed.(string)
	order, ok := orderOf(name)
	if !ok || field.value != nil {
		return nil
	}
	return func(b []byte, r *Row) []byte { return appendString(b, r.SortKey(order)) }
}

var contentFields = map[string]writer[*Row]{
	"id":           func(b []byte, r *Row) []byte { return appendString(b, string(r.Node.ID)) },
	"tenant":       func(b []byte, r *Row) []byte { return appendString(b, r.Node.Tenant()) },
	"kind":         func(b []byte, r *Row) []byte { return appendName(b, r.Node.Kind.String()) },
	"title":        func(b []byte, r *Row) []byte { return appendString(b, r.Node.Title) },
	"description":  func(b []byte, r *Row) []byte { return appendStringOrNull(b, r.Node.Description) },
	"link":         func(b []byte, r *Row) []byte { return appendStringOrNull(b, r.Node.Link) },
	"url":          func(b []byte, r *Row) []byte { return appendStringOrNull(b, r.Node.URL()) },
	"visibility":   func(b []byte, r *Row) []byte { return appendName(b, r.Node.Visibility.String()) },
	"createdAt":    func(b []byte, r *Row) []byte { return appendInstant(b, r.Node.CreatedAt) },
	"lastModified": func(b []byte, r *Row) []byte { return appendInstant(b, r.Node.LastModified) },
	"version":      func(b []byte, r *Row) []byte { return strconv.AppendInt(b, int64(r.Node.Version), 10) },
	"expiresAt": func(b []byte, r *Row) []byte {
		if r.Node.ExpiresAt == nil {
			return appendNull(b)
		}
		return appendInstant(b, *r.Node.ExpiresAt)
	},
}

// permissionsFields are the fields of an item that describe the viewer's permissions.
var permissionsFields = map[string]writer[*Row]{
	"viewerRole": func(b []byte, r *Row) []byte {
		if r.Permissions.Role == library.NoRole {
			return appendNull(b)
		}
		return appendName(b, r.Permissions.Role.String())
	},
	"viewerCanShare":  func(b []byte, r *Row) []byte { return appendBool(b, r.Permissions.CanShare) },
	"viewerCanEdit":   func(b []byte, r *Row) []byte { return appendBool(b, r.Permissions.CanEdit) },
	"viewerCanManage": func(b []byte, r *Row) []byte { return appendBool(b, r.Permissions.CanManage) },
	"viewerCanDelete": func(b []byte, r *Row) []byte { return appendBool(b, r.Permissions.CanDelete()) },
}

// principalFields are the fields that users and groups have in common.
var principalFields = map[string]writer[*principal.Header]{
	"id":          func(b []byte, h *principal.Header) []byte { return appendString(b, string(h.ID)) },
	"tenant":      func(b []byte, h *principal.Header) []byte { return appendString(b, h.Tenant()) },
	"displayName": func(b []byte, h *principal.Header) []byte { return appendString(b, h.DisplayName) },
	"visibility":  func(b []byte, h *principal.Header) []byte { return appendName(b, h.Visibility.String()) },
	"createdAt":   func(b []byte, h *principal.Header) []byte { return appendInstant(b, h.CreatedAt) },
}

var revisionFields = map[string]writer[*note.Revision]{
	"key":       func(b []byte, r *note.Revision) []byte { return appendString(b, r.Key()) },
	"branch":    func(b []byte, r *note.Revision) []byte { return strconv.AppendInt(b, int64(r.Branch), 10) },
	"number":    func(b []byte, r *note.Revision) []byte { return strconv.AppendInt(b, int64(r.Number), 10) },
	"locale":    func(b []byte, r *note.Revision) []byte { return appendStringOrNull(b, r.LocaleOrNull()) },
	"title":     func(b []byte, r *note.Revision) []byte { return appendString(b, r.Title) },
	"createdAt": func(b []byte, r *note.Revision) []byte { return appendInstant(b, r.CreatedAt) },
	"baseRevision": func(b []byte, r *note.Revision) []byte {
		if r.BaseRevision == nil {
			return appendNull(b)
		}
		return strconv.AppendInt(b, int64(*r.BaseRevision), 10)
	},
	"isCurrent": func(b []byte, r *note.Revision) []byte { return appendBool(b, r.IsCurrent) },
	"isWorking": func(b []byte, r *note.Revision) []byte { return appendBool(b, r.IsWorking) },
}

var countFields = map[string]writer[*library.Count]{
	"value": func(b []byte, n *library.Count) []byte { return strconv.AppendInt(b, int64(n.Value), 10) },
	"precision": func(b []byte, n *library.Count) []byte {
		if n.Exact {
			return appendName(b, "EXACT")
		}
		return appendName(b, "AT_LEAST")
	},
}

var pageInfoFields = map[string]writer[*cursor.PageInfo]{
	"hasNextPage":     func(b []byte, p *cursor.PageInfo) []byte { return appendBool(b, p.HasNextPage) },
	"hasPreviousPage": func(b []byte, p *cursor.PageInfo) []byte { return appendBool(b, p.HasPreviousPage) },
	"startCursor":     func(b []byte, p *cursor.PageInfo) []byte { return appendStringOrNull(b, p.StartCursor()) },
	"endCursor":       func(b []byte, p *cursor.PageInfo) []byte { return appendStringOrNull(b, p.EndCursor()) },
}
