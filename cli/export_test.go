package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fewLines is the export of the store that the tests export and copy.
const fewLines = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"user","id":"u:demo:ben","displayName":"Ben","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ann","lastModified":"2024-01-02T00:00:00.000001Z","version":3,"members":[{"principalId":"g:demo:team","role":"VIEWER"},{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:b","kind":"LINK","title":"B","link":"https://example.com/b","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ben","lastModified":"2024-01-02T00:00:00.000000Z","version":1,"members":[{"principalId":"u:demo:ann","role":"VIEWER"},{"principalId":"u:demo:ben","role":"MANAGER"}]}
`

// storeOf returns a new store into which lines were imported.
func storeOf(t *testing.T, lines string) string {
	t.Helper()
	store := "pebble:" + filepath.Join(t.TempDir(), "store")
	if code, out, errs := command(t, "import", file(t, "lines.jsonl", lines), "--store", store); code != ExitDone {
		t.Fatalf("exit %d: %s %s", code, out, errs)
	}
	return store
}

func TestExport_WritesWhatWasImported(t *testing.T) {
	store := storeOf(t, fewLines)
	code, out, errs := command(t, "export", "--store", store)
	if code != ExitDone || errs != "5 lines\n" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if diff := cmp.Diff(fewLines, out); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	if code, out, errs := command(t, "export", "--store", store, "--output", path); code != ExitDone || out != "" {
		t.Fatalf("exit %d: %q %s", code, out, errs)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fewLines, string(written)); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory contains %v, %v", left, err)
	}
}

func TestExport_FailureLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	broken := "pebble:" + file(t, "plain", "x")
	if code, _, errs := command(t, "export", "--store", broken, "--output", path); code != ExitFailed ||
		!strings.Contains(errs, "opening the store") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the directory contains %v, %v", left, err)
	}
}
