package exchange

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// memberIterator reads the active members of one group or of one item, in order of id and a
// page at a time.
type memberIterator struct {
	// page appends the active members of the rows after a principal to hs. last is the last row
	// read, "" at the end.
	page func(ctx context.Context, after principal.ID, hs []holder) (_ []holder, last principal.ID, err error)
	// content is the header that was read with the first page; nil for a group.
	content *library.Header
}

func (s *Service) membersOfGroup(id principal.ID) *memberIterator {
	return &memberIterator{page: func(ctx context.Context, after principal.ID, hs []holder) ([]holder, principal.ID, error) {
		page, err := s.principals.GroupMembersPage(ctx, id, after, input.MaxList, false)
		if err != nil {
			return nil, "", err
		}
		last := principal.ID("")
		for _, m := range page.Members {
			if last = m.Principal; m.Active() {
				hs = append(hs, holder{m.Principal, uint8(m.Role), m.Role == principal.GroupManager})
			}
		}
		if len(page.Members) < input.MaxList {
			last = ""
		}
		hs, err = s.withoutDeleted(ctx, hs)
		return hs, last, err
	}}
}

func (s *Service) membersOfContent(id library.ContentID) *memberIterator {
	r := &memberIterator{}
	r.page = func(ctx context.Context, after principal.ID, hs []holder) ([]holder, principal.ID, error) {
		page, err := s.contents.MembersPage(ctx, id, after, input.MaxList, false)
		if err != nil {
			return nil, "", err
		}
		if after == "" {
			r.content = &page.Header
		}
		last := principal.ID("")
		for _, m := range page.Members {
			if last = m.Principal; m.Active() {
				hs = append(hs, holder{m.Principal, uint8(m.Role), m.Role == library.Manages})
			}
		}
		if len(page.Members) < input.MaxList {
			last = ""
		}
		hs, err = s.withoutDeleted(ctx, hs)
		return hs, last, err
	}
	return r
}

// each calls see with every member until see reports that it has seen enough.
func (r *memberIterator) each(ctx context.Context, see func(holder) (enough bool, err error)) error {
	var after principal.ID
	var hs []holder
	for {
		var err error
		if hs, after, err = r.page(ctx, after, hs[:0]); err != nil {
			return err
		}
		for _, h := range hs {
			if enough, err := see(h); enough || err != nil {
				return err
			}
		}
		if after == "" {
			return nil
		}
	}
}

// first returns the members for the first line of the export: the first MaxList of those that
// mayName accepts, in order of id. If none of them is a manager, the first manager replaces the
// last one of a full list. managed reports whether there is a manager that may be named.
func (r *memberIterator) first(ctx context.Context, mayName func(principal.ID) bool) (own []holder, managed bool, err error) {
	err = r.each(ctx, func(h holder) (bool, error) {
		switch {
		case !mayName(h.principal):
		case len(own) < input.MaxList:
			own, managed = append(own, h), managed || h.manages
		case h.manages:
			own[input.MaxList-1], managed = h, true
		}
		return managed && len(own) == input.MaxList, nil
	})
	return own, managed, err
}

// rest calls write with all members that are not among own, which first returned, MaxList at a
// time.
func (r *memberIterator) rest(ctx context.Context, own []holder, write func([]holder) error) error {
	more := make([]holder, 0, input.MaxList)
	err := r.each(ctx, func(h holder) (bool, error) {
		_, found := slices.BinarySearchFunc(own, h.principal, func(o holder, p principal.ID) int { return cmp.Compare(o.principal, p) })
		if found {
			return false, nil
		}
		if more = append(more, h); len(more) < input.MaxList {
			return false, nil
		}
		err := write(more)
		more = more[:0]
		return false, err
	})
	if err != nil || len(more) == 0 {
		return err
	}
	return write(more)
}

// withoutDeleted returns the members that are not deleted. The rows of the others are being
// removed.
func (s *Service) withoutDeleted(ctx context.Context, hs []holder) ([]holder, error) {
	ps := make([]principal.ID, len(hs))
	for i, h := range hs {
		ps[i] = h.principal
	}
	gone, err := s.people.DeletedOf(ctx, ps)
	if err != nil || len(gone) == 0 {
		return hs, err
	}
	return slices.DeleteFunc(hs, func(h holder) bool { return slices.Contains(gone, h.principal) }), nil
}
