package observe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"carrel/core/journal"
	"carrel/headercache"
	"carrel/library"
)

// Buckets of the histograms, in seconds. Calls of a store take microseconds on the embedded store and
// milliseconds on a cluster; requests and fan-outs take up to their deadlines and longer.
var (
	callBounds    = []float64{10e-6, 30e-6, 100e-6, 300e-6, 1e-3, 3e-3, 10e-3, 30e-3, 100e-3, 300e-3, 1, 3, 10}
	requestBounds = []float64{300e-6, 1e-3, 3e-3, 10e-3, 30e-3, 100e-3, 300e-3, 1, 3, 10, 15}
	lagBounds     = []float64{1e-3, 3e-3, 10e-3, 30e-3, 100e-3, 300e-3, 1, 3, 10, 30, 100, 300}
)

// idBounds are the buckets for the number of ids that are loaded at once, at most 100.
var idBounds = []float64{1, 2, 5, 10, 20, 50, 100}

// Metrics are the metrics of one process, for Prometheus. No label contains an id, a name or a text
// of a request: every label has a fixed set of values.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	calls    *prometheus.HistogramVec
	again    *prometheus.CounterVec
	lag      *prometheus.HistogramVec
	hidden   *prometheus.CounterVec
	copies   *prometheus.CounterVec
	// principalCopies counts headers of users and groups, and copies counts entries of libraries.
	principalCopies *prometheus.CounterVec
	wrongCopies     prometheus.Counter
	followers       prometheus.Gauge
	delivered       prometheus.Counter
	cutOff          prometheus.Counter
	loads           *prometheus.HistogramVec
	points          *prometheus.CounterVec
	closes          *prometheus.CounterVec
	exports         *prometheus.CounterVec
}

// Watcher records metrics and spans of the work of a Service.
type Watcher struct {
	*Metrics
	*Tracing
}

var _ library.Watcher = Watcher{}

// NewMetrics returns the metrics of this process, including those of the Go runtime.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	histogram := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{Namespace: "carrel", Name: name, Help: help, Buckets: bounds}, labels)
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter { return counters(name, help).WithLabelValues() }
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Metrics{
		registry: registry,
		requests: histogram("request_seconds", "Duration of GraphQL requests, by operation type and code of the first error; OK without errors.",
			requestBounds, "operation", "code"),
		calls: histogram("store_call_seconds",
			"Duration of calls of the embedded store, or of statements sent to the cluster, by operation and outcome.",
			callBounds, "operation", "outcome"),
		again: counters("store_calls_again_total",
			"Statements sent again: retry after a node failed, or hedge to a second node because one was slow.", "operation", "why"),
		lag: histogram("fanout_lag_seconds",
			"Time from the decision of a change until all its libraries have it; outcome left: the rest was left to the background.",
			lagBounds, "outcome"),
		hidden: counters("entries_hidden_total",
			"Library entries that pages read but did not show: stale ones do not match their item, unseen ones are hidden from the viewer.",
			"reason"),
		copies: counters("header_copies_total",
			"Lookups in the header cache, by outcome: hit, miss, or refused because a change was in flight or the copy was too old.", "outcome"),
		principalCopies: counters("principal_copies_total", "Lookups of users and groups in the cache of their headers, by outcome: "+
			"hit, miss, or refused because a change was too recent or the copy was too old.", "outcome"),
		wrongCopies: counter("header_copies_wrong_total",
			"Cached headers that were served although they were not current, as found by samples."),
		followers: auto.NewGauge(prometheus.GaugeOpts{Namespace: "carrel", Name: "followers",
			Help: "Open subscriptions to changes of libraries."}),
		delivered: counter("changes_delivered_total", "Events delivered to subscribers of libraries."),
		cutOff:    counter("followers_cut_off_total", "Subscriptions ended because their clients did not read their events in time."),
		loads:     histogram("loader_ids", "Ids in one batch of a loader, by what it loads.", idBounds, "loader"),
		points:    counters("points_total", "Rate limit points spent, by payer: a signed-in viewer, or an address without one.", "payer"),
		closes: counters("socket_closes_total",
			"Closed websockets, by close code; client: closed or disconnected by the client; slow: the client did not read in time.", "code"),
		exports: counters("telemetry_exports_total",
			"Batches of traces and metrics sent to a collector by OTLP, by outcome.", "signal", "outcome"),
	}
}

// Handler serves all metrics in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Request counts an answered request. operation is query, mutation or subscription, or empty if
// unknown. code is OK or an error code of the API.
func (m *Metrics) Request(operation, code string, took time.Duration) {
	if operation == "" {
		operation = "none"
	}
	m.requests.WithLabelValues(operation, code).Observe(took.Seconds())
}

// FannedOut implements library.Watcher.
func (m *Metrics) FannedOut(lag time.Duration, complete bool) {
	outcome := "complete"
	if !complete {
		outcome = "left"
	}
	m.lag.WithLabelValues(outcome).Observe(lag.Seconds())
}

// Hid implements library.Watcher.
func (m *Metrics) Hid(stale, unseen int) {
	m.hidden.WithLabelValues("stale").Add(float64(stale))
	m.hidden.WithLabelValues("unseen").Add(float64(unseen))
}

// Copied implements library.Watcher.
func (m *Metrics) Copied(hits, refused, misses int) {
	m.copies.WithLabelValues("hit").Add(float64(hits))
	m.copies.WithLabelValues("refused").Add(float64(refused))
	m.copies.WithLabelValues("miss").Add(float64(misses))
}

// CopiedPrincipals implements library.Watcher.
func (m *Metrics) CopiedPrincipals(hits, refused, misses int) {
	m.principalCopies.WithLabelValues("hit").Add(float64(hits))
	m.principalCopies.WithLabelValues("refused").Add(float64(refused))
	m.principalCopies.WithLabelValues("miss").Add(float64(misses))
}

// CopyWrong implements library.Watcher.
func (m *Metrics) CopyWrong() { m.wrongCopies.Inc() }

// Follows implements library.Watcher.
func (m *Metrics) Follows(n int) { m.followers.Add(float64(n)) }

// Delivered implements library.Watcher.
func (m *Metrics) Delivered() { m.delivered.Inc() }

// CutOff implements library.Watcher.
func (m *Metrics) CutOff() { m.cutOff.Inc() }

// Loaded counts a call of a loader for a number of ids. loader is from a fixed set.
func (m *Metrics) Loaded(loader string, ids int) {
	m.loads.WithLabelValues(loader).Observe(float64(ids))
}

// Spent counts points that a signed-in viewer, or an address, has spent.
func (m *Metrics) Spent(signedIn bool, points float64) {
	payer := "address"
	if signedIn {
		payer = "viewer"
	}
	m.points.WithLabelValues(payer).Add(points)
}

// SocketClosed counts a closed websocket by its code, which is from a fixed set.
func (m *Metrics) SocketClosed(code string) { m.closes.WithLabelValues(code).Inc() }

// exported counts a batch of telemetry that was sent or failed.
func (m *Metrics) exported(signal, outcome string) { m.exports.WithLabelValues(signal, outcome).Inc() }

// reading returns metrics that are read whenever all metrics are collected. It omits those that are unknown.
type reading func() []prometheus.Metric

// Describe implements prometheus.Collector.
func (r reading) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, to) }

// Collect implements prometheus.Collector.
func (r reading) Collect(to chan<- prometheus.Metric) {
	for _, metric := range r() {
		to <- metric
	}
}

// level returns a metric that rises and falls.
func level[N number](name, help string, value N) prometheus.Metric {
	return prometheus.MustNewConstMetric(prometheus.NewDesc("carrel_"+name, help, nil, nil), prometheus.GaugeValue, float64(value))
}

// total returns a metric that only rises.
func total(name, help string, value int64) prometheus.Metric {
	return prometheus.MustNewConstMetric(prometheus.NewDesc("carrel_"+name, help, nil, nil), prometheus.CounterValue, float64(value))
}

type number interface{ int | int64 | uint64 | float64 }

// Cluster adds metrics of how many statements are running and how many wait.
func (m *Metrics) Cluster(load func() (running, waiting int)) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		running, waiting := load()
		return []prometheus.Metric{
			level("store_statements_under_way", "Statements sent to the cluster and not answered yet.", running),
			level("store_statements_waiting", "Statements that wait to be sent to the cluster.", waiting),
		}
	}))
}

// Copies adds the metrics of the header cache.
func (m *Metrics) Copies(stats func() headercache.Stats) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		s, inUse := stats(), 0
		if s.InUse {
			inUse = 1
		}
		return []prometheus.Metric{
			level("header_copies", "Cached headers.", s.Headers),
			level("header_cache_bytes", "Memory that the cached headers take, approximately.", s.Bytes),
			level("header_copies_in_use", "1 while pages are served from cached headers, 0 while all headers are read.", inUse),
			level("in_flight_set", "Items, users and groups with changes in flight in any process, as of the last read for a page.", s.InFlight),
		}
	}))
}

// Streams adds metrics of how many event streams and sockets are open.
func (m *Metrics) Streams(open func() (events, sockets int)) {
	desc := prometheus.NewDesc("carrel_streams", "Open event streams and websockets, by kind.", []string{"kind"}, nil)
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		events, sockets := open()
		return []prometheus.Metric{
			prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(events), "events"),
			prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(sockets), "socket"),
		}
	}))
}

// Answers adds a metric of the memory that is reserved for answers.
func (m *Metrics) Answers(bytes func() int64) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		return []prometheus.Metric{level("answer_bytes", "Memory reserved for responses that are being built or sent.", bytes())}
	}))
}

// Disk adds a metric of how many bytes are free on the disk of the store.
func (m *Metrics) Disk(free func() (bytes uint64, known bool)) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		bytes, known := free()
		if !known {
			return nil
		}
		return []prometheus.Metric{level("store_disk_free_bytes", "Bytes that are free on the disk of the store.", bytes)}
	}))
}

// Skew adds a metric of how far this process's clock is ahead of its cluster's.
func (m *Metrics) Skew(ahead func() (skew time.Duration, known bool)) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		skew, known := ahead()
		if !known {
			return nil
		}
		return []prometheus.Metric{level("clock_ahead_seconds",
			"How far the clock of this process is ahead of the cluster's; negative if it is behind.", skew.Seconds())}
	}))
}

// Journal adds the metrics of a journal.
func (m *Metrics) Journal(stats func() journal.Stats) {
	m.registry.MustRegister(reading(func() []prometheus.Metric {
		s := stats()
		return []prometheus.Metric{
			level("changes_in_flight", "Unfinished changes of this process, including deferred moves.", s.Entries),
			level("changes_lingering", "Ended changes of users and groups that are still on the in-flight list of this process.", s.Ended),
			level("moves_deferred", "Deferred moves of hot items.", s.Deferred),
			level("changes_waiting", "Decided changes that wait for libraries that could not be written.", s.Waiting),
			total("changes_refused_total", "Changes refused because too many were unfinished.", s.Refused),
			level("oldest_change_seconds", "Age of the oldest unfinished change that is not deferred.", s.Oldest.Seconds()),
			level("in_flight_lists", "In-flight lists of all processes, as of the last read.", s.InFlightLists),
			level("in_flight_lists_unreadable", "In-flight lists that this process could not read, as of the last read.", s.UnreadableLists),
			total("changes_resumed_total", "Changes finished in the background.", s.Resumed),
			total("changes_fenced_total", "Changes finished after their writer was fenced.", s.Fenced),
			total("repairs_requested_total", "Repairs of entries requested by readers.", s.RepairsRequested),
			total("repairs_dropped_total", "Repairs dropped because too many were waiting; readers request them again.", s.RepairsDropped),
			total("repairs_done_total", "Entries repaired.", s.RepairsDone),
			total("scrub_steps_total", "Steps of the scrubber.", s.ScrubSteps),
			total("scrub_finished_total",
				"Items, claims, leases, pastes and texts that a change left unfinished, without being in flight, and the scrubber finished.",
				s.ScrubFinished),
			total("scrub_mismatches_total",
				"Entries, records and memberships that the scrubber found to differ from what they are derived from.", s.ScrubMismatches),
		}
	}))
}
