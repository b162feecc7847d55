package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// Timeouts of sending. No request waits for telemetry. The process waits for it when it ends, at
// most for flushTimeout.
const (
	sendTimeout  = 10 * time.Second
	flushTimeout = 3 * time.Second
)

// ExportConfig configures where spans and metrics are sent, and which ones.
type ExportConfig struct {
	Traces, Metrics Collector
	// Ratio is the fraction of traces to record, among those that begin in this process.
	Ratio float64
	// MetricsEvery is how often metrics are sent; 0 for never.
	MetricsEvery time.Duration
	// Host and Instance identify the machine and this run of the process. Version is the version
	// of the program.
	Host, Instance, Version string
	Log                     *slog.Logger
}

// Collector receives one kind of telemetry by OTLP over HTTP.
type Collector struct {
	URL     string            // of that kind; empty if nothing is sent
	Headers map[string]string // may contain secrets
}

// Export sends spans and metrics until it is closed. A nil *Export sends nothing.
type Export struct {
	tracing *Tracing

	log    *slog.Logger
	sent   *exportLog
	spans  *sdk.TracerProvider
	meters *metric.MeterProvider // nil if metrics are not sent
	// stop cancels running requests.
	stop context.CancelFunc
}

// OpenExport starts sending. It contacts no collector, so that the process starts even if a
// collector is down.
func OpenExport(ctx context.Context, c ExportConfig, m *Metrics) (*Export, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	sent := &exportLog{log: c.Log, now: time.Now, secrets: secretsOf(c.Traces.Headers, c.Metrics.Headers), count: m.exported,
		failing: map[string]*outage{}}
	x := &Export{log: c.Log, sent: sent, stop: stop}
	// The OpenTelemetry libraries have one handler for the whole process, to which they pass the
	// errors that they cannot return.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { sent.ended("other", err) }))
	who, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "carrel"), attribute.String("service.version", c.Version),
			attribute.String("service.instance.id", c.Instance), attribute.String("host.name", c.Host)),
		resource.WithFromEnv())
	if err == nil && c.Traces.URL != "" {
		err = x.openSpans(ctx, c, who, sending{life, sent})
	}
	if err == nil && c.Metrics.URL != "" && c.MetricsEvery > 0 {
		err = x.openMeters(ctx, c, who, m, sending{life, sent})
	}
	if err != nil {
		x.Close(ctx)
		return nil, fmt.Errorf("preparing to send telemetry: %w", err)
	}
	return x, nil
}

// sending is the part that all exporters share: the context that Close cancels, and the log.
type sending struct {
	life context.Context
	log  *exportLog
}

// send sends one batch. It logs its errors and does not return them, because the SDK would log each
// of them.
func (s sending) send(ctx context.Context, signal string, do func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	s.log.ended(signal, do(ctx))
}

func (x *Export) openSpans(ctx context.Context, c ExportConfig, who *resource.Resource, s sending) error {
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(c.Traces.URL), otlptracehttp.WithHeaders(c.Traces.Headers),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithTimeout(sendTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second,
			MaxElapsedTime: sendTimeout}))
	if err != nil {
		return err
	}
	x.spans = sdk.NewTracerProvider(
		// The batcher drops spans when it is full. Nothing waits for it.
		sdk.WithBatcher(spanExporter{exporter, s}),
		sdk.WithSampler(sampling(c.Ratio, rate.NewLimiter(requestedPerSecond, requestedAtOnce))),
		sdk.WithResource(who))
	x.tracing = newTracing(x.spans.Tracer("carrel"))
	return nil
}

// spanExporter sends spans. It never returns errors.
type spanExporter struct {
	sdk.SpanExporter
	sending
}

// ExportSpans implements the SDK's SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	e.send(ctx, "traces", func(ctx context.Context) error { return e.SpanExporter.ExportSpans(ctx, spans) })
	return nil
}

func (x *Export) openMeters(ctx context.Context, c ExportConfig, who *resource.Resource, m *Metrics, s sending) error {
	exporter, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(c.Metrics.URL), otlpmetrichttp.WithHeaders(c.Metrics.Headers),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression), otlpmetrichttp.WithTimeout(sendTimeout),
		// The next batch of metrics includes these values.
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
	if err != nil {
		return err
	}
	x.meters = metric.NewMeterProvider(metric.WithResource(who), metric.WithReader(metric.NewPeriodicReader(
		meterExporter{exporter, s}, metric.WithInterval(c.MetricsEvery), metric.WithTimeout(sendTimeout),
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(m.registry))))))
	return nil
}

// meterExporter sends metrics. It never returns errors.
type meterExporter struct {
	metric.Exporter
	sending
}

// Export implements the SDK's Exporter.
func (e meterExporter) Export(ctx context.Context, figures *metricdata.ResourceMetrics) error {
	e.send(ctx, "metrics", func(ctx context.Context) error { return e.Exporter.Export(ctx, figures) })
	return nil
}

// Tracing returns the source of the spans that are sent, or nil if none are.
func (x *Export) Tracing() *Tracing {
	if x == nil {
		return nil
	}
	return x.tracing
}

// Close sends the remaining telemetry, but gives up after a short time.
func (x *Export) Close(ctx context.Context) {
	if x == nil {
		return
	}
	defer x.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	var both sync.WaitGroup
	var spans, meters error
	if x.spans != nil {
		both.Go(func() { spans = x.spans.Shutdown(ctx) })
	}
	if x.meters != nil {
		both.Go(func() { meters = x.meters.Shutdown(ctx) })
	}
	both.Wait()
	if err := errors.Join(spans, meters); err != nil {
		x.log.WarnContext(ctx, "some telemetry was not sent before the process ended", "error", x.sent.reason(err))
	}
}
