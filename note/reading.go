package note

import (
	"context"
	"errors"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/principal"
)

// Branch is a branch of an item as a viewer sees it.
type Branch struct {
	Content              *library.Content
	Number               int
	IsCurrent, IsWorking bool
	CopiedFrom           *int
	CreatedAt            clock.Instant

	// page is the state of the item that the branch was read of.
	page *seen
}

// Key returns the key of the branch.
func (b *Branch) Key() string {
	return urlname.Key{Kind: urlname.Branch, Content: keyOf(b.Content), Branch: b.Number}.String()
}

// keyOf returns the key of an item: its canonical URL, or its id.
func keyOf(c *library.Content) string {
	if c.CanonicalURL != "" {
		return c.CanonicalURL
	}
	return string(c.ID)
}

// RevisionKey identifies a revision of an item.
type RevisionKey struct {
	Branch int
	Locale string // "" is none
	Number int
}

// Revision is a revision of an item as a viewer sees it.
type Revision struct {
	RevisionKey
	Content              *library.Content
	Title                string
	Author               principal.ID
	CreatedAt            clock.Instant
	BaseRevision         *int
	IsCurrent, IsWorking bool // in its locale and branch

	text text
}

// Key returns the key of the revision.
func (r *Revision) Key() string {
	return urlname.Key{Kind: urlname.Revision, Content: keyOf(r.Content), Branch: r.Branch, Locale: r.Locale, Revision: r.Number}.String()
}

// LocaleOrNull returns the locale, or nil if there is none.
func (r *Revision) LocaleOrNull() *string { return localeOrNil(r.Locale) }

func localeOrNil(locale string) *string {
	if locale == "" {
		return nil
	}
	return &locale
}

// Size returns the size of the body in bytes.
func (r *Revision) Size() int { return r.text.Size }

// orNil returns a number, or nil for None.
func orNil(n int) *int {
	if n == None {
		return nil
	}
	return &n
}

// seen is the page of an item as a viewer sees it.
type seen struct {
	*library.Item
	v    *principal.Viewer
	head Head
	// deleted: the viewer's user was deleted, so that nothing of the page is its own.
	deleted bool
}

// see reads an item with its page. It returns nil if the viewer may not see the item, or if the
// item has no page.
func (s *Service) see(ctx context.Context, v *principal.Viewer, id library.ContentID) (*seen, error) {
	all, err := s.seeAll(ctx, v, []library.ContentID{id})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func (s *Service) seeAll(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*seen, error) {
	items, err := s.library.Items(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	deleted, err := s.people.IsDeleted(ctx, v)
	if err != nil {
		return nil, err
	}
	all := make([]*seen, len(ids))
	for i, it := range items {
		if it == nil || it.Header.Kind != library.Note {
			continue
		}
		all[i] = &seen{Item: it, v: v, deleted: deleted}
		if all[i].head, err = DecodeHead(it.Header.Page); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// errChanged reports that an item was changed while its rows were read.
var errChanged = errors.New("page: the item has changed")

// whole calls read with an item as the viewer sees it, and again with a newer state of it if the item was
// changed before all its rows were read (errChanged). So what the viewer may see is decided by the state
// that the rows belong to. p may be nil, for an item that the viewer does not see.
func (s *Service) whole(ctx context.Context, p *seen, read func(p *seen) error) error {
	for range commit.MaxTries {
		err := read(p)
		if err != errChanged {
			return err
		}
		if p, err = s.see(ctx, p.v, p.Header.ID); err != nil {
			return err
		}
	}
	return sched.ErrQueueFull
}

// unchanged returns errChanged if the item has changed since the viewer's rights on it were decided. h is
// its header, of a read that was made after or with that of the rows.
func (p *seen) unchanged(h *library.Header) error {
	if h.Seq != p.Header.Seq {
		return errChanged
	}
	return nil
}

// branchFor returns the number of the requested branch, by default the current or the working one.
// ok is false if there is no such branch, or the viewer may not see it.
func (p *seen) branchFor(number *int, working bool) (n int, ok bool) {
	n = p.head.Current
	if working {
		n = p.head.Working
	}
	if number != nil {
		n = *number
	}
	visitor := !p.Permissions.CanEdit
	return n, p.head.HasBranch(n) && !(visitor && (working || n != p.head.Current))
}

// Branch returns a branch of an item, by default the current or the working one, or nil if there is
// none that the viewer may see.
func (s *Service) Branch(ctx context.Context, v *principal.Viewer, id library.ContentID, number *int, working bool) (*Branch, error) {
	p, err := s.see(ctx, v, id)
	if err != nil || p == nil {
		return nil, err
	}
	var b *Branch
	err = s.whole(ctx, p, func(p *seen) (err error) {
		if p == nil {
			b = nil
			return nil
		}
		n, ok := p.branchFor(number, working)
		if !ok {
			b = nil
			return nil
		}
		b, err = s.branchOf(ctx, p, n)
		return err
	})
	return b, err
}

func (s *Service) branchOf(ctx context.Context, p *seen, n int) (*Branch, error) {
	bs, err := s.branches(ctx, p, []int{n})
	if err != nil {
		return nil, err
	}
	return bs[0], nil
}

// branches reads branches that exist, at most 100.
func (s *Service) branches(ctx context.Context, p *seen, numbers []int) ([]*Branch, error) {
	var keys []library.RowKey
	for _, n := range numbers {
		if n > 1 {
			keys = append(keys, branchKey(n))
		}
	}
	rows := map[library.RowKey]branchRow{}
	if len(keys) > 0 {
		read, err := s.present(ctx, p, keys)
		if err != nil {
			return nil, err
		}
		for _, r := range read {
			if rows[r.RowKey], err = decodeBranch(r.Value); err != nil {
				return nil, err
			}
		}
	}
	bs := make([]*Branch, len(numbers))
	for i, n := range numbers {
		b := &Branch{
			Content: &p.Header.Content, Number: n, IsCurrent: n == p.head.Current, IsWorking: n == p.head.Working,
			CreatedAt: p.Header.CreatedAt, page: p,
		}
		if row, ok := rows[branchKey(n)]; ok {
			b.CreatedAt = row.CreatedAt
			if row.CopiedFrom != 0 {
				b.CopiedFrom = &row.CopiedFrom
			}
		}
		bs[i] = b
	}
	return bs, nil
}

// Locales returns the locales of a branch that have a text which the viewer may see.
func (s *Service) Locales(ctx context.Context, b *Branch) (locales []string, err error) {
	err = s.whole(ctx, b.page, func(p *seen) error {
		locales = nil
		if p == nil {
			return nil
		}
		if _, ok := p.branchFor(&b.Number, false); !ok {
			return nil
		}
		localeRows, err := s.localesOf(ctx, p, b.Number)
		if err != nil {
			return err
		}
		for _, l := range localeRows {
			if l.locale != "" && (p.Permissions.CanEdit || l.Current != None) {
				locales = append(locales, l.locale)
			}
		}
		return nil
	})
	return locales, err
}

// localesOf returns the rows of the locales of a branch.
func (s *Service) localesOf(ctx context.Context, p *seen, branch int) ([]storedLocale, error) {
	localeRows, err := s.localeRows(ctx, p.Header.ID, branch)
	if err != nil {
		return nil, err
	}
	read, err := s.contents.Read(ctx, p.Header.ID, library.ContentQuery{})
	if err != nil {
		return nil, err
	}
	return localeRows, p.unchanged(&read.Header)
}

// Revision returns exactly the revision of a key, or nil if there is none that the viewer may see.
// Visitors see only current ones.
func (s *Service) Revision(ctx context.Context, v *principal.Viewer, id library.ContentID, k RevisionKey) (*Revision, error) {
	p, err := s.see(ctx, v, id)
	if err != nil || p == nil {
		return nil, err
	}
	var r *Revision
	err = s.whole(ctx, p, func(p *seen) (err error) {
		r, err = s.exactly(ctx, p, k)
		return err
	})
	return r, err
}

// exactly is Revision for one state of the item.
func (s *Service) exactly(ctx context.Context, p *seen, k RevisionKey) (*Revision, error) {
	if p == nil {
		return nil, nil
	}
	if _, ok := p.branchFor(&k.Branch, false); !ok {
		return nil, nil
	}
	read, err := s.contents.Read(ctx, p.Header.ID, library.ContentQuery{Rows: []library.RowKey{localeKey(k.Branch, k.Locale)}})
	if err != nil {
		return nil, err
	}
	if err := p.unchanged(&read.Header); err != nil {
		return nil, err
	}
	l, err := decodeLocaleRow(read.Rows[0].Value)
	if err != nil || k.Number < 0 || k.Number > l.Last || !p.Permissions.CanEdit && k.Number != l.Current {
		return nil, err
	}
	return s.revision(ctx, p, k, l)
}

// revision reads a revision that exists.
func (s *Service) revision(ctx context.Context, p *seen, k RevisionKey, l LocaleRow) (*Revision, error) {
	key := revisionKey(k.Branch, k.Locale, k.Number)
	rows, err := s.present(ctx, p, []library.RowKey{key})
	if err != nil {
		return nil, err
	}
	row, err := decodeRevision(rows[0].Value)
	if err != nil {
		return nil, err
	}
	return revisionOfRow(&p.Header.Content, k, l, row), nil
}

// revisionOfRow returns the revision of a row. l is the row of its locale.
func revisionOfRow(c *library.Content, k RevisionKey, l LocaleRow, row revisionRow) *Revision {
	return &Revision{
		RevisionKey: k, Content: c, Title: row.Title, Author: row.Author, CreatedAt: row.CreatedAt,
		BaseRevision: orNil(row.Base), IsCurrent: k.Number == l.Current, IsWorking: k.Number == l.Working, text: row.Text,
	}
}

// present reads rows that exist in the state of an item.
func (s *Service) present(ctx context.Context, p *seen, keys []library.RowKey) ([]library.Row, error) {
	return s.stored(ctx, p.Header.ID, keys, p.unchanged)
}

// stored reads rows that must exist because another row refers to them. A normal read may miss
// them while a commit is pending; then it reads them again serially. If check is not nil, it is called
// with the header of the reading.
func (s *Service) stored(ctx context.Context, id library.ContentID, keys []library.RowKey,
	check func(*library.Header) error) ([]library.Row, error) {
	for _, serial := range []bool{false, true} {
		read, err := s.contents.Read(ctx, id, library.ContentQuery{Rows: keys, Serial: serial})
		if err != nil {
			return nil, err
		}
		if check != nil {
			if err := check(&read.Header); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(read.Rows, func(r library.Row) bool { return r.Value == nil }) {
			return read.Rows, nil
		}
	}
	return nil, errGone
}

// Bodies returns the texts of revisions, in their order.
func (s *Service) Bodies(ctx context.Context, rs []*Revision) ([]string, error) {
	texts := make([]text, len(rs))
	for i, r := range rs {
		texts[i] = r.text
	}
	return s.bodies(ctx, texts)
}

// Body returns the body of a Revision, a Draft or a Suggestion. If it was deleted since that was read, the error
// is CONTENTION: another read does not find it.
func (s *Service) Body(ctx context.Context, of Bodied) (string, error) {
	bodies, err := s.bodies(ctx, []text{of.bodyText()})
	switch {
	case err == error(errGone):
		return "", fault.Contendedf("the text was deleted while it was read; try again")
	case err != nil:
		return "", err
	}
	return bodies[0], nil
}

// Bodied is a Revision, a Draft or a Suggestion: something with a body.
type Bodied interface {
	// Size returns the size of the body in bytes.
	Size() int
	bodyText() text
}

func (r *Revision) bodyText() text { return r.text }

func (g *Suggestion) bodyText() text { return g.text }

func (d *Draft) bodyText() text { return d.row.Text }

// bodies returns the bodies of texts. It reads those that are not in their rows.
func (s *Service) bodies(ctx context.Context, texts []text) ([]string, error) {
	bodies := make([]string, len(texts))
	var ids []TextID
	var at []int
	for i, t := range texts {
		if t.ID == (TextID{}) {
			bodies[i] = t.Body
			continue
		}
		ids, at = append(ids, t.ID), append(at, i)
	}
	for from := 0; from < len(ids); from += MaxTexts {
		some := ids[from:min(from+MaxTexts, len(ids))]
		read, err := s.store.ReadTexts(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, t := range read {
			if t.Item == "" {
				return nil, errGone
			}
			bodies[at[from+i]] = t.Body
		}
	}
	return bodies, nil
}
