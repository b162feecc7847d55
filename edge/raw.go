package edge

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"carrel/core/fault"
)

// RawText reads the text of a paste by its id or the digits of its id. It returns nil if there is
// none.
type RawText func(ctx context.Context, id string) (*string, error)

// rawBytes is the maximal length of a raw text. That much memory is reserved while it is read and
// sent.
const rawBytes = 512 << 10

// Raw serves the texts of pastes as plain text that browsers do not execute, sniff or cache. It
// sets no cookie and requires no authentication. A text costs the address one point.
func (h *Handler) Raw(read RawText) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		code := h.serveRaw(w, r, read)
		h.observe("", code, time.Since(began))
	})
}

// serveRaw answers a request for a raw text, and returns the code of its refusal, or codeOK.
func (h *Handler) serveRaw(w http.ResponseWriter, r *http.Request, read RawText) (code string) {
	if refused := h.rates.account("", r).begin(); refused != nil {
		return refuseRaw(w, refused)
	}
	busy := refuseUntil(http.StatusServiceUnavailable, codeUnavailable, "Too many requests are running; try again.", 1)
	defer h.running.Add(-1)
	if h.running.Add(1) > int64(h.limits.Concurrent) || !h.memory.Reserve(rawBytes) {
		return refuseRaw(w, busy)
	}
	defer h.memory.Free(rawBytes)
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.Query)
	defer cancel()
	text, err := read(ctx, r.PathValue("id"))
	switch {
	case err == nil && text != nil:
	case err == nil, fault.ReasonOf(err) == fault.ReasonBadInput:
		return refuseRaw(w, refuse(http.StatusNotFound, codeNotFound, "There is no such paste; it may have expired or been deleted."))
	default:
		shown := h.presenter.present(ctx, err)
		code, _ := shown.Extensions["code"].(string)
		return refuseRaw(w, refuseUntil(http.StatusServiceUnavailable, code, shown.Message, 1))
	}
	head := w.Header()
	head["Content-Type"] = []string{"text/plain; charset=utf-8"}
	head["Cache-Control"] = []string{"no-store"}
	head["Content-Length"] = []string{strconv.Itoa(len(*text))}
	secure(head)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(*text)) // the client may be gone
	}
	return codeOK
}

// refuseRaw answers with a line of text, and returns the code of the refusal.
func refuseRaw(w http.ResponseWriter, r *refusal) string {
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.retryAfter))
	}
	plain(w, r.status, r.errs[0].Message+"\n")
	return firstCode(r.errs)
}
