package edge

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// pooledBytes is the largest buffer that is kept for later requests: a few
// pages of a library. Larger ones are rare and would stay large.
const pooledBytes = 256 << 10

// exchange is one request with its answer. It is used again by later ones.
type exchange struct {
	body    bytes.Buffer
	limited io.LimitedReader

	media      mediaType
	status     int
	allow      string
	challenge  string
	retryAfter int
	out        []byte

	// What is told of the request: the type of its operation, and its outcome.
	operation, code string
}

// reset forgets everything but the room of the buffers.
func (x *exchange) reset() {
	x.body.Reset()
	*x = exchange{body: x.body, media: x.media, out: x.out[:0]}
}

// answer writes the outcome of an operation. The data is taken as it is: it
// was written as JSON already, and marshalling the whole once more is a tenth
// of what a page costs.
func (x *exchange) answer(resp *graphql.Response) *refusal {
	if noData := len(resp.Data) == 0 || string(resp.Data) == "null"; noData && len(resp.Errors) > 0 {
		if r := wholeFailure(resp.Errors); r != nil {
			return r
		}
	}
	x.status, x.code = http.StatusOK, firstCode(resp.Errors)
	x.out = append(x.out, '{')
	if len(resp.Errors) > 0 {
		x.appendErrors(resp.Errors)
		x.out = append(x.out, ',')
	}
	x.out = append(x.out, `"data":`...)
	if len(resp.Data) == 0 {
		x.out = append(x.out, "null"...)
	}
	x.out = append(x.out, resp.Data...)
	x.out = append(x.out, '}')
	return nil
}

// wholeFailure is the refusal that stands for an operation of which nothing
// was done, where its first error has a status of its own.
func wholeFailure(errs gqlerror.List) *refusal {
	switch errs[0].Extensions["code"] {
	case codeUnavailable:
		r := &refusal{status: http.StatusServiceUnavailable, errs: errs}
		r.retryAfter, _ = errs[0].Extensions["retryAfter"].(int)
		return r
	case codeTimeout:
		return &refusal{status: http.StatusGatewayTimeout, errs: errs}
	}
	return nil
}

// firstCode is the code of the first error, codeOK where there is none.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return codeOK
	}
	if code, ok := errs[0].Extensions["code"].(string); ok {
		return code
	}
	return codeInternal
}

// refuse writes a refusal: errors, and no member data.
func (x *exchange) refuse(r *refusal) {
	if x.media == mediaNone {
		x.media = mediaJSON
	}
	x.code = firstCode(r.errs)
	x.status, x.challenge, x.retryAfter = r.statusOf(x.media), r.challenge, r.retryAfter
	x.out = append(x.out[:0], '{')
	x.appendErrors(r.errs)
	x.out = append(x.out, '}')
}

func (x *exchange) appendErrors(errs gqlerror.List) {
	x.out = append(x.out, `"errors":`...)
	b, err := json.Marshal(errs)
	if err != nil { // errors hold strings and numbers only
		b = []byte(`[{"message":"Internal error.","extensions":{"code":"` + codeInternal + `"}}]`)
	}
	x.out = append(x.out, b...)
}

// send writes the answer out.
func (x *exchange) send(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = []string{x.media.contentType()}
	header["Content-Length"] = []string{strconv.Itoa(len(x.out))}
	header["Cache-Control"] = []string{"private, no-store"}
	header["X-Content-Type-Options"] = []string{"nosniff"}
	if x.allow != "" {
		header.Set("Allow", x.allow)
	}
	if x.challenge != "" {
		header.Set("WWW-Authenticate", x.challenge)
	}
	if x.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(x.retryAfter))
	}
	w.WriteHeader(x.status)
	_, _ = w.Write(x.out) // a client that is gone has nothing to be told
}
