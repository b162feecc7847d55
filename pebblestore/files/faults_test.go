package files

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"testing"
)

// TestOpenFault_OnlyAMissingFileIsDamage: a directory that cannot be made is not.
func TestOpenFault_OnlyAMissingFileIsDamage(t *testing.T) {
	for _, c := range []struct {
		err     error
		damaged bool
	}{
		{&iofs.PathError{Op: "open", Path: "store/000004.sst", Err: iofs.ErrNotExist}, true},
		{&iofs.PathError{Op: "mkdir", Path: "/proc/store", Err: iofs.ErrNotExist}, false},
		{&iofs.PathError{Op: "open", Path: "store/000004.sst", Err: iofs.ErrPermission}, false},
		{errors.New("a checksum differs"), true},
	} {
		err := OpenFault("store", fmt.Errorf("opening: %w", c.err))
		got := strings.Contains(err.Error(), "is damaged")
		if got != c.damaged || !strings.Contains(err.Error(), "pebble:store cannot be opened") {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
