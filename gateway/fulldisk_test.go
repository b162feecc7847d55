package gateway

import (
	"context"
	"log/slog"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/lease"
	"carrel/observe"
	"carrel/paste"
	"carrel/pebblestore"
	"carrel/principal"
)

// A gateway on an almost full disk says so: to load balancers, in a metric, and to those whose changes it
// refuses, on which it spends no log of its own.
func TestStart_OnAnAlmostFullDisk(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	dir := t.TempDir()
	open := func(reserve int64, with Options) *Gateway {
		t.Helper()
		with.Log = logger
		store, err := pebblestore.Open(dir, pebblestore.Options{Log: logger, FreeReserve: reserve})
		if err != nil {
			t.Fatal(err)
		}
		g, err := start(t.Context(), directory{path: dir}, OpenStore{Backend: store, Store: store.Store, embedded: store}, true, with)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	// A new store cannot keep its keys on such a disk.
	if err := open(0, Options{}).Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	metrics := observe.NewMetrics()
	g := open(math.MaxInt64, Options{Metrics: metrics})
	if err := g.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "almost full") {
		t.Errorf("it is ready: %v", err)
	}
	for range 3 {
		_, err := g.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: "x"})
		if fault.ReasonOf(err) != fault.ReasonFull {
			t.Errorf("a paste is refused with %v", err)
		}
	}
	if _, err := g.Leases.Cancel(t.Context(), lease.End{ID: "l:none", Token: "x"}); fault.ReasonOf(err) == fault.ReasonFull {
		t.Errorf("the end of a lease is refused with %v", err)
	}
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), "\ncarrel_store_disk_free_bytes ") {
		t.Error("no metric has the free bytes")
	}
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "almost full"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, log.String())
	}
}
