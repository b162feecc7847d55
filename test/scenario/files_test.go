package scenario

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles_OfAStoreAreForItsUserOnly: no other user of the machine may read any file of an embedded
// store, or enter its directory.
func TestFiles_OfAStoreAreForItsUserOnly(t *testing.T) {
	g := serve(t)
	g.paste("", "a")
	dir, embedded := strings.CutPrefix(g.store, "pebble:")
	if !embedded {
		return // a cluster keeps its files itself
	}
	check := func() {
		t.Helper()
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			files++
			if mode := info.Mode().Perm(); mode&0o077 != 0 {
				t.Errorf("%s has the permissions %o", filepath.Base(path), mode)
			}
			return nil
		})
		if err != nil || files < 6 {
			t.Errorf("%d files, %v", files, err)
		}
	}
	check()
	g.stop()
	check()
	g.start()
	check()
	if log := g.log.String(); strings.Contains(log, "users of this machine") || strings.Contains(log, "user of this machine") {
		t.Errorf("the log warns of permissions:\n%s", log)
	}
}
