package archive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"carrel/domain/domaintest"
	"carrel/interchange/archive"
	"carrel/note"
	"carrel/pebblestore"
	"carrel/principal"
)

// sized is an archive that records the largest number of texts or bodies in one call of PutRows.
type sized struct {
	*pebblestore.Store
	texts, bodies int
}

func (s *sized) PutRows(ctx context.Context, rows []archive.Row) error {
	texts, bodies := 0, 0
	for _, r := range rows {
		if r.Text != nil {
			texts++
		}
		if r.Body != nil {
			bodies++
		}
	}
	s.texts, s.bodies = max(s.texts, texts), max(s.bodies, bodies)
	return s.Store.PutRows(ctx, rows)
}

// A text or the body of a paste may take 512 KiB, so few of them are in memory at once.
func TestCopy_ReadsFewTextsAndBodiesAtOnce(t *testing.T) {
	h := domaintest.Town(t)
	long := strings.Repeat("x", 5000)
	for n := range 40 {
		createPaste(t, h, long)
		item := h.Note(fmt.Sprintf("n%d", n), principal.Public)
		if _, err := h.Notes.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(item), Body: long}); err != nil {
			t.Fatal(err)
		}
	}
	h.Quiet()
	to := &sized{Store: newStore(t)}
	defer closeStore(t, to.Store)
	if _, err := archive.Copy(t.Context(), h.Runtime, source(h.Embedded), to, noProgress); err != nil {
		t.Fatal(err)
	}
	if to.texts != 32 || to.bodies != 32 {
		t.Errorf("up to %d texts and %d bodies are copied at once, want 32", to.texts, to.bodies)
	}
}
