package note

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/principal"
)

// MaxDrafts is how many drafts a user may have.
const MaxDrafts = 1000

// Draft is a draft. Only its author sees it.
type Draft struct {
	Content      *library.Content
	Author       principal.ID
	Branch       int
	Locale       string // "" is none
	Title        string // may be empty
	BaseRevision *int
	// Version increases by one with every save.
	Version   int
	UpdatedAt clock.Instant
	// IsStale reports that the base is no longer the current revision.
	IsStale bool

	row   draftRow
	token TextID
}

// Key returns the key of the draft.
func (d *Draft) Key() string {
	return urlname.Key{Kind: urlname.Draft, Content: keyOf(d.Content), User: string(d.Author), Branch: d.Branch, Locale: d.Locale}.String()
}

// LocaleOrNull returns the locale, or nil if there is none.
func (d *Draft) LocaleOrNull() *string { return localeOrNil(d.Locale) }

// Size returns the size of the body in bytes.
func (d *Draft) Size() int { return d.row.Text.Size }

// draftRow is the value of a DraftRow.
type draftRow struct {
	Item      library.ContentID
	At        branchLocale
	Title     string
	Text      text // its ID, if any, is the token
	Base      int  // the revision that the text was made from, or None
	Version   int
	UpdatedAt clock.Instant
}

// draftName returns the name of the draft of an item, branch and locale.
func draftName(item library.ContentID, at branchLocale) string {
	return string(item) + "/" + localeKey(at.Branch, at.Locale).Key
}

func (row draftRow) encode() []byte {
	w := writer{rowVersion}
	w.text(string(row.Item))
	w.ints(row.At.Branch)
	w.text(row.At.Locale)
	w.text(row.Title)
	w.body(row.Text)
	w.ints(row.Base, row.Version)
	w.instant(row.UpdatedAt)
	return w
}

func decodeDraft(b []byte) (row draftRow, err error) {
	r := readRow(b)
	row.Item = library.ContentID(r.Text())
	r.ints(&row.At.Branch)
	row.At.Locale, row.Title, row.Text = r.Text(), r.Text(), r.body()
	r.ints(&row.Base, &row.Version)
	row.UpdatedAt = clock.Instant(r.Int())
	return row, r.end()
}

// publication identifies the publication of a version of a draft. It is the input of the publishing
// request. If a crash prevented the removal of a published draft, this request shows that the draft
// was published.
type publication struct{ Name, Token string }

// publishing begins the publication of a version of a draft. The idempotency key is derived from
// the version, so that it is published only once.
func (s *Service) publishing(user principal.ID, name string, token TextID) (commit.Mutation, error) {
	key := "draft " + token.String()
	p := &key
	m, err := s.engine.Begin(string(user), commit.Call{Name: "publishDraft", Input: &publication{name, token.String()}, Key: &p})
	if err == nil {
		m.Request.Kept = true // the draft may stay for any time if its removal fails
	}
	return m, err
}

// readDraft reads the draft with a name, and the row of its locale. It returns nil if there is
// none. It removes a draft that was published.
func (s *Service) readDraft(ctx context.Context, user principal.ID, name string) (*storedDraft, error) {
	rows, err := s.store.ReadDrafts(ctx, user, []string{name}, false)
	if err != nil || rows[0].Name == "" {
		return nil, err
	}
	return s.openDraft(ctx, rows[0])
}

// storedDraft is a draft with the row of its branch and locale.
type storedDraft struct {
	DraftRow
	draftRow
	localeRow LocaleRow
}

// openDraft decodes a draft and reads the row of its locale. If the draft was published, but a
// crash prevented its removal, openDraft removes it and returns nil.
func (s *Service) openDraft(ctx context.Context, stored DraftRow) (*storedDraft, error) {
	row, err := decodeDraft(stored.Value)
	if err != nil {
		return nil, err
	}
	m, err := s.publishing(stored.User, stored.Name, stored.Token)
	if err != nil {
		return nil, err
	}
	read, err := s.contents.Read(ctx, row.Item, library.ContentQuery{Rows: []library.RowKey{row.At.rowKey()}, Request: m.Request.Lookup()})
	if err != nil {
		return nil, err
	}
	if published, err := m.Request.Answered(read.Request, s.engine.Now()); err != nil {
		return nil, err
	} else if published {
		return nil, s.texts.dropDraft(ctx, stored, row.Text)
	}
	l, err := decodeLocaleRow(read.Rows[0].Value)
	return &storedDraft{stored, row, l}, err
}

// dropDraft removes a version of a draft.
func (s *Texts) dropDraft(ctx context.Context, stored DraftRow, body text) error {
	if err := s.store.DropDraft(ctx, stored.User, stored.Name, stored.Token); err != nil {
		return fmt.Errorf("removing a draft: %w", err)
	}
	s.dropText(ctx, body)
	return nil
}

// dropText removes the text of a removed row. If that fails, the scrubber removes it.
func (s *Texts) dropText(ctx context.Context, body text) {
	if body.ID != (TextID{}) {
		_ = s.store.DropTexts(ctx, []TextID{body.ID})
	}
}

// shown returns a draft as its author sees it.
func (d *storedDraft) shown(c *library.Content) *Draft {
	return &Draft{
		Content: c, Author: d.User, Branch: d.At.Branch, Locale: d.At.Locale, Title: d.Title, BaseRevision: orNil(d.Base),
		Version: d.Version, UpdatedAt: d.UpdatedAt, IsStale: d.Base != d.localeRow.Current, row: d.draftRow, token: d.Token,
	}
}

// Draft returns the viewer's draft for a branch and locale, or nil if there is none, or if the viewer
// may not, or no longer, see the item.
func (s *Service) Draft(ctx context.Context, v *principal.Viewer, id library.ContentID, branch int, locale string) (*Draft, error) {
	p, err := s.see(ctx, v, id)
	if err != nil || p == nil || !v.SignedIn() || p.deleted {
		return nil, err
	}
	d, err := s.readDraft(ctx, v.User, draftName(id, branchLocale{branch, locale}))
	if err != nil || d == nil {
		return nil, err
	}
	return d.shown(&p.Header.Content), nil
}
