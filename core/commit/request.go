package commit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"carrel/core/clock"
	"carrel/core/fault"
)

const (
	maxIdempotencyKey = 128 // characters
	// minAnonymousKey is how many characters the key of an anonymous caller has: 128 random bits. The
	// keys of all anonymous callers share one scope, so others must not guess or reuse them.
	minAnonymousKey = 22
	// requestKept is how long the outcome of a keyed mutation is remembered.
	requestKept = 24 * time.Hour
)

// checkKey checks the form of an idempotency key of a caller; nil means no key. The caller is empty if
// it is anonymous. Its error has code Invalid.
func checkKey(caller string, key *string) error {
	if key == nil {
		return nil
	}
	const form = "an idempotency key has 1 to %d characters of valid UTF-8"
	n := utf8.RuneCountInString(*key)
	switch {
	case n < 1:
		return fault.Emptyf(nil, form, maxIdempotencyKey)
	case n > maxIdempotencyKey:
		return fault.TooLongf(nil, form, maxIdempotencyKey)
	case !utf8.ValidString(*key):
		return fault.Invalidf(nil, form, maxIdempotencyKey)
	case caller == "" && n < minAnonymousKey:
		return fault.Invalidf(nil,
			"the idempotency key of an anonymous caller is too short: it has at least %d random characters, and this one has %d",
			minAnonymousKey, n)
	}
	return nil
}

// requestKey returns the key of a caller's request, so that callers never share a key.
// An id contains no zero byte, so the hashed text is unambiguous.
func requestKey(caller, key string) RequestKey {
	return sha256.Sum256([]byte(caller + "\x00" + key))
}

// inputHash identifies a mutation with its input, which is a struct, or a pointer to one,
// without its idempotency key. Stores keep it for a day.
func inputHash(mutation string, input any) [32]byte {
	b, err := json.Marshal(struct {
		Mutation string
		Input    any
	}{mutation, input})
	if err != nil {
		// Inputs are strings, numbers, pointers and lists of them: all can be
		// encoded, so this is a defect of the program.
		panic(fmt.Sprintf("hashing the input of %s: %v", mutation, err))
	}
	return sha256.Sum256(b)
}

// Request is a running mutation with an idempotency key. It is nil for a mutation without
// a key.
type Request struct {
	Key  RequestKey
	Hash [32]byte
	// Kept reports that the outcome is remembered for as long as the partition exists, not for a day.
	Kept bool
}

// newRequest returns the request of a mutation with a key. input must not contain the key.
func newRequest(caller, key, mutation string, input any) *Request {
	return &Request{Key: requestKey(caller, key), Hash: inputHash(mutation, input)}
}

// Lookup returns the key that a read of the partition looks up; nil for none.
func (r *Request) Lookup() *RequestKey {
	if r == nil {
		return nil
	}
	return &r.Key
}

// Answered reports whether row is the first outcome of this same request. It returns
// IDEMPOTENCY_MISMATCH if the row has another input, even if it is only a claim.
func (r *Request) Answered(row *RequestRow, now clock.Instant) (bool, error) {
	if r == nil || row == nil || row.Until <= now {
		return false, nil
	}
	if row.InputHash != r.Hash {
		return false, idempotencyMismatch()
	}
	return !row.Claims(), nil
}

// Row returns the request row that the commit of the mutation writes; nil without a key.
func (r *Request) Row(now clock.Instant, answer []byte) *RequestRow {
	if r == nil {
		return nil
	}
	until := now.Add(requestKept)
	if r.Kept {
		until = clock.Max
	}
	return &RequestRow{Key: r.Key, InputHash: r.Hash, Answer: answer, Until: until}
}

func idempotencyMismatch() *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonIdempotencyMismatch,
		Msg: "this idempotencyKey was used with another input before; use a new key for a new request"}
}
