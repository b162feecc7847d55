package library

import (
	"context"
	"slices"
)

// roster reads the active members of one group or of one item, in order of id
// and a page at a time.
type roster struct {
	// page adds the active ones of the rows after a principal to hs. last is the
	// last row read, empty at the end.
	page func(ctx context.Context, after PrincipalID, hs []holder) (_ []holder, last PrincipalID, err error)
	// content is the header that came with the first page; nil of a group.
	content *Header
}

func (s *Service) rosterOfGroup(id PrincipalID) *roster {
	return &roster{page: func(ctx context.Context, after PrincipalID, hs []holder) ([]holder, PrincipalID, error) {
		page, err := s.store.GroupMembersPage(ctx, id, after, MaxList, false)
		if err != nil {
			return nil, "", err
		}
		last := PrincipalID("")
		for _, m := range page.Members {
			if last = m.Principal; m.Active() {
				hs = append(hs, holder{m.Principal, uint8(m.Role), m.Role == GroupManager})
			}
		}
		if len(page.Members) < MaxList {
			last = ""
		}
		return hs, last, nil
	}}
}

func (s *Service) rosterOfContent(id ContentID) *roster {
	r := &roster{}
	r.page = func(ctx context.Context, after PrincipalID, hs []holder) ([]holder, PrincipalID, error) {
		page, err := s.store.MembersPage(ctx, id, after, MaxList, false)
		if err != nil {
			return nil, "", err
		}
		if after == "" {
			r.content = &page.Header
		}
		last := PrincipalID("")
		for _, m := range page.Members {
			if last = m.Principal; m.Active() {
				hs = append(hs, holder{m.Principal, uint8(m.Role), m.Role == Manages})
			}
		}
		if len(page.Members) < MaxList {
			last = ""
		}
		return hs, last, nil
	}
	return r
}

// each calls see with every member until it says that it has seen enough.
func (r *roster) each(ctx context.Context, see func(holder) (enough bool, err error)) error {
	var after PrincipalID
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

// first are the members that can be told at once: the first MaxList of those
// that may be named, in order of id. Where none of them manages, the last one
// of a full list gives way to the first one who does; where nobody who may be
// named does, there are none.
func (r *roster) first(ctx context.Context, mayName func(PrincipalID) bool) ([]holder, error) {
	var own []holder
	managed := false
	err := r.each(ctx, func(h holder) (bool, error) {
		switch {
		case !mayName(h.principal):
		case len(own) < MaxList:
			own, managed = append(own, h), managed || h.manages
		case h.manages:
			own[MaxList-1], managed = h, true
		}
		return managed && len(own) == MaxList, nil
	})
	if err != nil || !managed {
		return nil, err
	}
	return own, nil
}

// rest calls tell with all members that are not among own, which first gave,
// MaxList at a time.
func (r *roster) rest(ctx context.Context, own []holder, tell func([]holder) error) error {
	more := make([]holder, 0, MaxList)
	err := r.each(ctx, func(h holder) (bool, error) {
		_, told := slices.BinarySearchFunc(own, h.principal, func(o holder, p PrincipalID) int { return compareIDs(o.principal, p) })
		if told {
			return false, nil
		}
		if more = append(more, h); len(more) < MaxList {
			return false, nil
		}
		err := tell(more)
		more = more[:0]
		return false, err
	})
	if err != nil || len(more) == 0 {
		return err
	}
	return tell(more)
}
