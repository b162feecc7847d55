package observe

import (
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// Traces that callers may ask for, a second and at once. A gateway in front that
// samples gets what it has sampled; whoever finds out that a header makes work
// gets no more of it than this.
const (
	askedPerSecond = 50
	askedAtOnce    = 100
)

// sampling records a part of the traces that begin here, and of those that begin
// elsewhere what was sampled there, within bounds.
func sampling(ratio float64, asked *rate.Limiter) sdk.Sampler {
	return sdk.ParentBased(sdk.TraceIDRatioBased(ratio), sdk.WithRemoteParentSampled(bounded{asked}))
}

// bounded samples as long as its limiter lets it. It has no other way to choose:
// the trace's id, by which a part might be taken, is the caller's too.
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
