package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"carrel/observe"
)

// TelemetryFlags say where traces and metrics are sent. OpenTelemetry's own environment
// variables apply if a flag is not given.
type TelemetryFlags struct {
	OTLPEndpoint     string        `name:"otlp-endpoint" help:"Collector that receives traces and metrics by OTLP over HTTP, such as http://127.0.0.1:4318. Without it, nothing is sent unless OpenTelemetry's own variables are set." placeholder:"URL"`
	OTLPHeadersFile  string        `name:"otlp-headers-file" help:"File with headers for the collector, one on each line, such as Authorization: Bearer ..." placeholder:"FILE"`
	OTLPMetricsEvery time.Duration `name:"otlp-metrics-every" help:"How often metrics are sent to the collector; 0s sends none." default:"1m" placeholder:"TIME"`
	TraceRatio       float64       `name:"trace-ratio" help:"Share of the traces that begin here which is recorded, from 0 to 1. A trace of a caller is recorded if the caller records it." default:"0.01" placeholder:"RATIO"`
}

// collectors are the targets of traces and of metrics. An empty URL means that nothing is
// sent.
type collectors struct{ Traces, Metrics observe.Collector }

// Collectors reads the collectors from the flags, and then from OpenTelemetry's variables.
// Errors do not repeat values that may contain a secret.
func (f *TelemetryFlags) Collectors(env func(string) string) (c collectors, err error) {
	if !(f.TraceRatio >= 0 && f.TraceRatio <= 1) { // also refuses NaN
		return c, WrongUsage("trace-ratio", strconv.FormatFloat(f.TraceRatio, 'g', -1, 64), "a number from 0 to 1")
	}
	if f.OTLPMetricsEvery < 0 || f.OTLPMetricsEvery > 0 && f.OTLPMetricsEvery < time.Second {
		return c, WrongUsage("otlp-metrics-every", f.OTLPMetricsEvery.String(), "a time of at least 1s, or 0s")
	}
	headers, err := f.headersOfFile()
	if err != nil {
		return c, err
	}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") && f.OTLPEndpoint == "" {
		return c, nil
	}
	if c.Traces, err = f.collector("TRACES", "v1/traces", headers, env); err != nil {
		return c, err
	}
	c.Metrics, err = f.collector("METRICS", "v1/metrics", headers, env)
	return c, err
}

// collector returns the collector of a signal.
func (f *TelemetryFlags) collector(signal, path string, headers map[string]string, env func(string) string) (c observe.Collector,
	err error) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	for _, v := range []struct {
		key, value string
		whole      bool // of this signal only: no path is added
	}{
		{"otlp-endpoint", f.OTLPEndpoint, false},
		{prefix + signal + "_ENDPOINT", env(prefix + signal + "_ENDPOINT"), true},
		{prefix + "ENDPOINT", env(prefix + "ENDPOINT"), false},
	} {
		if v.value == "" {
			continue
		}
		at, err := endpoint(v.key, v.value)
		if err != nil {
			return c, err
		}
		if !v.whole {
			at = at.JoinPath(path)
		}
		c.URL = at.String()
		break
	}
	for _, key := range []string{prefix + signal + "_PROTOCOL", prefix + "PROTOCOL"} {
		if p := env(key); p != "" && p != "http/protobuf" && c.URL != "" && f.OTLPEndpoint == "" {
			return c, WrongUsage(key, p, "http/protobuf")
		}
	}
	// The exporter reads these variables too, and would print errors in them, with secrets, to
	// standard error. So they are checked here first.
	if c.URL != "" {
		if err := readable(env, prefix+signal+"_", prefix); err != nil {
			return c, err
		}
		if err := addPairs(map[string]string{}, "OTEL_RESOURCE_ATTRIBUTES", env("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
			return c, err
		}
	}
	c.Headers = map[string]string{}
	for _, key := range []string{prefix + "HEADERS", prefix + signal + "_HEADERS"} {
		if err := addPairs(c.Headers, key, env(key)); err != nil {
			return c, err
		}
	}
	maps.Copy(c.Headers, headers)
	return c, nil
}

// endpoint reads the address of a collector.
func endpoint(key, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		if strings.Contains(text, "@") {
			text = "..."
		}
		return nil, WrongUsage(key, text, "http://HOST:PORT or https://HOST:PORT, where a collector receives OTLP over HTTP")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, NewUsageError(key + ": it takes a URL without user, password and query; put credentials in a header (otlp-headers-file)")
	}
	return u, nil
}

// headersOfFile reads the file of --otlp-headers-file.
func (f *TelemetryFlags) headersOfFile() (map[string]string, error) {
	if f.OTLPHeadersFile == "" {
		return nil, nil
	}
	b, err := os.ReadFile(f.OTLPHeadersFile)
	if err != nil {
		return nil, WrongUsage("otlp-headers-file", f.OTLPHeadersFile, "a file that can be read")
	}
	headers := map[string]string{}
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, NewUsageError(fmt.Sprintf("otlp-headers-file: line %d of %s is not NAME: VALUE", number, f.OTLPHeadersFile))
		}
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers, nil
}

// readable checks the files with certificates that the variables with some prefixes name.
func readable(env func(string) string, prefixes ...string) error {
	for _, prefix := range prefixes {
		key := prefix + "CERTIFICATE"
		if path := env(key); path != "" {
			if b, err := os.ReadFile(path); err != nil || !x509.NewCertPool().AppendCertsFromPEM(b) {
				return WrongUsage(key, path, "a file with certificates (PEM)")
			}
		}
		key = prefix + "CLIENT_CERTIFICATE"
		if cert, its := env(key), env(prefix+"CLIENT_KEY"); cert != "" || its != "" {
			if _, err := tls.LoadX509KeyPair(cert, its); err != nil {
				return WrongUsage(key, cert, "a file with a certificate (PEM), whose key is in that of "+prefix+"CLIENT_KEY")
			}
		}
	}
	return nil
}

// addPairs reads a variable in OpenTelemetry's format: name=value,name=value, with
// percent-encoding.
func addPairs(to map[string]string, key, text string) error {
	if text == "" {
		return nil
	}
	number := 0
	for pair := range strings.SplitSeq(text, ",") {
		number++
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return NewUsageError(fmt.Sprintf("%s: pair %d is not NAME=VALUE with special characters percent-encoded", key, number))
		}
		to[http.CanonicalHeaderKey(name)] = value
	}
	return nil
}
