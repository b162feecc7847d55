package note

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"carrel/library"
	"carrel/principal"
)

// How many rows and texts an audit reads at once. A text may have 512 KiB.
const (
	auditRows  = 200
	auditTexts = 10
)

// AuditPage compares the rows of an item's page with its head, and with the texts that they
// refer to. It calls wrong for each inconsistency, and returns the number of revisions.
func (u Upkeep) AuditPage(ctx context.Context, h *library.Header, wrong func(format string, args ...any)) (revisions int, err error) {
	if h.Page == nil {
		return 0, nil
	}
	a := &audit{s: u.s, id: h.ID, wrong: wrong, at: map[branchLocale]*auditedLocale{}}
	if a.head, err = DecodeHead(h.Page); err != nil {
		wrong("the part of its header about its page cannot be read")
		return 0, nil
	}
	if err := a.rows(ctx, branchKind, a.branch); err != nil {
		return 0, err
	}
	if err := a.rows(ctx, revisionKind, a.revision); err != nil {
		return 0, err
	}
	if err := a.rows(ctx, suggestionKind, a.suggestion); err != nil {
		return 0, err
	}
	a.compare()
	return a.revisions, nil
}

// AuditDrafts checks the drafts of a user and their texts. It calls wrong for each inconsistency,
// and returns the number of drafts.
func (u Upkeep) AuditDrafts(ctx context.Context, user principal.ID, wrong func(format string, args ...any)) (drafts int, err error) {
	all, err := u.s.store.ListDrafts(ctx, user)
	if err != nil {
		return 0, err
	}
	a := &audit{s: u.s, wrong: wrong}
	for stored, err := range draftPages(ctx, u.s.store, user, all, MaxDraftRows) {
		if err != nil {
			return 0, err
		}
		for _, d := range stored {
			row, err := decodeDraft(d.Value)
			switch {
			case err != nil:
				wrong("the draft %q cannot be read", d.Name)
			case row.Text.ID != (TextID{}):
				a.texts = append(a.texts, auditedText{row.Text.ID, d.Name})
			}
		}
		if err := a.checkTexts(ctx); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// audit is a running audit of one page.
type audit struct {
	s     *Service
	id    library.ContentID
	head  Head
	wrong func(format string, args ...any)

	branches int // the greatest number of a branch with a row
	locales  []*auditedLocale
	at       map[branchLocale]*auditedLocale
	open     int // suggestions
	// revisions is the number of revisions in all locales and branches.
	revisions int
	texts     []auditedText
}

// auditedLocale is the row of a locale in a branch, with the number of revisions that were found.
type auditedLocale struct {
	branchLocale
	LocaleRow
	found int
}

// auditedText is a text that a row refers to.
type auditedText struct {
	id  TextID
	row string
}

// rows calls see for all rows of a kind, ordered by key, and checks the texts that they refer to.
func (a *audit) rows(ctx context.Context, kind library.RowKind, see func(library.Row) error) error {
	for from, more := "", true; more; {
		rows, err := a.s.contents.PageRows(ctx, library.RowSlice{Content: a.id, Kind: kind, From: from, Limit: auditRows})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if see(r) != nil {
				a.wrong("the row %q of its page cannot be read", r.Key)
			}
			from = r.Key + "\x00"
		}
		if err := a.checkTexts(ctx); err != nil {
			return err
		}
		more = len(rows) == auditRows
	}
	return nil
}

// branch checks the row of a branch, or of a locale in one.
func (a *audit) branch(r library.Row) error {
	number, locale, isLocale := strings.Cut(r.Key, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	if !a.head.HasBranch(n) {
		a.wrong("branch %d has rows, but its page has %d branches", n, a.head.Last)
	}
	if !isLocale {
		// Branch 1 has no row.
		if want := max(a.branches, 1) + 1; n != want {
			a.wrong("branch %d has no row", want)
		}
		a.branches = n
		_, err := decodeBranch(r.Value)
		return err
	}
	l := &auditedLocale{branchLocale: branchLocale{n, locale}}
	if l.LocaleRow, err = decodeLocaleRow(r.Value); err != nil {
		return err
	}
	a.locales, a.at[l.branchLocale] = append(a.locales, l), l
	return nil
}

// revision checks the row of a revision. Numbers have no gaps.
func (a *audit) revision(r library.Row) error {
	branch, locale, n, err := revisionOf(r.Key)
	if err != nil {
		return err
	}
	a.revisions++
	l := a.at[branchLocale{branch, locale}]
	if l == nil {
		l = &auditedLocale{branchLocale: branchLocale{branch, locale}, LocaleRow: noRevisions}
		a.locales, a.at[l.branchLocale] = append(a.locales, l), l
	}
	if n != l.found {
		a.wrong("revision %d of branch %d, locale %q, has no row", l.found, branch, locale)
	}
	l.found = n + 1
	row, err := decodeRevision(r.Value)
	shown := l.Branch == a.head.Current && l.branchLocale.Locale == a.head.Locale && l.Current == n
	if err == nil && shown && row.Title != a.head.Title {
		a.wrong("the title in its header differs from that of the shown text, revision %d of branch %d, locale %q", n, branch, locale)
	}
	if err == nil && row.Text.ID != (TextID{}) {
		a.texts = append(a.texts, auditedText{row.Text.ID, r.Key})
	}
	return err
}

func (a *audit) suggestion(r library.Row) error {
	id, ok := ParseTextID(r.Key)
	if !ok {
		return errRow
	}
	row, err := decodeSuggestion(r.Value)
	if err != nil {
		return err
	}
	if row.State == Open {
		a.open++
	}
	if l := a.at[branchLocale{row.Branch, row.Locale}]; row.State == Accepted && (l == nil || row.Revision < 0 || row.Revision > l.Last) {
		a.wrong("suggestion %s became revision %d of branch %d, locale %q, which has no row", id, row.Revision, row.Branch, row.Locale)
	}
	a.texts = append(a.texts, auditedText{id, r.Key})
	return nil
}

// checkTexts reports the texts that are not stored.
func (a *audit) checkTexts(ctx context.Context) error {
	for some := range slices.Chunk(a.texts, auditTexts) {
		ids := make([]TextID, len(some))
		for i, t := range some {
			ids[i] = t.id
		}
		texts, err := a.s.store.ReadTexts(ctx, ids)
		if err != nil {
			return err
		}
		for i, t := range texts {
			if t.Item == "" {
				a.wrong("the row %q refers to a text that is not stored", some[i].row)
			}
		}
	}
	a.texts = a.texts[:0]
	return nil
}

// compare compares the head and the rows of locales with the revisions that were found.
func (a *audit) compare() {
	if last := max(a.branches, 1); last < a.head.Last {
		a.wrong("branch %d has no row", last+1)
	}
	if a.open != a.head.Open {
		a.wrong("its page counts %d open suggestions and has %d", a.head.Open, a.open)
	}
	own := !a.head.Begun
	var shown []Shown
	for _, l := range a.locales {
		if l.Branch == a.head.Current && l.Current != None {
			shown = append(shown, Shown{l.branchLocale.Locale, l.Current})
		}
		own = own || l.Locale == a.head.Locale
		if l.found != l.Last+1 {
			a.wrong("branch %d, locale %q, counts %d revisions and has %d", l.Branch, l.branchLocale.Locale, l.Last+1, l.found)
		}
	}
	if !slices.Equal(shown, a.head.Shown) {
		a.wrong("visitors see %v according to its header, and %v according to its rows", a.head.Shown, shown)
	}
	if !own {
		a.wrong("there is no revision in the item's own locale %q", a.head.Locale)
	}
	if !a.head.Begun && len(a.locales) > 0 {
		a.wrong("its header says that there is no text, but there is one")
	}
}
