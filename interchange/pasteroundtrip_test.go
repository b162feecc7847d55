package interchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/interchange"
	"carrel/paste"
	"carrel/pebblestore"
)

// emptyServices returns all Services on an empty store, with a ticking clock that starts at a time.
func emptyServices(t *testing.T, from time.Time) *domain.Services {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	services, _ := servicesAt(t, store.Store, from)
	return services
}

// pastesWorld has a paste of each kind, in the order of their ids.
var pastesWorld = `{"type":"paste","id":"p:00000000000000000000000000000001","title":"","body":"anonymous","createdAt":"2024-01-01T00:00:00.000000Z","modifiedAt":"2024-01-01T00:00:00.000000Z","version":1}
{"type":"paste","id":"p:00000000000000000000000000000002","body":"` + strings.Repeat("long ", 2000) +
	`","isPrivate":true,"author":"u:demo:ann","createdAt":"2024-01-01T00:00:00.000001Z","modifiedAt":"2024-01-02T00:00:00.000000Z","expiresAt":"2044-01-01T00:00:00.000000Z","version":7}
{"type":"paste","id":"p:00000000000000000000000000000003","title":"T","body":"b","createdAt":"2023-12-31T23:59:59.999999Z","modifiedAt":"2023-12-31T23:59:59.999999Z","version":1}
`

// TestRoundTrip_PastesStayTheSame: an export contains the imported pastes without their secrets,
// and a repeated import changes nothing.
func TestRoundTrip_PastesStayTheSame(t *testing.T) {
	services := emptyServices(t, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	load := func(text string) (interchange.Summary, error) {
		return interchange.Import(t.Context(), strings.NewReader(text), 0, services.Exchange, interchange.Options{})
	}
	if sum, err := load(pastesWorld); err != nil || sum.Created != 3 {
		t.Fatalf("imported: %v, %v", sum, err)
	}
	if sum, err := load(pastesWorld); err != nil || sum.Unchanged != 3 {
		t.Errorf("repeated: %v, %v", sum, err)
	}
	var out strings.Builder
	if _, err := interchange.Export(t.Context(), services.Exchange, &out, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pastesWorld, out.String()); diff != "" {
		t.Errorf("the export (-imported +exported):\n%s", diff)
	}
	page, err := services.Pastes.Latest(t.Context(), domaintest.First(10))
	if err != nil || len(page.Edges) != 2 || page.Edges[0].Node.ID != "p:00000000000000000000000000000001" {
		t.Errorf("the newest pastes: %+v, %v", page, err)
	}
	_, err = services.Pastes.Delete(t.Context(), paste.Delete{ID: "p:00000000000000000000000000000001"})
	domaintest.WantFaults(t, err, "WRONG_SECRET secret")
	report, err := services.Repair.Audit(t.Context())
	if err != nil || report.Mismatches != 0 || report.Pastes != 3 {
		t.Errorf("the audit: %+v, %v", report, err)
	}
}

// TestPastes_BadLinesAreRefused: a refused line changes nothing.
func TestPastes_BadLinesAreRefused(t *testing.T) {
	services := emptyServices(t, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	const id = `"id":"p:00000000000000000000000000000001"`
	for line, want := range map[string]string{
		`{"type":"paste","id":"p:1","body":"b"}`:                                     "not the id of a paste",
		`{"type":"paste",` + id + `}`:                                                "body: is missing",
		`{"type":"paste",` + id + `,"body":""}`:                                      "body",
		`{"type":"paste",` + id + `,"body":"b","title":"a\nb"}`:                      "title",
		`{"type":"paste",` + id + `,"body":"b","secret":"x"}`:                        "secret",
		`{"type":"paste",` + id + `,"body":"b","author":"g:demo:x"}`:                 "author",
		`{"type":"paste",` + id + `,"body":"b","createdAt":"2099-01-01T00:00:00Z"}`:  "createdAt must not be in the future",
		`{"type":"paste",` + id + `,"body":"b","modifiedAt":"2024-01-01T00:00:00Z"}`: "modifiedAt must not be before createdAt",
		`{"type":"paste",` + id + `,"body":"b","version":0}`:                         "version",
	} {
		sum, err := interchange.Import(t.Context(), strings.NewReader(line), 0, services.Exchange, interchange.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || sum.Created != 0 {
			t.Errorf("%s: %v, %v; want %q", line, sum, err, want)
		}
	}
	first := `{"type":"paste",` + id + `,"body":"b"}`
	if sum, err := interchange.Import(t.Context(), strings.NewReader(first), 0, services.Exchange, interchange.Options{}); err != nil ||
		sum.Created != 1 {
		t.Fatalf("%v, %v", sum, err)
	}
	other := strings.Replace(first, `"body":"b"`, `"body":"c"`, 1)
	if _, err := interchange.Import(t.Context(), strings.NewReader(other), 0, services.Exchange, interchange.Options{}); err == nil ||
		!strings.Contains(err.Error(), "another paste of this id") {
		t.Errorf("another paste: %v", err)
	}
}
