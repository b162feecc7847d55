package edge

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"carrel/auth"
)

// warnEvery is the minimal interval between two log lines about one document: clients send the same
// ones many times a second.
const warnEvery = time.Minute

// maxLoggedName limits the length of an operation name in a log line, in bytes, because a client
// has chosen it.
const maxLoggedName = 100

// warning tells operators which operations exceed limits that are not enforced yet.
type warning struct {
	log *slog.Logger
	// exceeded is called with the code of each limit that an operation exceeds.
	exceeded func(code string)
}

// warn reports an operation that will be run although it exceeds limits.
func (h *Handler) warn(ctx context.Context, op *operation, caller auth.Caller) {
	if h.warning == nil {
		return
	}
	doc, refused := h.compiler.document(op.RawQuery)
	if refused != nil { // it was valid a moment ago
		return
	}
	waived := doc.waived
	if costly := overCost(op.cost, h.limits.Cost); costly != nil {
		waived = append(slices.Clip(waived), costly)
	}
	if len(waived) == 0 {
		return
	}
	var codes, why []string
	for _, r := range waived {
		if code := firstCode(r.errs); !slices.Contains(codes, code) {
			codes = append(codes, code)
			h.warning.exceeded(code)
		}
		why = append(why, r.errs[0].Message)
	}
	if !doc.mayWarn(time.Now()) {
		return
	}
	name := op.Operation.Name
	h.warning.log.WarnContext(ctx, "a document exceeds limits and is run, because limits only warn", "codes", codes, "why", why,
		"type", string(op.Operation.Operation), "operation", name[:min(len(name), maxLoggedName)], "signed_in", caller.SignedIn())
}

// mayWarn reports whether a log line about the document is due, and records its time.
func (d *document) mayWarn(now time.Time) bool {
	last := d.warned.Load()
	return (last == 0 || now.UnixNano()-last >= int64(warnEvery)) && d.warned.CompareAndSwap(last, now.UnixNano())
}
