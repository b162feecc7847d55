package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrate_EmbeddedStoreNeedsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	code, out, errs := command(t, "migrate", "--store", "pebble:"+path)
	if code != ExitDone || !strings.Contains(out, "needs no migration") || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a store was created")
	}
}
