package commit

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
)

// Creation fixes the id of a keyed creation before it runs.
type Creation struct {
	Key       RequestKey
	InputHash [32]byte
	ID        string // of what is created
	Until     clock.Instant
}

// RegisterStore keeps small rows written by compare-and-set.
type RegisterStore interface {
	// PutCreationIfAbsent stores c unless a row of its key stands, and returns the one
	// that stands then. With replace, c must be stored iff the standing row is
	// *replace. A row must be kept until its own Until, also one that has replaced
	// another.
	PutCreationIfAbsent(ctx context.Context, c Creation, replace *Creation) (Creation, error)
	// PutSettingIfAbsent stores value under name unless one stands, and must return the
	// one that stands then.
	PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error)
}

// PutSettingIfAbsent reads a setting, which is value where there was none.
func PutSettingIfAbsent(ctx context.Context, store RegisterStore, rt sched.Runtime, name string, value []byte) ([]byte, error) {
	standing, err := store.PutSettingIfAbsent(ctx, name, value)
	// Repeating it is harmless: the one that stands then is the answer.
	for try := 0; try < 5 && fault.MayHaveCommitted(err); try++ {
		if err := rt.After(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
		standing, err = store.PutSettingIfAbsent(ctx, name, value)
	}
	return standing, err
}
