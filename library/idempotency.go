package library

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
	// maxFixes bounds how often a creation replaces a row that refused attempts
	// with the same key left behind, while others do the same.
	maxFixes = 8
)

// checkIdempotencyKey checks the form of a key; nil is none. Anonymous viewers
// make no keyed mutation of this package.
func checkIdempotencyKey(v *Viewer, key *string) error {
	if key == nil {
		return nil
	}
	if !v.SignedIn() {
		return unauthenticated()
	}
	if n := utf8.RuneCountInString(*key); n < 1 || n > maxIdempotencyKey || !utf8.ValidString(*key) {
		return fault.Invalidf(nil, "an idempotency key has 1 to %d characters of valid UTF-8", maxIdempotencyKey)
	}
	return nil
}

// requestKey names the request of a viewer, so that two viewers never meet in
// one key. An id holds no zero byte, so the hash has one reading.
func requestKey(v *Viewer, key string) RequestKey {
	return sha256.Sum256([]byte(string(v.User) + "\x00" + key))
}

// inputHash identifies a mutation with its input, which must be a struct of
// the package without its idempotency key.
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

// keyedRequest is a mutation with an idempotency key, under way. A nil one is
// a mutation without a key.
type keyedRequest struct {
	key  RequestKey
	hash [32]byte
}

// keyed is the request of a mutation; nil where it has no key. input is
// without its key.
func keyed(v *Viewer, key *string, mutation string, input any) *keyedRequest {
	if key == nil {
		return nil
	}
	return &keyedRequest{requestKey(v, *key), inputHash(mutation, input)}
}

// lookup is what a read of the partition asks for.
func (r *keyedRequest) lookup() *RequestKey {
	if r == nil {
		return nil
	}
	return &r.key
}

// answered tells whether the row found is the first outcome of this very
// request. A row of another input, its claim included, is IDEMPOTENCY_MISMATCH.
func (r *keyedRequest) answered(row *RequestRow, now clock.Instant) (bool, error) {
	if r == nil || row == nil || row.Until <= now {
		return false, nil
	}
	if row.InputHash != r.hash {
		return false, idempotencyMismatch()
	}
	return !row.claims(), nil
}

// row is what the commit of the mutation writes; nil for one without a key.
func (r *keyedRequest) row(now clock.Instant, answer []byte) *RequestRow {
	if r == nil {
		return nil
	}
	return &RequestRow{Key: r.key, InputHash: r.hash, Answer: answer, Until: now.Add(requestKept)}
}

func idempotencyMismatch() *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonIdempotencyMismatch,
		Msg: "this idempotencyKey came with another input before; use a new key for a new request"}
}
