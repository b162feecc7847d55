package note

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// BranchConnection is a page of the branches of an item, and BranchEdge one of its edges.
type (
	BranchConnection = cursor.Connection[*Branch]
	BranchEdge       = cursor.Edge[*Branch]
)

// Branches lists the branches of an item by number. Visitors see only the current one.
func (s *Service) Branches(ctx context.Context, v *principal.Viewer, id library.ContentID,
	args cursor.PageArgs) (*BranchConnection, error) {
	if _, err := args.Forwards(); err != nil {
		return nil, err
	}
	p, err := s.see(ctx, v, id)
	if err != nil {
		return nil, err
	}
	var c *BranchConnection
	err = s.whole(ctx, p, func(p *seen) (err error) {
		c, err = s.branchesOf(ctx, id, p, args)
		return err
	})
	return c, err
}

// branchesOf is Branches for one state of the item; nil: the viewer does not see it.
func (s *Service) branchesOf(ctx context.Context, id library.ContentID, p *seen, args cursor.PageArgs) (*BranchConnection, error) {
	numbers, editor := []int(nil), false
	if p != nil {
		numbers, editor = []int{p.head.Current}, p.Permissions.CanEdit
		if editor {
			numbers = count(1, p.head.Last)
		}
	}
	l, err := s.newList(cursor.OfBranches, classOf(editor), string(id), args)
	if err != nil {
		return nil, err
	}
	if l.after != "" {
		after, err := strconv.Atoi(l.after)
		if err != nil {
			return nil, errRow
		}
		numbers = slices.DeleteFunc(numbers, func(n int) bool { return n <= after })
	}
	more := len(numbers) > l.page.Size
	bs, err := s.branches(ctx, p, numbers[:min(len(numbers), l.page.Size)])
	if err != nil {
		return nil, err
	}
	return connect(l, bs, func(b *Branch) string { return strconv.Itoa(b.Number) }, more, ""), nil
}

// count returns the numbers from first to last, inclusive.
func count(first, last int) []int {
	var ns []int
	for n := first; n <= last; n++ {
		ns = append(ns, n)
	}
	return ns
}

// RevisionConnection is a page of the revisions of a branch, and RevisionEdge one of its edges.
type (
	RevisionConnection = cursor.Connection[*Revision]
	RevisionEdge       = cursor.Edge[*Revision]
)

// Revisions lists the revisions of a branch by locale, beginning with text without a locale, and
// the newest of each locale first. If locale is not nil, it lists only that one. Visitors see only
// current revisions.
//
// The numbers of revisions have no gaps, so the cost of a page does not depend on how many there are.
func (s *Service) Revisions(ctx context.Context, b *Branch, locale *string, args cursor.PageArgs) (*RevisionConnection, error) {
	var faults fault.List
	only := checkLocale(&faults, locale)
	if faults != nil {
		return nil, fault.BadInputf("%s", faults[0].Msg)
	}
	var c *RevisionConnection
	err := s.whole(ctx, b.page, func(p *seen) (err error) {
		c, err = s.revisionsOf(ctx, p, b, locale != nil, only, args)
		return err
	})
	return c, err
}

// revisionsOf is Revisions for one state of the item; nil: the viewer does not see it.
func (s *Service) revisionsOf(ctx context.Context, p *seen, b *Branch, one bool, only string,
	args cursor.PageArgs) (*RevisionConnection, error) {
	owner := string(b.Content.ID) + "#" + strconv.Itoa(b.Number)
	if one {
		owner += "/" + only
	}
	editor, sees := p != nil && p.Permissions.CanEdit, false
	if p != nil {
		_, sees = p.branchFor(&b.Number, false)
	}
	l, err := s.newList(cursor.OfRevisions, classOf(editor), owner, args)
	if err != nil || !sees {
		return &RevisionConnection{}, err
	}
	localeRows, err := s.localeRows(ctx, p.Header.ID, b.Number)
	if err != nil {
		return nil, err
	}
	if one {
		localeRows = slices.DeleteFunc(localeRows, func(l storedLocale) bool { return l.locale != only })
	}
	from, number, err := revisionPosition(l.after)
	if err != nil {
		return nil, err
	}
	shown := numbers(editor, localeRows, from, number, l.page.Size+1)
	more := len(shown) > l.page.Size
	rs, err := s.revisions(ctx, p, b.Number, shown[:min(len(shown), l.page.Size)])
	if err != nil {
		return nil, err
	}
	return connect(l, rs, func(r *Revision) string { return r.Locale + "/" + strconv.Itoa(r.Number) }, more, ""), nil
}

// revisionPosition parses a position in a list of revisions. number is None for the start.
func revisionPosition(at string) (locale string, number int, err error) {
	if at == "" {
		return "", None, nil
	}
	locale, digits, _ := strings.Cut(at, "/")
	if number, err = strconv.Atoi(digits); err != nil {
		return "", None, errRow
	}
	return locale, number, nil
}

// numbered is the number of a revision in a locale.
type numbered struct {
	storedLocale
	number int
}

// numbers returns at most limit numbers of revisions of a branch after a position. Visitors see current
// ones only.
func numbers(editor bool, localeRows []storedLocale, after string, number, limit int) (found []numbered) {
	for _, l := range localeRows {
		if number != None && l.locale < after {
			continue
		}
		last, first := l.Last, 0
		if !editor {
			last, first = l.Current, max(0, l.Current)
		}
		if number != None && l.locale == after {
			last = min(last, number-1)
		}
		for n := last; n >= first && len(found) < limit; n-- {
			found = append(found, numbered{l, n})
		}
	}
	return found
}

// revisions reads revisions that exist.
func (s *Service) revisions(ctx context.Context, p *seen, branch int, shown []numbered) ([]*Revision, error) {
	if len(shown) == 0 {
		return nil, nil
	}
	keys := make([]library.RowKey, len(shown))
	for i, n := range shown {
		keys[i] = revisionKey(branch, n.locale, n.number)
	}
	rows, err := s.present(ctx, p, keys)
	if err != nil {
		return nil, err
	}
	rs := make([]*Revision, len(rows))
	for i, n := range shown {
		row, err := decodeRevision(rows[i].Value)
		if err != nil {
			return nil, err
		}
		rs[i] = revisionOfRow(&p.Header.Content, RevisionKey{branch, n.locale, n.number}, n.LocaleRow, row)
	}
	return rs, nil
}
