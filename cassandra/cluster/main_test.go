package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRunBeside_InterruptIsNoError: an interrupted command is an error only if its exit status is.
func TestRunBeside_InterruptIsNoError(t *testing.T) {
	for status, fails := range map[string]bool{"0": false, "3": true} {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		defer interrupt()
		began := filepath.Join(t.TempDir(), "began")
		ended := make(chan error, 1)
		go func() {
			ended <- runBeside(ctx, "CASSANDRA_HOSTS=127.0.0.9", []string{"sh", "-c",
				`test "$CASSANDRA_HOSTS" = 127.0.0.9 || exit 9; trap "exit ` + status + `" TERM; mkdir "$0"; while :; do sleep 0.01; done`, began})
		}()
		for ctx.Err() == nil {
			if _, err := os.Stat(began); err == nil {
				break
			}
			select {
			case err := <-ended:
				t.Fatalf("it ended before it was interrupted: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		interrupt()
		if err := <-ended; (err != nil) != fails {
			t.Errorf("with status %s it returns %v", status, err)
		}
	}
	if runBeside(t.Context(), "", []string{"sh", "-c", "exit 3"}) == nil {
		t.Error("no error for a command that fails on its own")
	}
}
