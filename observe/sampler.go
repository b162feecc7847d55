package observe

import (
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// The rate and the burst of traces that callers may request by a header. They are high enough for a
// proxy that samples, and limit the work that anybody can cause.
const (
	requestedPerSecond = 50
	requestedAtOnce    = 100
)

// sampling returns a sampler that records a fraction of the traces that begin here. It records
// traces of callers if the caller has sampled them, up to the limit of requested.
func sampling(ratio float64, requested *rate.Limiter) sdk.Sampler {
	return sdk.ParentBased(sdk.TraceIDRatioBased(ratio), sdk.WithRemoteParentSampled(bounded{requested}))
}

// bounded samples as long as its limiter allows. It cannot choose a fraction by the id of the trace,
// because the caller chooses that too.
type bounded struct{ limiter *rate.Limiter }

// ShouldSample implements the SDK's Sampler.
func (b bounded) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if b.limiter.Allow() {
		return sdk.AlwaysSample().ShouldSample(p)
	}
	return sdk.NeverSample().ShouldSample(p)
}

// Description implements the SDK's Sampler.
func (b bounded) Description() string { return fmt.Sprintf("Bounded{%v}", b.limiter.Limit()) }
