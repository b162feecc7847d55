package sched

import (
	"context"
	"time"
)

// The number of attempts of Retry, and its first pause, which triples each time.
const (
	retries    = 6
	retryPause = 20 * time.Millisecond
)

// Retry calls do, which may be repeated, until it succeeds, stop reports true, or it
// has failed six times, with pauses of 2.4 seconds in all. It returns do's last error, or the error of
// ctx if ctx ends during a pause.
func Retry(ctx context.Context, rt Runtime, stop func() bool, do func() error) error {
	pause := retryPause
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == retries || stop() {
			return err
		}
		if err := rt.After(ctx, pause); err != nil {
			return err
		}
		pause *= 3
	}
}
