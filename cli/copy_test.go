package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/pebblestore"
	"carrel/principal"
)

func TestCopy_TargetExportsTheSameLines(t *testing.T) {
	from := storeOf(t, fewLines)
	to := "pebble:" + filepath.Join(t.TempDir(), "copy")
	code, out, errs := command(t, "copy", "--from", from, "--to", to)
	if code != ExitDone || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var summary struct {
		Rows  map[string]int64
		Audit struct{ Contents, Mismatches int }
	}
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatal(err)
	}
	if summary.Rows["contents"] != 6 || summary.Audit.Contents != 2 || summary.Audit.Mismatches != 0 {
		t.Errorf("%s", out)
	}
	if code, out, errs := command(t, "export", "--store", to); code != ExitDone || out != fewLines {
		t.Errorf("exit %d: %s\n%s", code, errs, cmp.Diff(fewLines, out))
	}
	if code, _, errs := command(t, "copy", "--from", from, "--to", to); code != ExitFailed ||
		!strings.Contains(errs, "the target is not empty") {
		t.Errorf("copying to a store that is not empty: exit %d: %s", code, errs)
	}
}

// TestCopy_SearchFindsCopiedPrincipals: after an import and after a copy the directory is complete,
// and a rebuild restores it.
func TestCopy_SearchFindsCopiedPrincipals(t *testing.T) {
	imported := storeOf(t, fewLines)
	copied := "pebble:" + filepath.Join(t.TempDir(), "copy")
	if code, _, errs := command(t, "copy", "--from", imported, "--to", copied); code != ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, store := range []string{imported, copied} {
		want := directoryOf(t, store)
		if len(want) != 6 {
			t.Errorf("%s: %d rows: %+v", store, len(want), want)
		}
		damage(t, store, want[2:4])
		if code, out, _ := command(t, "audit", "--store", store); code != ExitFailed ||
			!strings.Contains(out, "the directory has 4 rows and must have 6") {
			t.Errorf("exit %d: %s", code, out)
		}
		if code, out, errs := command(t, "rebuild", "--directory", "--store", store); code != ExitDone ||
			!strings.Contains(out, `"repaired": 2`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if code, out, errs := command(t, "audit", "--store", store); code != ExitDone || !strings.Contains(out, `"directory": 6`) {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if diff := cmp.Diff(want, directoryOf(t, store)); diff != "" {
			t.Error(diff)
		}
	}
}

// directoryOf returns the rows of a store's directory.
func directoryOf(t *testing.T, name string) []principal.DirectoryRow {
	t.Helper()
	store, err := pebblestore.Open(strings.TrimPrefix(name, "pebble:"), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := store.Directory.ScanDirectory(t.Context(), nil, 100)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

// damage removes rows from a store's directory.
func damage(t *testing.T, name string, rows []principal.DirectoryRow) {
	t.Helper()
	store, err := pebblestore.Open(strings.TrimPrefix(name, "pebble:"), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Directory.DropDirectory(t.Context(), rows), store.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestCopy_UnfinishedTargetIsRefused(t *testing.T) {
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
		"audit":        {[]string{"audit", "--store", "pebble:" + path}, "run the same carrel copy again"},
		"export":       {[]string{"export", "--store", "pebble:" + path}, "run the same carrel copy again"},
		"copy from it": {[]string{"copy", "--from", "pebble:" + path, "--to", whole}, "run the same carrel copy again"},
		"copy to it":   {[]string{"copy", "--from", storeOf(t, fewLines), "--to", "pebble:" + path}, "unfinished copy of another store"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out, errs := command(t, c.args...); code != ExitFailed || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
		})
	}
}
