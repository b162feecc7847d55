package listing

import (
	"context"
	"slices"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/library"
	"carrel/principal"
)

// Limits of a filtered page. It ends when it has scanned MaxFilterScan entries, including those
// that it scans to learn whether there is anything on the other side of its cursor, or compared
// maxFilterTexts bytes of titles and descriptions. Reading an entry takes 3 us of CPU on the
// embedded store, and comparing a byte 10 ns.
const (
	MaxFilterScan  = 2_000
	maxFilterTexts = 4 << 20
	// The number of entries that are read at once doubles from the first to the maximum: many
	// filters find enough among few, and a round trip to a remote store takes longer than reading
	// more. A header has at most 45 KB.
	firstFilterBatch = 50
	maxFilterBatch   = 250
	// maxFilterList is the maximum number of values in a list; no enum has as many.
	maxFilterList = 10
)

// conditions are a library.LibraryFilter that was checked.
type conditions struct {
	search       *search // nil: any text
	kinds        []library.ContentKind
	visibilities []principal.Visibility
	roles        []library.ContentRole
	creator      principal.ID // "": any
	// nothing: no item can match.
	nothing bool
}

// conditions checks a filter; nil if it has no condition. Its errors are BAD_USER_INPUT.
func (s *Service) conditions(f *library.LibraryFilter) (*conditions, error) {
	if f == nil {
		return nil, nil
	}
	for _, list := range []struct {
		name  string
		given bool
		n     int
	}{
		{"kinds", f.Kinds != nil, len(f.Kinds)},
		{"visibilities", f.Visibilities != nil, len(f.Visibilities)},
		{"roles", f.Roles != nil, len(f.Roles)},
	} {
		switch {
		case list.given && list.n == 0:
			return nil, fault.BadInputf("filter.%[1]s is empty, so that no item could match: leave it out, or make it null, for items of any %[1]s",
				list.name)
		case list.n > maxFilterList:
			return nil, fault.BadInputf("filter.%s has %d values; at most %d are allowed: name each value once", list.name, list.n, maxFilterList)
		}
	}
	c := &conditions{kinds: f.Kinds, visibilities: f.Visibilities, roles: f.Roles}
	if f.Text != nil {
		var err error
		if c.search, err = s.folding.newSearch(*f.Text); err != nil {
			return nil, err
		}
	}
	if f.CreatedBy != nil {
		if err := c.setCreator(*f.CreatedBy); err != nil {
			return nil, err
		}
	}
	if c.search == nil && c.kinds == nil && c.visibilities == nil && c.roles == nil && c.creator == "" && !c.nothing {
		return nil, nil
	}
	return c, nil
}

// setCreator parses the id of a creator. If it is not the id of a user, no item matches.
func (c *conditions) setCreator(createdBy string) (err error) {
	switch id.KindOf(createdBy) {
	case id.Malformed:
		return fault.BadInputf("filter.createdBy is malformed; the id of a user has the form u:<tenant>:<name>")
	case id.User:
		c.creator, err = principal.ParseID(createdBy)
	default:
		c.nothing = true
	}
	return err
}

// match reports whether an item meets the conditions. rows contain the owner's member row.
func (c *conditions) match(rows *library.ContentRows) bool {
	h := &rows.Header
	return oneOf(c.kinds, h.Kind) && oneOf(c.visibilities, h.Visibility) && oneOf(c.roles, rows.Members[0].Role) &&
		(c.creator == "" || c.creator == h.Creator) && (c.search == nil || c.search.matches(h.Title, descriptionOf(h)))
}

// descriptionOf returns the description of an item, "" if there is none.
func descriptionOf(h *library.Header) string {
	if h.Description == nil {
		return ""
	}
	return *h.Description
}

// oneOf reports whether v is in the list, or the list is nil.
func oneOf[T comparable](list []T, v T) bool { return list == nil || slices.Contains(list, v) }

// hideCreator makes nothing match if the filter names a creator whom the viewer does not see: the
// viewer gets null as the createdBy of that creator's items.
func (p *page) hideCreator(ctx context.Context) error {
	c := p.filter
	if c == nil || c.creator == "" || p.q.NoEntries {
		return nil
	}
	found, err := p.s.people.Principals(ctx, p.v, []principal.ID{c.creator})
	if err != nil {
		return err
	}
	if c.nothing = found[0] == nil; c.nothing && p.w != nil {
		p.w.pending, p.w.end = nil, p.last(p.w)
	}
	return nil
}
