package commit

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
)

// Creation is a row that reserves the id of a keyed creation.
type Creation struct {
	Key       RequestKey
	InputHash [32]byte
	ID        string // of what is created
	Until     clock.Instant
}

// RegisterStore keeps small rows written by compare-and-set.
type RegisterStore interface {
	// PutCreationIfAbsent stores c unless there is a row of its key, and returns the row that is
	// stored afterwards. With replace, c must be stored iff the current row is *replace. A row
	// must be kept until its own Until, even if it has replaced another.
	PutCreationIfAbsent(ctx context.Context, c Creation, replace *Creation) (Creation, error)
	// PutSettingIfAbsent stores value under name unless there is a value, and must return the
	// value that is stored afterwards.
	PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error)
}

// PutSettingIfAbsent returns a setting, after storing value if there was none.
func PutSettingIfAbsent(ctx context.Context, store RegisterStore, rt sched.Runtime, name string, value []byte) ([]byte, error) {
	stored, err := store.PutSettingIfAbsent(ctx, name, value)
	// Repeating the call is harmless: it returns the stored value.
	for try := 0; try < 5 && fault.MayHaveCommitted(err); try++ {
		if err := rt.After(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
		stored, err = store.PutSettingIfAbsent(ctx, name, value)
	}
	return stored, err
}
