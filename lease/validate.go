package lease

import (
	"strconv"
	"time"
	"unicode/utf8"

	"carrel/core/fault"
	"carrel/core/input"
)

// Limits of a lease, from the API contract.
const (
	// MaxDocuments is how many keys a lease may have.
	MaxDocuments = input.MaxList
	// MaxKey is how many bytes a key may have.
	MaxKey = 512
	// MaxValues is how many bytes the values of a lease may have together.
	MaxValues = 64 << 10
	// MinTTL and MaxTTL bound how long a lease is pending.
	MinTTL = time.Second
	MaxTTL = time.Hour
	// DefaultTTL is how long it is pending by default.
	DefaultTTL = 5 * time.Second
	// MaxWait bounds how long Acquire waits for keys that others hold.
	MaxWait = 10 * time.Second
)

// Acquire is the input of Service.Acquire.
type Acquire struct {
	Documents []Document
	// TTLMs is how many milliseconds the lease is pending; nil: DefaultTTL.
	TTLMs *int
	// WaitMs is how many milliseconds to wait for keys that are taken; nil: 0, it answers at once.
	WaitMs         *int
	IdempotencyKey *string
}

// ttl returns how long the lease is pending.
func (in *Acquire) ttl() time.Duration {
	if in.TTLMs == nil {
		return DefaultTTL
	}
	return time.Duration(*in.TTLMs) * time.Millisecond
}

// wait returns how long to wait for keys that are taken.
func (in *Acquire) wait() time.Duration {
	if in.WaitMs == nil {
		return 0
	}
	return time.Duration(*in.WaitMs) * time.Millisecond
}

// check returns the faults of the input except for its idempotency key.
func (in *Acquire) check() fault.List {
	var faults fault.List
	faults = append(faults, checkDocuments(in.Documents)...)
	if ms := in.TTLMs; ms != nil && (int64(*ms) < MinTTL.Milliseconds() || int64(*ms) > MaxTTL.Milliseconds()) {
		faults = append(faults, fault.OutOfRangef([]string{"ttlMs"}, "a lease lasts %d to %d ms until it is confirmed",
			MinTTL.Milliseconds(), MaxTTL.Milliseconds()))
	}
	if ms := in.WaitMs; ms != nil && (*ms < 0 || int64(*ms) > MaxWait.Milliseconds()) {
		faults = append(faults, fault.OutOfRangef([]string{"waitMs"}, "acquireLease waits for 0 to %d ms", MaxWait.Milliseconds()))
	}
	return faults
}

func checkDocuments(documents []Document) fault.List {
	const field = "documents"
	switch n := len(documents); {
	case n == 0:
		return fault.List{fault.Emptyf([]string{field}, "name at least one key")}
	case n > MaxDocuments:
		return fault.List{fault.TooManyf([]string{field}, "a lease takes at most %d keys", MaxDocuments)}
	}
	var faults fault.List
	seen := make(map[string]bool, len(documents))
	size := 0
	for i, d := range documents {
		at := strconv.Itoa(i)
		err := checkKey(d.Key)
		if err == nil && seen[d.Key] {
			err = fault.Repeatedf(nil, "this key is named twice")
		}
		faults.Add(err, field, at, "key")
		seen[d.Key] = true
		if d.Value != nil {
			size += len(*d.Value)
			if !utf8.ValidString(*d.Value) {
				faults = append(faults, fault.Invalidf([]string{field, at, "value"}, "a value is valid UTF-8"))
			}
		}
	}
	if size > MaxValues {
		faults = append(faults, fault.TooLongf([]string{field}, "the values of a lease have at most %d bytes together; these have %d",
			MaxValues, size))
	}
	return faults
}

// checkKey checks the form of a key. Its error has code Invalid.
func checkKey(key string) error {
	const form = "a key has 1 to %d bytes of valid UTF-8"
	switch {
	case key == "":
		return fault.Emptyf(nil, form, MaxKey)
	case len(key) > MaxKey:
		return fault.TooLongf(nil, form, MaxKey)
	case !utf8.ValidString(key):
		return fault.Invalidf(nil, form, MaxKey)
	}
	return nil
}
