package interchange_test

import (
	"strings"
	"testing"
	"time"

	"carrel/interchange"
	"carrel/library"
	"carrel/note"
)

// A branch may become the current one after texts of another one were imported, and the text
// that an interrupted change has left behind for a suggestion is replaced.
func TestImport_PagesInAnotherOrderAreAccepted(t *testing.T) {
	store := openedStore(t)
	services, _ := servicesAt(t, store.Store, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	id, _ := note.ParseTextID("018d62a7b1b100000000000000000001")
	left := note.Text{ID: id, Item: "c:demo:a", Row: library.RowKey{Kind: library.FirstRowKind + 2, Key: id.String()}, Body: "left behind"}
	if err := store.Texts.PutText(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	file := pagesWorld + strings.Join([]string{
		`{"type":"revision","contentId":"c:demo:a","branch":1,"locale":"en","number":0,"title":"A","body":"one","author":"u:demo:ann","current":true}`,
		`{"type":"branch","contentId":"c:demo:a","number":2,"createdBy":"u:demo:ann","current":true}`,
		`{"type":"revision","contentId":"c:demo:a","branch":2,"locale":"de","number":0,"title":"Z","body":"zwei","author":"u:demo:ann","current":true}`,
		`{"type":"suggestion","id":"` + id.String() +
			`","contentId":"c:demo:a","branch":2,"locale":"de","title":"S","body":"text","author":"u:demo:ben"}`,
	}, "\n") + "\n"
	if _, faults, err := load(t, services, file, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	report, err := services.Repair.Audit(t.Context())
	if err != nil || report.Mismatches != 0 || report.Revisions != 2 {
		t.Errorf("the audit found %+v, %v", report, err)
	}
	texts, err := store.Texts.ReadTexts(t.Context(), []note.TextID{id})
	if err != nil || texts[0].Body != "text" {
		t.Errorf("the text of the suggestion is %q, %v", texts[0].Body, err)
	}
}
