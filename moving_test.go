package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
	"carrel/pebblestore"
)

// fewLines are what the tests of moving move.
const fewLines = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"user","id":"u:demo:ben","displayName":"Ben","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ann","lastModified":"2024-01-02T00:00:00.000001Z","version":3,"members":[{"principalId":"g:demo:team","role":"VIEWER"},{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:b","kind":"LINK","title":"B","link":"https://example.com/b","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ben","lastModified":"2024-01-02T00:00:00.000000Z","version":1,"members":[{"principalId":"u:demo:ann","role":"VIEWER"},{"principalId":"u:demo:ben","role":"MANAGER"}]}
`

// storeOf is a new store that holds lines.
func storeOf(t *testing.T, lines string) string {
	t.Helper()
	store := "pebble:" + filepath.Join(t.TempDir(), "store")
	if code, out, errs := command(t, "import", file(t, "lines.jsonl", lines), "--store", store); code != exitDone {
		t.Fatalf("exit %d: %s %s", code, out, errs)
	}
	return store
}

func TestExportGivesBackWhatWasImported(t *testing.T) {
	store := storeOf(t, fewLines)
	code, out, errs := command(t, "export", "--store", store)
	if code != exitDone || errs != "5 lines\n" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if diff := cmp.Diff(fewLines, out); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	if code, out, errs := command(t, "export", "--store", store, "--output", path); code != exitDone || out != "" {
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
		t.Errorf("beside the file stand %v, %v", left, err)
	}
}

func TestExportThatFailsLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	broken := "pebble:" + file(t, "plain", "x")
	if code, _, errs := command(t, "export", "--store", broken, "--output", path); code != exitFailed || !strings.Contains(errs, "opening the store") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestCopyIsTheSameStore(t *testing.T) {
	from := storeOf(t, fewLines)
	to := "pebble:" + filepath.Join(t.TempDir(), "copy")
	code, out, errs := command(t, "copy", "--from", from, "--to", to)
	if code != exitDone || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var told struct {
		Rows  map[string]int64
		Audit struct{ Contents, Mismatches int }
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil {
		t.Fatal(err)
	}
	if told.Rows["contents"] != 6 || told.Audit.Contents != 2 || told.Audit.Mismatches != 0 {
		t.Errorf("%s", out)
	}
	if code, out, errs := command(t, "export", "--store", to); code != exitDone || out != fewLines {
		t.Errorf("exit %d: %s\n%s", code, errs, cmp.Diff(fewLines, out))
	}
	if code, _, errs := command(t, "copy", "--from", from, "--to", to); code != exitFailed || !strings.Contains(errs, "the target is not empty") {
		t.Errorf("copying onto a store: exit %d: %s", code, errs)
	}
}

// TestWhatWasMovedIsFound: an import and a copy end with a directory that is
// complete, and a rebuild makes it anew.
func TestWhatWasMovedIsFound(t *testing.T) {
	imported := storeOf(t, fewLines)
	copied := "pebble:" + filepath.Join(t.TempDir(), "copy")
	if code, _, errs := command(t, "copy", "--from", imported, "--to", copied); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, store := range []string{imported, copied} {
		want := directoryOf(t, store)
		if len(want) != 6 {
			t.Errorf("%s: %d rows: %+v", store, len(want), want)
		}
		damage(t, store, want[2:4])
		if code, out, _ := command(t, "audit", "--store", store); code != exitFailed || !strings.Contains(out, "the directory has 4 rows and must have 6") {
			t.Errorf("exit %d: %s", code, out)
		}
		if code, out, errs := command(t, "rebuild", "--directory", "--store", store); code != exitDone || !strings.Contains(out, `"mended": 2`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if code, out, errs := command(t, "audit", "--store", store); code != exitDone || !strings.Contains(out, `"directory": 6`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if diff := cmp.Diff(want, directoryOf(t, store)); diff != "" {
			t.Error(diff)
		}
	}
}

// directoryOf are the rows of a store's directory, which must be complete.
func directoryOf(t *testing.T, name string) []library.DirectoryRow {
	t.Helper()
	store, err := pebblestore.Open(strings.TrimPrefix(name, "pebble:"), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	filled, err := store.DirectoryFilled(t.Context())
	if err != nil || !filled {
		t.Errorf("%s: the directory is filled: %t, %v", name, filled, err)
	}
	rows, _, err := store.ScanDirectory(t.Context(), nil, 100)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

// damage takes rows out of a store's directory.
func damage(t *testing.T, name string, rows []library.DirectoryRow) {
	t.Helper()
	store, err := pebblestore.Open(strings.TrimPrefix(name, "pebble:"), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.DropDirectory(t.Context(), rows), store.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestCopyOfAServedStoreIsRefused(t *testing.T) {
	cfg := testConfig(t)
	s := serve(t, cfg)
	defer s.end()
	to := filepath.Join(t.TempDir(), "copy")
	if code, _, errs := command(t, "copy", "--from", cfg.Store, "--to", "pebble:"+to); code != exitFailed || !strings.Contains(errs, "in use") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a target was made")
	}
}

func TestHalfACopyIsNotUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half")
	store, err := pebblestore.Open(path, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.PutCopyNote(t.Context(), []byte(`{"source":"ab","chapter":4}`)), store.Close()); err != nil {
		t.Fatal(err)
	}
	whole := "pebble:" + filepath.Join(t.TempDir(), "whole")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"serve":        {[]string{"serve", "--auth-hs256-file", file(t, "secret", testSecret), "--listen", "127.0.0.1:0", "--store", "pebble:" + path}, "run the same carrel copy again"},
		"audit":        {[]string{"audit", "--store", "pebble:" + path}, "run the same carrel copy again"},
		"export":       {[]string{"export", "--store", "pebble:" + path}, "run the same carrel copy again"},
		"copy from it": {[]string{"copy", "--from", "pebble:" + path, "--to", whole}, "run the same carrel copy again"},
		"copy to it":   {[]string{"copy", "--from", storeOf(t, fewLines), "--to", "pebble:" + path}, "unfinished copy of another store"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out, errs := command(t, c.args...); code != exitFailed || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
		})
	}
}

func TestMigrateTellsThatAnEmbeddedStoreNeedsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	code, out, errs := command(t, "migrate", "--store", "pebble:"+path)
	if code != exitDone || !strings.Contains(out, "needs no migration") || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a store was made")
	}
}
