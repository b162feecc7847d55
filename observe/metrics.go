package observe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
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
	histogram := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "carrel", Name: name, Help: help, Buckets: bounds}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: histogram("request_seconds", "Duration of GraphQL requests, by operation type and code of the first error; OK without errors.",
			requestBounds, "operation", "code"),
		calls: histogram("store_call_seconds",
			"Duration of calls of the embedded store, or of statements sent to the cluster, by operation and outcome.",
			callBounds, "operation", "outcome"),
		again: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "store_calls_again_total",
			Help: "Statements sent again: retry after a node failed, or hedge to a second node because one was slow."},
			[]string{"operation", "why"}),
		lag: histogram("fanout_lag_seconds",
			"Time from the decision of a change until all its libraries have it; outcome left: the rest was left to the background.",
			lagBounds, "outcome"),
		hidden: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "entries_hidden_total",
			Help: "Library entries that pages read but did not show: stale ones do not match their item, unseen ones are hidden from the viewer."},
			[]string{"reason"}),
		copies: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "header_copies_total",
			Help: "Lookups in the header cache, by outcome: hit, miss, or refused because a change was in flight or the copy was too old."},
			[]string{"outcome"}),
		principalCopies: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "principal_copies_total",
			Help: "Lookups of users and groups in the cache of their headers, by outcome: hit, miss, or refused because a " +
				"change was too recent or the copy was too old."},
			[]string{"outcome"}),
		wrongCopies: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "carrel", Name: "header_copies_wrong_total",
			Help: "Cached headers that were served although they were not current, as found by samples."}),
		followers: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "carrel", Name: "followers",
			Help: "Open subscriptions to changes of libraries."}),
		delivered: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "carrel", Name: "changes_delivered_total",
			Help: "Events delivered to subscribers of libraries."}),
		cutOff: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "carrel", Name: "followers_cut_off_total",
			Help: "Subscriptions ended because their clients did not read their events in time."}),
		loads: histogram("loader_ids", "Ids in one batch of a loader, by what it loads.", idBounds, "loader"),
		points: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "points_total",
			Help: "Rate limit points spent, by payer: a signed-in viewer, or an address without one."}, []string{"payer"}),
		closes: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "socket_closes_total",
			Help: "Closed websockets, by close code; client: closed or disconnected by the client; slow: the client did not read in time."},
			[]string{"code"}),
		exports: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "carrel", Name: "telemetry_exports_total",
			Help: "Batches of traces and metrics sent to a collector by OTLP, by outcome."}, []string{"signal", "outcome"}),
	}
	m.registry.MustRegister(m.requests, m.calls, m.again, m.lag, m.hidden, m.copies, m.principalCopies, m.wrongCopies,
		m.followers, m.delivered, m.cutOff,
		m.loads, m.points, m.closes, m.exports,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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

// Cluster adds metrics of how many statements are running and how many wait, which are read whenever
// the metrics are collected.
func (m *Metrics) Cluster(load func() (running, waiting int)) {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "carrel", Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(
		gauge("store_statements_under_way", "Statements sent to the cluster and not answered yet.",
			func() int { running, _ := load(); return running }),
		gauge("store_statements_waiting", "Statements that wait to be sent to the cluster.", func() int { _, waiting := load(); return waiting }))
}

// Copies adds the metrics of the header cache, which are read whenever the metrics are collected.
func (m *Metrics) Copies(stats func() headercache.Stats) {
	gauge := func(name, help string, value func(headercache.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "carrel", Name: name, Help: help},
			func() float64 { return value(stats()) })
	}
	m.registry.MustRegister(
		gauge("header_copies", "Cached headers.", func(s headercache.Stats) float64 { return float64(s.Headers) }),
		gauge("header_cache_bytes", "Memory that the cached headers take, approximately.",
			func(s headercache.Stats) float64 { return float64(s.Bytes) }),
		gauge("header_copies_in_use", "1 while pages are served from cached headers, 0 while all headers are read.",
			func(s headercache.Stats) float64 {
				if s.InUse {
					return 1
				}
				return 0
			}),
		gauge("in_flight_set", "Items, users and groups with changes in flight in any process, as of the last read for a page.",
			func(s headercache.Stats) float64 { return float64(s.InFlight) }))
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

// Streams adds metrics of how many event streams and sockets are open, which are read whenever the
// metrics are collected.
func (m *Metrics) Streams(open func() (events, sockets int)) {
	gauge := func(kind string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "carrel", Name: "streams",
			Help: "Open event streams and websockets, by kind.", ConstLabels: prometheus.Labels{"kind": kind}},
			func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(
		gauge("events", func() int { events, _ := open(); return events }),
		gauge("socket", func() int { _, sockets := open(); return sockets }))
}

// Answers adds a metric of the memory that is reserved for answers, which is read whenever the
// metrics are collected.
func (m *Metrics) Answers(bytes func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "carrel", Name: "answer_bytes",
		Help: "Memory reserved for responses that are being built or sent."},
		func() float64 { return float64(bytes()) }))
}

// Disk adds a metric of how many bytes are free on the disk of the store, which is read whenever the
// metrics are collected. While it is unknown the metric is absent.
func (m *Metrics) Disk(free func() (bytes uint64, known bool)) {
	m.registry.MustRegister(&knownCollector{
		prometheus.NewDesc("carrel_store_disk_free_bytes", "Bytes that are free on the disk of the store.", nil, nil),
		func() (float64, bool) { bytes, known := free(); return float64(bytes), known }})
}

// exported counts a batch of telemetry that was sent or failed.
func (m *Metrics) exported(signal, outcome string) { m.exports.WithLabelValues(signal, outcome).Inc() }

// Skew adds a metric of how far this process's clock is ahead of its cluster's, which is read
// whenever the metrics are collected. While it is unknown the metric is absent.
func (m *Metrics) Skew(ahead func() (skew time.Duration, known bool)) {
	m.registry.MustRegister(&knownCollector{
		prometheus.NewDesc("carrel_clock_ahead_seconds",
			"How far the clock of this process is ahead of the cluster's; negative if it is behind.", nil, nil),
		func() (float64, bool) { skew, known := ahead(); return skew.Seconds(), known }})
}

// knownCollector collects a value while it is known.
type knownCollector struct {
	desc  *prometheus.Desc
	value func() (value float64, known bool)
}

// Describe implements prometheus.Collector.
func (c *knownCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *knownCollector) Collect(to chan<- prometheus.Metric) {
	if value, known := c.value(); known {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value)
	}
}

// Journal adds the metrics of a journal, which are read whenever the metrics are collected.
func (m *Metrics) Journal(stats func() journal.Stats) {
	m.registry.MustRegister(&journalCollector{stats, journalFigures()})
}

// journalCollector collects the metrics of a journal.
type journalCollector struct {
	stats   func() journal.Stats
	figures []journalFigure
}

// journalFigure is a metric of a journal.
type journalFigure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(journal.Stats) float64
}

// journalFigures are all metrics of a journal.
func journalFigures() []journalFigure {
	return []journalFigure{
		level("changes_in_flight", "Unfinished changes of this process, including deferred moves.",
			func(s journal.Stats) float64 { return float64(s.Entries) }),
		level("changes_lingering", "Ended changes of users and groups that are still on the in-flight list of this process.",
			func(s journal.Stats) float64 { return float64(s.Ended) }),
		level("moves_deferred", "Deferred moves of hot items.", func(s journal.Stats) float64 { return float64(s.Deferred) }),
		level("changes_waiting", "Decided changes that wait for libraries that could not be written.",
			func(s journal.Stats) float64 { return float64(s.Waiting) }),
		total("changes_refused_total", "Changes refused because too many were unfinished.", func(s journal.Stats) int64 { return s.Refused }),
		level("oldest_change_seconds", "Age of the oldest unfinished change that is not deferred.",
			func(s journal.Stats) float64 { return s.Oldest.Seconds() }),
		level("in_flight_lists", "In-flight lists of all processes, as of the last read.",
			func(s journal.Stats) float64 { return float64(s.InFlightLists) }),
		level("in_flight_lists_unreadable", "In-flight lists that this process could not read, as of the last read.",
			func(s journal.Stats) float64 { return float64(s.UnreadableLists) }),
		total("changes_resumed_total", "Changes finished in the background.", func(s journal.Stats) int64 { return s.Resumed }),
		total("changes_fenced_total", "Changes finished after their writer was fenced.", func(s journal.Stats) int64 { return s.Fenced }),
		total("repairs_requested_total", "Repairs of entries requested by readers.", func(s journal.Stats) int64 { return s.RepairsRequested }),
		total("repairs_dropped_total", "Repairs dropped because too many were waiting; readers request them again.",
			func(s journal.Stats) int64 { return s.RepairsDropped }),
		total("repairs_done_total", "Entries repaired.", func(s journal.Stats) int64 { return s.RepairsDone }),
		total("scrub_steps_total", "Steps of the scrubber.", func(s journal.Stats) int64 { return s.ScrubSteps }),
		total("scrub_finished_total",
			"Items, claims, leases, pastes and texts that a change left unfinished, without being in flight, and the scrubber finished.",
			func(s journal.Stats) int64 { return s.ScrubFinished }),
		total("scrub_mismatches_total", "Entries, records and memberships that the scrubber found to differ from what they are derived from.",
			func(s journal.Stats) int64 { return s.ScrubMismatches }),
	}
}

func level(name, help string, value func(journal.Stats) float64) journalFigure {
	return journalFigure{prometheus.NewDesc("carrel_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

func total(name, help string, value func(journal.Stats) int64) journalFigure {
	return journalFigure{prometheus.NewDesc("carrel_"+name, help, nil, nil), prometheus.CounterValue,
		func(s journal.Stats) float64 { return float64(value(s)) }}
}

// Describe implements prometheus.Collector.
func (c *journalCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *journalCollector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	for _, f := range c.figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(s))
	}
}
