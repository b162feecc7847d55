package library

import (
	"carrel/core/fault"
	"time"
)

// Instant is a point in time in microseconds since 1970-01-01 UTC. Library
// order is decided by these microseconds.
type Instant int64

// InstantOf cuts t to microseconds.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time is the instant as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Add moves the instant by d, cut to microseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// instantLayout is RFC 3339 with exactly six decimals.
const instantLayout = "2006-01-02T15:04:05.000000Z"

// String is RFC 3339 in UTC with microseconds, e.g. 2026-11-21T09:30:00.123456Z.
func (i Instant) String() string { return i.Time().Format(instantLayout) }

// AppendText appends String to b.
func (i Instant) AppendText(b []byte) ([]byte, error) {
	return i.Time().AppendFormat(b, instantLayout), nil
}

// The instants that the contract's DateTime can show: years 1 to 9999.
var (
	minInstant = InstantOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	maxInstant = InstantOf(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC))
)

// ParseInstant reads RFC 3339 with any zone; what is finer than a microsecond
// is cut off.
func ParseInstant(s string) (Instant, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, fault.Invalidf(nil, "not a date and time of RFC 3339, such as 2026-11-21T09:30:00.123456Z")
	}
	i := InstantOf(t)
	if i < minInstant || i > maxInstant {
		return 0, fault.Invalidf(nil, "a date and time lies between the years 1 and 9999")
	}
	return i, nil
}
