package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestACommandIsAskedToEnd: whoever interrupts it has an error only where the
// command has one.
func TestACommandIsAskedToEnd(t *testing.T) {
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
				t.Fatalf("it ended before it was asked to: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		interrupt()
		if err := <-ended; (err != nil) != fails {
			t.Errorf("with status %s it ends with %v", status, err)
		}
	}
	if runBeside(t.Context(), "", []string{"sh", "-c", "exit 3"}) == nil {
		t.Error("a command that fails by itself is no error")
	}
}
