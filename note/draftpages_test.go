package note_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"carrel/core/cursor"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/note"
	"carrel/principal"
)

// listedBefore is a store that also lists a draft that was removed since, and may fail to read the others.
type listedBefore struct {
	note.Store
	failed error
}

func (l *listedBefore) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	rows, err := l.Store.ListDrafts(ctx, user)
	return append([]note.DraftRow{{User: user, Name: "removed", Token: someID(9)}}, rows...), err
}

func (l *listedBefore) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return l.Store.ReadDrafts(ctx, user, names, serial)
}

// Whatever lists drafts passes over one that was removed meanwhile, and reports that it could not read them.
func TestDrafts_RemovedOrUnreadableAfterTheyWereListed(t *testing.T) {
	l := &listedBefore{}
	h := newPagesEnvOn(t, func(s *domain.Store) { l.Store, s.Texts = s.Texts, l })
	h.draft(h.Note("n", principal.Public), "body")
	for name, count := range map[string]func() (int, error){
		"list": func() (int, error) {
			page, err := h.pages.Drafts(t.Context(), domaintest.Ann(), "u:acme:ann", cursor.PageArgs{})
			if err != nil {
				return 0, err
			}
			return len(page.Edges), nil
		},
		"export": func() (n int, err error) {
			err = h.pages.Upkeep.ExportDrafts(t.Context(), "u:acme:ann", func(*exchange.Line) error { n++; return nil })
			return n, err
		},
		"audit": func() (n int, err error) {
			n = 1
			_, err = h.pages.Upkeep.AuditDrafts(t.Context(), "u:acme:ann", func(format string, args ...any) {
				t.Errorf("audit: %s", fmt.Sprintf(format, args...))
			})
			return n, err
		},
	} {
		l.failed = nil
		if n, err := count(); n != 1 || err != nil {
			t.Errorf("%s: %d drafts, %v", name, n, err)
		}
		l.failed = errors.New("the store is down")
		if _, err := count(); !errors.Is(err, l.failed) {
			t.Errorf("%s of drafts that cannot be read: %v", name, err)
		}
	}
}
