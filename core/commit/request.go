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
	// requestKept is how long the outcome of a keyed mutation is remembered.
	requestKept = 24 * time.Hour
)

// checkKey checks the form of an idempotency key of a caller; nil is none. An
// anonymous caller, the empty one, is UNAUTHENTICATED: keys belong to somebody.
func checkKey(caller string, key *string) error {
	if key == nil {
		return nil
	}
	if caller == "" {
		return fault.SignInFirst()
	}
	if n := utf8.RuneCountInString(*key); n < 1 || n > maxIdempotencyKey || !utf8.ValidString(*key) {
		return fault.Invalidf(nil, "an idempotency key has 1 to %d characters of valid UTF-8", maxIdempotencyKey)
	}
	return nil
}

// requestKey names the request of a caller, so that two callers never meet in
// one key. An id holds no zero byte, so the hash has one reading.
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

// Request is a mutation with an idempotency key, under way. A nil one is
// a mutation without a key.
type Request struct {
	Key  RequestKey
	Hash [32]byte
}

// newRequest returns the request of a mutation with a key, which is not in its input.
func newRequest(caller, key, mutation string, input any) *Request {
	return &Request{requestKey(caller, key), inputHash(mutation, input)}
}

// Lookup is what a read of the partition asks for.
func (r *Request) Lookup() *RequestKey {
	if r == nil {
		return nil
	}
	return &r.Key
}

// Answered tells whether the row found is the first outcome of this very
// request. A row of another input, its claim included, is IDEMPOTENCY_MISMATCH.
func (r *Request) Answered(row *RequestRow, now clock.Instant) (bool, error) {
	if r == nil || row == nil || row.Until <= now {
		return false, nil
	}
	if row.InputHash != r.Hash {
		return false, idempotencyMismatch()
	}
	return !row.Claims(), nil
}

// Row is what the commit of the mutation writes; nil for one without a key.
func (r *Request) Row(now clock.Instant, answer []byte) *RequestRow {
	if r == nil {
		return nil
	}
	return &RequestRow{Key: r.Key, InputHash: r.Hash, Answer: answer, Until: now.Add(requestKept)}
}

func idempotencyMismatch() *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonIdempotencyMismatch,
		Msg: "this idempotencyKey came with another input before; use a new key for a new request"}
}
