// Package clock defines Instant, the type of all points in time that are stored. It does not read a
// clock; the Runtime of package sched does.
package clock

import (
	"time"

	"carrel/core/fault"
)

// Instant is a point in time in microseconds since 1970-01-01 UTC. Libraries are ordered by it.
type Instant int64

// Of returns t, truncated to microseconds.
func Of(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns the instant as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Add returns the instant d later, with d truncated to microseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// instantLayout is RFC 3339 with exactly six decimals.
const instantLayout = "2006-01-02T15:04:05.000000Z"

// String returns RFC 3339 in UTC with microseconds, e.g. 2026-11-21T09:30:00.123456Z.
func (i Instant) String() string { return i.Time().Format(instantLayout) }

// AppendText appends the text of String to b. It never fails. It takes a third of the time of
// time.Time.AppendFormat.
func (i Instant) AppendText(b []byte) ([]byte, error) {
	t := i.Time()
	if i < Min || i > Max {
		return t.AppendFormat(b, instantLayout), nil
	}
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = append(b, "0000-00-00T00:00:00.000000Z"...)
	text := b[len(b)-len("0000-00-00T00:00:00.000000Z"):]
	putDigits(text[0:4], year)
	putDigits(text[5:7], int(month))
	putDigits(text[8:10], day)
	putDigits(text[11:13], hour)
	putDigits(text[14:16], minute)
	putDigits(text[17:19], second)
	putDigits(text[20:26], t.Nanosecond()/1000)
	return b, nil
}

// putDigits writes n into all of b.
func putDigits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// The first and the last instant of the API contract's DateTime: years 1 to 9999.
var (
	Min = Of(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	Max = Of(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC))
)

// Parse parses a date and time of RFC 3339, with any offset, and truncates it to microseconds. It is
// stricter than package time: each number has all its digits, a fraction follows a point, the offset
// is below 24 hours, and T and Z may be in lower case. The leap second 60 is refused. docs/values.md
// has the rule.
func Parse(s string) (Instant, error) {
	const date, fraction = "0000-00-00T00:00:00", len("0000-00-00T00:00:00")
	if len(s) <= fraction || !hasForm(s[:fraction], date) {
		return 0, notAnInstant()
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	rest, micros := s[fraction:], 0
	if rest[0] == '.' {
		end := 1
		for end < len(rest) && isDigit(rest[end]) {
			end++
		}
		if end == 1 {
			return 0, notAnInstant()
		}
		micros = number((rest[1:end] + "00000")[:6])
		rest = rest[end:]
	}
	offset, ok := parseOffset(rest)
	at := time.Date(year, time.Month(month), day, hour, minute, second, micros*1000, time.UTC)
	// A month or a day that does not exist is normalized to one of another month.
	if !ok || at.Month() != time.Month(month) || hour > 23 || minute > 59 || second > 59 {
		return 0, notAnInstant()
	}
	i := Of(at.Add(-offset))
	if i < Min || i > Max {
		return 0, fault.OutOfRangef(nil, "a date and time lies between the years 1 and 9999")
	}
	return i, nil
}

func notAnInstant() error {
	return fault.Invalidf(nil, "not a date and time of RFC 3339, such as 2026-11-21T09:30:00.123456Z")
}

// parseOffset parses the end of a date and time: Z, or the hours and minutes east of UTC.
func parseOffset(s string) (offset time.Duration, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if s == "" || s[0] != '+' && s[0] != '-' || !hasForm(s[1:], "00:00") {
		return 0, false
	}
	hours, minutes := number(s[1:3]), number(s[4:6])
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, hours < 24 && minutes < 60
}

// hasForm reports whether s has digits where form has 0, T or t where form has T, and otherwise the
// characters of form.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		ok := s[i] == form[i]
		switch form[i] {
		case '0':
			ok = isDigit(s[i])
		case 'T':
			ok = ok || s[i] == 't'
		}
		if !ok {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number returns the value of a few digits.
func number(digits string) (n int) {
	for i := range len(digits) {
		n = 10*n + int(digits[i]-'0')
	}
	return n
}
