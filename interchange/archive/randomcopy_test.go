//go:build !race

package archive_test

import (
	"testing"

	"carrel/core/sched"
	"carrel/interchange/archive"
	"carrel/test/oracle"
)

func TestCopy_RandomStoreEqualsItsSource(t *testing.T) {
	runtime := sched.NewReal()
	defer runtime.Close()
	oracle.Run(t, func(t *testing.T) oracle.Opened {
		from := newStore(t)
		return oracle.Opened{Store: from.Store, Done: func() {
			defer closeStore(t, from)
			to := newStore(t)
			defer closeStore(t, to)
			finish(t, from.Store)
			if _, err := archive.Copy(t.Context(), runtime, source(from), to, noProgress); err != nil {
				t.Fatalf("copying: %v", err)
			}
			complete(t, to)
			wantSameLibraries(t, from.Store, to.Store)
		}}
	})
}
