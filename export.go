package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"runtime/debug"

	"carrel/config"
	"carrel/observe"
)

// openExport begins to send telemetry; it is nil where none is wanted.
func openExport(ctx context.Context, c *config.Config, m *observe.Metrics, log *slog.Logger) (*observe.Export, error) {
	to, err := c.Collectors(os.Getenv)
	if err != nil || to.Traces.URL == "" && to.Metrics.URL == "" {
		return nil, err
	}
	host, err := surroundings{hostID: c.HostID}.host()
	if err != nil {
		return nil, err
	}
	var run [4]byte
	_, _ = rand.Read(run[:]) // it never fails
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return observe.OpenExport(ctx, observe.ExportConfig{
		Traces: to.Traces, Metrics: to.Metrics, Ratio: c.TraceRatio, MetricsEvery: c.OTLPMetricsEvery,
		Host: host, Instance: host + "-" + hex.EncodeToString(run[:]), Version: version, Log: log,
	}, m)
}
