package edge

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"carrel/answer"
	"carrel/core/fault"
	"carrel/edge/connection"
)

// RawText reads the text of a paste by its id or the digits of its id. It returns nil if there is
// none.
type RawText func(ctx context.Context, id string) (*string, error)

// rawBytes is the maximal length of a raw text. That much memory is reserved while it is read.
const rawBytes = 512 << 10

// Raw serves the texts of pastes as plain text that browsers do not execute, sniff or cache. It
// sets no cookie and requires no authentication, so that pages of all sites may read it. A text
// costs the address one point, and its bytes as those of an answer.
func (h *Handler) Raw(read RawText) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w.Header()["Access-Control-Allow-Origin"] = everySite
		w.Header()["Access-Control-Expose-Headers"] = retryAfter
		code := h.serveRaw(w, r, read)
		h.observe("", code, time.Since(began))
	})
}

// preflightRaw lets pages of all sites send every header but Authorization: tracing adds headers to requests.
func preflightRaw(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Access-Control-Allow-Origin"] = everySite
	w.Header()["Access-Control-Allow-Headers"] = everySite
	w.Header().Set("Access-Control-Max-Age", strconv.Itoa(preflightSeconds))
	w.WriteHeader(http.StatusNoContent)
}

// serveRaw answers a request for a raw text, and returns the code of its refusal, or codeOK.
func (h *Handler) serveRaw(w http.ResponseWriter, r *http.Request, read RawText) (code string) {
	a := h.rates.account("", r)
	if refused := a.begin(); refused != nil {
		return refuseRaw(w, refused)
	}
	text, refused := h.readRaw(r, a, read)
	if refused != nil {
		return refuseRaw(w, refused)
	}
	defer h.memory.Free(a.holder(), len(text))
	a.bill(priceOf(len(text)))
	head := w.Header()
	head["Content-Type"] = []string{"text/plain; charset=utf-8"}
	head["Cache-Control"] = []string{"no-store"}
	head["Content-Length"] = []string{strconv.Itoa(len(text))}
	secure(head)
	if r.Method != http.MethodHead {
		for len(text) > 0 { // one piece at a time is copied
			piece := text[:min(len(text), connection.PieceBytes)]
			if _, err := w.Write([]byte(piece)); err != nil { // the client is gone
				break
			}
			text = text[len(piece):]
		}
	}
	return codeOK
}

// readRaw reads a text. The account holds memory of its length afterwards, and nothing else.
func (h *Handler) readRaw(r *http.Request, a account, read RawText) (string, *refusal) {
	if !h.operations.Hold(a.holder(), 1) {
		return "", tooManyOperations()
	}
	defer h.operations.Free(a.holder(), 1)
	if !h.memory.Hold(a.holder(), rawBytes) {
		return "", h.unsent(answer.ErrNoMemory)
	}
	kept := 0
	defer func() { h.memory.Free(a.holder(), rawBytes-kept) }()
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.Query)
	defer cancel()
	text, err := read(ctx, r.PathValue("id"))
	switch {
	case err == nil && text != nil:
		kept = len(*text)
		return *text, nil
	case err == nil, fault.ReasonOf(err) == fault.ReasonBadInput:
		return "", refuse(http.StatusNotFound, codeNotFound, "There is no such paste; it may have expired or been deleted.")
	}
	shown := h.presenter.present(ctx, err)
	code, _ := shown.Extensions["code"].(string)
	return "", refuseUntil(http.StatusServiceUnavailable, code, shown.Message, 1)
}

// refuseRaw answers with a line of text, and returns the code of the refusal.
func refuseRaw(w http.ResponseWriter, r *refusal) string {
	if r.status == http.StatusTooManyRequests {
		w.Header().Set("Connection", "close")
	}
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.retryAfter))
	}
	plain(w, r.status, r.errs[0].Message+"\n")
	return firstCode(r.errs)
}
