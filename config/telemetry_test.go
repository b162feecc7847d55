package config

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/observe"
)

// environment returns a function like os.Getenv for these variables only: name, value, name, value.
func environment(variables []string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(variables); i += 2 {
			if variables[i] == name {
				return variables[i+1]
			}
		}
		return ""
	}
}

func TestCollectors_FlagsTakePrecedence(t *testing.T) {
	keyed := file(t, "headers", "Authorization: Bearer key\n\n X-Tenant:  a b \n")
	none := observe.Collector{Headers: map[string]string{}}
	to := func(url string, headers ...string) observe.Collector {
		c := observe.Collector{URL: url, Headers: map[string]string{}}
		for i := 0; i < len(headers); i += 2 {
			c.Headers[headers[i]] = headers[i+1]
		}
		return c
	}
	for _, tc := range []struct {
		name            string
		flags           TelemetryFlags
		env             []string
		traces, metrics observe.Collector
	}{
		{name: "nowhere", traces: none, metrics: none},
		{name: "a flag", flags: TelemetryFlags{OTLPEndpoint: "http://127.0.0.1:4318"},
			traces: to("http://127.0.0.1:4318/v1/traces"), metrics: to("http://127.0.0.1:4318/v1/metrics")},
		{name: "below a path, with headers", flags: TelemetryFlags{OTLPEndpoint: "https://otlp.example/in/", OTLPHeadersFile: keyed},
			traces:  to("https://otlp.example/in/v1/traces", "Authorization", "Bearer key", "X-Tenant", "a b"),
			metrics: to("https://otlp.example/in/v1/metrics", "Authorization", "Bearer key", "X-Tenant", "a b")},
		{name: "OpenTelemetry's variables", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all.example",
			"OTEL_EXPORTER_OTLP_HEADERS", "a=1, b=x%20y",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.example/take", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "b=z",
			"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
			traces: to("http://traces.example/take", "A", "1", "B", "x y"), metrics: to("http://all.example/v1/metrics", "A", "1", "B", "z")},
		{name: "the file wins, whatever the case of the names", flags: TelemetryFlags{OTLPEndpoint: "http://flag.example",
			OTLPHeadersFile: keyed},
			env:     []string{"OTEL_EXPORTER_OTLP_HEADERS", "authorization=old,x-tenant=old"},
			traces:  to("http://flag.example/v1/traces", "Authorization", "Bearer key", "X-Tenant", "a b"),
			metrics: to("http://flag.example/v1/metrics", "Authorization", "Bearer key", "X-Tenant", "a b")},
		{name: "the flag wins", flags: TelemetryFlags{OTLPEndpoint: "http://flag.example"},
			env: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.example", "OTEL_SDK_DISABLED", "true",
				"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
			traces: to("http://flag.example/v1/traces"), metrics: to("http://flag.example/v1/metrics")},
		{name: "switched off", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all.example", "OTEL_SDK_DISABLED", "TRUE"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.flags.Collectors(environment(tc.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]observe.Collector{tc.traces, tc.metrics}, []observe.Collector{got.Traces, got.Metrics}); diff != "" {
				t.Errorf("traces, metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCollectors_WrongSettingsAreRefused: the error names the wrong setting, and contains no secret
// part of its value.
func TestCollectors_WrongSettingsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags TelemetryFlags
		env   []string
		want  string
	}{
		{"no URL", TelemetryFlags{OTLPEndpoint: "collector:4318"}, nil,
			`otlp-endpoint: got "collector:4318"; it takes http://HOST:PORT or https://HOST:PORT, where a collector receives OTLP over HTTP`},
		{"no host", TelemetryFlags{OTLPEndpoint: "http://:4318"}, nil, `otlp-endpoint: got "http://:4318"; it takes http`},
		{"a password", TelemetryFlags{OTLPEndpoint: "https://me:secret@otlp.example"}, nil,
			"otlp-endpoint: it takes a URL without user, password and query"},
		{"a password for another scheme", TelemetryFlags{OTLPEndpoint: "grpc://me:secret@otlp.example"}, nil,
			`otlp-endpoint: got "..."; it takes http`},
		{"a key in the query", TelemetryFlags{OTLPEndpoint: "https://otlp.example/?key=secret"}, nil, "otlp-endpoint: it takes a URL without"},
		{"a variable", TelemetryFlags{}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "otlp.example"},
			`OTEL_EXPORTER_OTLP_ENDPOINT: got "otlp.example"; it takes http`},
		{"another protocol", TelemetryFlags{}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://otlp.example",
			"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
			`OTEL_EXPORTER_OTLP_PROTOCOL: got "grpc"; it takes http/protobuf`},
		{"headers", TelemetryFlags{}, []string{"OTEL_EXPORTER_OTLP_HEADERS", "a=1,secret"},
			"OTEL_EXPORTER_OTLP_HEADERS: pair 2 is not NAME=VALUE"},
		{"headers of a signal", TelemetryFlags{}, []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%zzsecret"},
			"OTEL_EXPORTER_OTLP_TRACES_HEADERS: pair 1 is not NAME=VALUE"},
		{"attributes", TelemetryFlags{OTLPEndpoint: "http://otlp.example"}, []string{"OTEL_RESOURCE_ATTRIBUTES", "a=1,secret"},
			"OTEL_RESOURCE_ATTRIBUTES: pair 2 is not NAME=VALUE"},
		{"no certificates", TelemetryFlags{OTLPEndpoint: "http://otlp.example"}, []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "missing"},
			`OTEL_EXPORTER_OTLP_CERTIFICATE: got "missing"; it takes a file with certificates (PEM)`},
		{"other certificates", TelemetryFlags{OTLPEndpoint: "http://otlp.example"},
			[]string{"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "telemetry_test.go"},
			`OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE: got "telemetry_test.go"; it takes`},
		{"no key", TelemetryFlags{OTLPEndpoint: "http://otlp.example"}, []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "missing"},
			`OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: got "missing"; it takes a file with a certificate (PEM), whose key is in that of OTEL_`},
		{"only a key", TelemetryFlags{OTLPEndpoint: "http://otlp.example"}, []string{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "missing"},
			`OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: got ""; it takes`},
		{"no file", TelemetryFlags{OTLPHeadersFile: "missing"}, nil, `otlp-headers-file: got "missing"; it takes a file that can be read`},
		{"a ratio", TelemetryFlags{TraceRatio: 1.5}, nil, `trace-ratio: got "1.5"; it takes a number from 0 to 1`},
		{"no number", TelemetryFlags{TraceRatio: math.NaN()}, nil, `trace-ratio: got "NaN"; it takes a number from 0 to 1`},
		{"too often", TelemetryFlags{OTLPMetricsEvery: time.Millisecond}, nil,
			`otlp-metrics-every: got "1ms"; it takes a time of at least 1s, or 0s`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.flags.Collectors(environment(tc.env))
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	headers := file(t, "headers", "A: 1\nBearer secret\n")
	_, err := (&TelemetryFlags{OTLPHeadersFile: headers}).Collectors(environment(nil))
	if want := "otlp-headers-file: line 2 of " + headers + " is not NAME: VALUE"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
