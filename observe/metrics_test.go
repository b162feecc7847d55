package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"golang.org/x/time/rate"

	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// ownMetrics returns the lines of our metrics whose names begin with a prefix. It omits the buckets
// and sums of histograms, which depend on the time.
func ownMetrics(t *testing.T, m *Metrics, name string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	lines := strings.Split(w.Body.String(), "\n")
	return slices.DeleteFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, "carrel_"+name) || strings.Contains(l, "_bucket{") || strings.Contains(l, "_sum{")
	})
}

func TestOutcomeOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, "ok"},
		{fault.Uncertain(fault.Unavailablef(nil, "x")), "unknown"},
		{fault.Unavailablef(nil, "x"), "unavailable"},
		{fault.Unavailablef(context.DeadlineExceeded, "x"), "timeout"},
		{fmt.Errorf("reading: %w", context.Canceled), "ended"},
		{errors.New("x"), "failed"},
		{&fault.Error{Code: fault.Internal, Msg: "x"}, "failed"},
	} {
		if got := OutcomeOf(tc.err); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}

func TestMetrics_EveryValueIsServed(t *testing.T) {
	m := NewMetrics()
	m.Request("query", "OK", time.Millisecond)
	m.Request("mutation", "UNAVAILABLE", time.Second)
	m.Request("", "BAD_REQUEST", 0)
	m.Call(Call{Operation: "commit", Outcome: "applied", Took: time.Millisecond})
	m.Call(Call{Operation: "read contents", Outcome: "ok", Retries: 2})
	m.Call(Call{Operation: "read contents", Outcome: "ok", Retries: 1, Hedged: true})
	m.Call(Call{Operation: "update index", Outcome: "busy"})
	m.Cluster(func() (running, waiting int) { return 12, 13 })
	m.FannedOut(time.Millisecond, true)
	m.FannedOut(time.Second, false)
	m.Hid(1, 2)
	m.Copied(40, 3, 2)
	m.CopiedPrincipals(50, 20, 21)
	m.CopyWrong()
	m.Copies(func() headercache.Stats {
		return headercache.Stats{Headers: 17, Bytes: 22, InFlight: 18, InUse: true}
	})
	m.Follows(3)
	m.Follows(-1)
	m.Delivered()
	m.CutOff()
	m.Loaded("principals", 7)
	m.Spent(true, 1.5)
	m.Spent(false, 1)
	m.SocketClosed("4403")
	m.exported("traces", "failed")
	m.Streams(func() (events, sockets int) { return 4, 9 })
	m.Answers(func() int64 { return 131_072 })
	m.Journal(func() journal.Stats {
		return journal.Stats{Entries: 5, Ended: 19, Deferred: 2, Waiting: 14, Refused: 15, Oldest: 1500 * time.Millisecond,
			InFlightLists: 3, UnreadableLists: 16, Resumed: 7, Fenced: 1,
			RepairsRequested: 11, RepairsDropped: 4, RepairsDone: 6, ScrubSteps: 9, ScrubFinished: 8, ScrubMismatches: 10}
	})
	want := []string{
		`carrel_answer_bytes 131072`,
		`carrel_changes_delivered_total 1`,
		`carrel_changes_fenced_total 1`,
		`carrel_changes_in_flight 5`,
		`carrel_changes_lingering 19`,
		`carrel_changes_refused_total 15`,
		`carrel_changes_resumed_total 7`,
		`carrel_changes_waiting 14`,
		`carrel_entries_hidden_total{reason="stale"} 1`,
		`carrel_entries_hidden_total{reason="unseen"} 2`,
		`carrel_fanout_lag_seconds_count{outcome="complete"} 1`,
		`carrel_fanout_lag_seconds_count{outcome="left"} 1`,
		`carrel_followers 2`,
		`carrel_followers_cut_off_total 1`,
		`carrel_header_cache_bytes 22`,
		`carrel_header_copies 17`,
		`carrel_header_copies_in_use 1`,
		`carrel_header_copies_total{outcome="hit"} 40`,
		`carrel_header_copies_total{outcome="miss"} 2`,
		`carrel_header_copies_total{outcome="refused"} 3`,
		`carrel_header_copies_wrong_total 1`,
		`carrel_in_flight_lists 3`,
		`carrel_in_flight_lists_unreadable 16`,
		`carrel_in_flight_set 18`,
		`carrel_loader_ids_count{loader="principals"} 1`,
		`carrel_moves_deferred 2`,
		`carrel_oldest_change_seconds 1.5`,
		`carrel_points_total{payer="address"} 1`,
		`carrel_points_total{payer="viewer"} 1.5`,
		`carrel_principal_copies_total{outcome="hit"} 50`,
		`carrel_principal_copies_total{outcome="miss"} 21`,
		`carrel_principal_copies_total{outcome="refused"} 20`,
		`carrel_repairs_done_total 6`,
		`carrel_repairs_dropped_total 4`,
		`carrel_repairs_requested_total 11`,
		`carrel_request_seconds_count{code="BAD_REQUEST",operation="none"} 1`,
		`carrel_request_seconds_count{code="OK",operation="query"} 1`,
		`carrel_request_seconds_count{code="UNAVAILABLE",operation="mutation"} 1`,
		`carrel_scrub_finished_total 8`,
		`carrel_scrub_mismatches_total 10`,
		`carrel_scrub_steps_total 9`,
		`carrel_socket_closes_total{code="4403"} 1`,
		`carrel_store_call_seconds_count{operation="commit",outcome="applied"} 1`,
		`carrel_store_call_seconds_count{operation="read contents",outcome="ok"} 2`,
		`carrel_store_call_seconds_count{operation="update index",outcome="busy"} 1`,
		`carrel_store_calls_again_total{operation="read contents",why="hedge"} 1`,
		`carrel_store_calls_again_total{operation="read contents",why="retry"} 3`,
		`carrel_store_statements_under_way 12`,
		`carrel_store_statements_waiting 13`,
		`carrel_streams{kind="events"} 4`,
		`carrel_streams{kind="socket"} 9`,
		`carrel_telemetry_exports_total{outcome="failed",signal="traces"} 1`,
	}
	if diff := cmp.Diff(want, ownMetrics(t, m, "")); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkPage measures a page of 20 of the Service: alone, with metrics, and with the spans of
// one in a hundred operations and of all.
func BenchmarkPage(b *testing.B) {
	m := NewMetrics()
	open := func(observed func(context.Context, pebblestore.Call)) *pebblestore.Store {
		store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem(), Observe: observed})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := store.Close(); err != nil {
				b.Error(err)
			}
		})
		return store
	}
	runtime := sched.NewReal()
	b.Cleanup(runtime.Close)
	service := func(store *pebblestore.Store, watch library.Watcher) *domain.Services {
		svc := domaintest.Open(b, domain.Config{Store: store.Store, Watch: watch, Runtime: runtime,
			Journal: journal.New(b.Context(), store.Journal, runtime, nil)})
		if _, err := svc.People.Upkeep.ImportUser(b.Context(), principal.ImportUser{ID: "u:acme:ann", DisplayName: "Ann",
			Visibility: principal.Public}); err != nil {
			b.Fatal(err)
		}
		manages := library.Manages
		for i := range 100 {
			_, err := svc.Library.Upkeep.ImportContent(b.Context(), library.ImportContent{
				ID: fmt.Sprintf("c:acme:n%d", i), Kind: library.Note, Title: "T", Visibility: principal.Public,
				Members: []library.ContentMemberChange{{Principal: "u:acme:ann", Role: &manages}},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		return svc
	}
	measured := func(t *Tracing) *domain.Services {
		return service(open(func(ctx context.Context, c pebblestore.Call) {
			call := Call{System: "pebble", Operation: c.Operation, Outcome: OutcomeOf(c.Err), Took: c.Took}
			m.Call(call)
			t.Call(ctx, call)
		}), Watcher{Metrics: m, Tracing: t})
	}
	some, all := droppingAll(b, sampling(0.01, rate.NewLimiter(0, 0))), droppingAll(b, sampling(1, rate.NewLimiter(0, 0)))
	asked := request()
	for _, c := range []struct {
		name    string
		svc     *domain.Services
		tracing *Tracing
	}{{"plain", service(open(nil), nil), nil}, {"measured", measured(nil), nil}, {"traced 1 in 100", measured(some), some},
		{"traced all", measured(all), all}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx, op := c.tracing.Request(b.Context(), asked)
				page, err := c.svc.Listing.Library(ctx, &principal.Viewer{}, "u:acme:ann", library.LibraryQuery{Descending: true})
				if err != nil || len(page.Edges) != 20 {
					b.Fatal(err)
				}
				op.End(Outcome{Type: "query", Name: "Page", Transport: TransportHTTP, Code: "OK", Status: 200, Cost: 62})
			}
		})
	}
}

// droppingAll returns a Tracing whose spans are batched as for a collector, and then dropped.
func droppingAll(b *testing.B, sampler sdk.Sampler) *Tracing {
	provider := sdk.NewTracerProvider(sdk.WithBatcher(tracetest.NewNoopExporter()), sdk.WithSampler(sampler))
	b.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	return newTracing(provider.Tracer("test"))
}

func TestSkew_IsReportedWhileKnown(t *testing.T) {
	m := NewMetrics()
	ahead, known := -1500*time.Millisecond, false
	m.Skew(func() (time.Duration, bool) { return ahead, known })
	if lines := ownMetrics(t, m, "clock_ahead_seconds"); len(lines) != 0 {
		t.Errorf("an unknown skew is reported: %v", lines)
	}
	known = true
	if diff := cmp.Diff([]string{"carrel_clock_ahead_seconds -1.5"}, ownMetrics(t, m, "clock_ahead_seconds")); diff != "" {
		t.Error(diff)
	}
}
