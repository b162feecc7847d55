package library

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// TestOutcomeNotReadBack_WarnsUnlessTheClientIsGone: a store that fails, or is
// too slow, is worth a warning; a client that has disconnected is not.
func TestOutcomeNotReadBack_WarnsUnlessTheClientIsGone(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	for name, c := range map[string]struct {
		ctx    context.Context
		warned bool
	}{"the store fails": {t.Context(), true}, "the client is gone": {gone, false}, "it took too long": {late, true}} {
		var log bytes.Buffer
		s := &Service{log: slog.New(slog.NewTextHandler(&log, nil))}
		s.warnNotReadBack(c.ctx, "c:acme:x", errors.New("the store is down"))
		if warned := log.Len() > 0; warned != c.warned {
			t.Errorf("%s: logged %q", name, log.String())
		}
	}
}
