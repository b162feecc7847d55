package edge

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/observe"
)

// pooledBytes is the largest buffer that is kept for reuse: a few pages of a library. Larger ones
// are rare, and would stay large.
const pooledBytes = 256 << 10

// exchange is one request with its answer. It is reused for later requests.
type exchange struct {
	intake

	accepted
	profile    Profile
	status     int
	allow      string
	challenge  string
	retryAfter int
	out        []byte
	// op is the operation that is answered, or nil. Its data is in out, or, if it is too long to
	// copy, between the first split bytes of out and the rest.
	op    *operation
	data  [][]byte
	split int
	// compress reports that the answer may be compressed. zipped holds the compressed answer.
	compress bool
	zipped   bytes.Buffer
	// opened reports that an event stream was opened, which reports its own outcome.
	opened bool

	payer account // nobody before the token is checked
	began time.Time
	span  *observe.Operation
	report
}

// report is what observers learn about a request.
type report struct {
	operation, name string // type and name of its operation
	code            string // its outcome
	cost            int    // of its operation
	sent            int    // number of events, for a subscription
}

// outcome returns the outcome for the span of the request.
func (t report) outcome(transport string, status int) observe.Outcome {
	return observe.Outcome{Type: t.operation, Name: t.name, Transport: transport, Code: t.code, Status: status, Cost: t.cost, Events: t.sent}
}

// reset clears the answer and keeps its buffers.
func (x *exchange) reset() {
	x.zipped.Reset()
	*x = exchange{intake: x.intake, zipped: x.zipped, accepted: x.accepted, profile: x.profile, out: x.out[:0]}
}

// restart discards the answer, to write another one to the same request.
func (x *exchange) restart() {
	began, span, opened, report, op, payer := x.began, x.span, x.opened, x.report, x.op, x.payer
	x.reset()
	x.began, x.span, x.opened, x.report, x.op, x.payer = began, span, opened, report, op, payer
}

// answer writes the outcome of an operation.
func (x *exchange) answer(done *executed, report *costReported) *refusal {
	if done.isNull() && len(done.errors) > 0 {
		if r := wholeFailure(done.errors); r != nil {
			return r
		}
	}
	x.status, x.code, x.retryAfter = http.StatusOK, firstCode(done.errors), retryAfterOf(done.errors)
	if len(done.errors) > 0 && x.media == mediaGraphQL && x.profile == ProfileDraft {
		x.status = statusPartial
	}
	x.out = done.head(x.out)
	if done.size > pooledBytes {
		x.data, x.split = done.data, len(x.out)
	} else {
		for _, chunk := range done.data {
			x.out = append(x.out, chunk...)
		}
	}
	x.out = done.tail(x.out, report)
	return nil
}

// wholeFailure returns a refusal in place of the result of an operation without data whose first
// error has its own status, and nil otherwise.
func wholeFailure(errs gqlerror.List) *refusal {
	r := &refusal{errs: errs, retryAfter: retryAfterOf(errs)}
	switch errs[0].Extensions["code"] {
	case codeUnavailable:
		r.status = http.StatusServiceUnavailable
	case codeTimeout:
		r.status = http.StatusGatewayTimeout
	default:
		return nil
	}
	return r
}

// retryAfterOf returns the number of seconds after which everything that failed may be retried, or
// 0 if no error has one. The Retry-After header is sent with status 200, too: most root fields are
// nullable, so an answer from a busy store often has data and errors.
func retryAfterOf(errs gqlerror.List) int {
	longest := 0
	for _, err := range errs {
		if seconds, ok := err.Extensions["retryAfter"].(int); ok {
			longest = max(longest, seconds)
		}
	}
	return longest
}

// firstCode returns the code of the first error, or codeOK if there is none.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return codeOK
	}
	if code, ok := errs[0].Extensions["code"].(string); ok {
		return code
	}
	return codeInternal
}

// refuse writes a refusal, which has errors but no member data.
func (x *exchange) refuse(r *refusal) {
	if x.media == mediaNone {
		x.media = mediaJSON
	}
	x.code = firstCode(r.errs)
	x.status = r.statusOf(x.media, x.profile)
	x.allow, x.challenge, x.retryAfter = r.allow, r.challenge, r.retryAfter
	x.out = append(appendErrors(append(x.out[:0], '{'), r.errs), '}')
}

func appendErrors(out []byte, errs gqlerror.List) []byte {
	return append(append(out, `"errors":`...), marshalErrors(errs)...)
}

func marshalErrors(errs gqlerror.List) []byte {
	b, err := json.Marshal(errs)
	if err != nil { // errors contain only strings and numbers
		b = []byte(`[{"message":"Internal error.","extensions":{"code":"` + codeInternal + `"}}]`)
	}
	return b
}

// send writes the answer to the client.
func (x *exchange) send(w http.ResponseWriter, zip *zipper) {
	header := w.Header()
	header["Content-Type"] = []string{x.media.contentType()}
	header["Cache-Control"] = []string{"private, no-store"}
	header["Vary"] = append(header["Vary"], "Accept, Accept-Encoding")
	secure(header)
	x.payer.advertise(header)
	if x.allow != "" {
		header.Set("Allow", x.allow)
	}
	if x.challenge != "" {
		header.Set("WWW-Authenticate", x.challenge)
	}
	if x.status == http.StatusTooManyRequests {
		header.Set("Connection", "close") // what the client has sent after the request is not paid for
	}
	if x.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(x.retryAfter))
	}
	if x.data != nil {
		x.sendLong(w, zip)
		return
	}
	out := x.out
	if x.compress && zip.pays(len(out)) && zip.zip(&x.zipped, out) {
		out = x.zipped.Bytes()
		header["Content-Encoding"] = []string{"gzip"}
	}
	header["Content-Length"] = []string{strconv.Itoa(len(out))}
	w.WriteHeader(x.status)
	_, _ = w.Write(out) // the client may be gone
}

// sendLong writes a long answer piece by piece, without copying it.
func (x *exchange) sendLong(w http.ResponseWriter, zip *zipper) {
	pieces := append(append([][]byte{x.out[:x.split]}, x.data...), x.out[x.split:])
	if x.compress {
		w.Header()["Content-Encoding"] = []string{"gzip"}
		w.WriteHeader(x.status)
		zip.stream(w, pieces)
		return
	}
	w.Header()["Content-Length"] = []string{strconv.Itoa(length(pieces))}
	w.WriteHeader(x.status)
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}
