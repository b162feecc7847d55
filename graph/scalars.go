package graph

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/lease"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// MarshalContentID writes the id of a content.
func MarshalContentID(id library.ContentID) graphql.Marshaler {
	return graphql.MarshalID(string(id))
}

// UnmarshalContentID reads an id without checking it. The Service does.
func UnmarshalContentID(v any) (library.ContentID, error) {
	id, err := graphql.UnmarshalID(v)
	return library.ContentID(id), err
}

// MarshalPrincipalID writes the id of a user or a group.
func MarshalPrincipalID(id principal.ID) graphql.Marshaler {
	return graphql.MarshalID(string(id))
}

// UnmarshalPrincipalID reads an id without checking it. The Service does.
func UnmarshalPrincipalID(v any) (principal.ID, error) {
	id, err := graphql.UnmarshalID(v)
	return principal.ID(id), err
}

// MarshalLeaseID writes the id of a lease.
func MarshalLeaseID(id lease.ID) graphql.Marshaler { return graphql.MarshalID(string(id)) }

// UnmarshalLeaseID reads an id without checking it. The Service does.
func UnmarshalLeaseID(v any) (lease.ID, error) {
	id, err := graphql.UnmarshalID(v)
	return lease.ID(id), err
}

// MarshalPasteID writes the id of a paste.
func MarshalPasteID(id paste.ID) graphql.Marshaler { return graphql.MarshalID(string(id)) }

// UnmarshalPasteID reads an id without checking it. The Service does.
func UnmarshalPasteID(v any) (paste.ID, error) {
	id, err := graphql.UnmarshalID(v)
	return paste.ID(id), err
}

// MarshalInt writes an Int.
func MarshalInt(i int) graphql.Marshaler { return graphql.MarshalInt(i) }

// UnmarshalInt reads an Int. Values beyond 32 bits, or with a fraction, are refused and not
// truncated.
func UnmarshalInt(v any) (int, error) {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case int32:
		n = int64(v)
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
			return 0, notAnInt()
		}
		n = int64(v)
	case json.Number:
		parsed, err := strconv.ParseInt(string(v), 10, 32)
		if err != nil {
			return 0, notAnInt()
		}
		n = parsed
	default:
		return 0, notAnInt()
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, notAnInt()
	}
	return int(n), nil
}

func notAnInt() error {
	return fault.BadInputf("not an Int: a whole number between -2147483648 and 2147483647")
}

// MarshalCursor writes a cursor.
func MarshalCursor(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalCursor reads a cursor without checking it. A literal of another type, which validation
// accepts for any custom scalar, is BAD_USER_INPUT.
func UnmarshalCursor(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fault.BadInputf("a Cursor is a string")
	}
	return s, nil
}

// dateTime is an instant as a GraphQL scalar.
type dateTime clock.Instant

// MarshalGQL writes RFC 3339 with exactly six decimals.
func (d dateTime) MarshalGQL(w io.Writer) {
	// Writing to the spare capacity of the answer's buffer saves a copy.
	var spare []byte
	if b, ok := w.(interface{ AvailableBuffer() []byte }); ok {
		spare = b.AvailableBuffer()
	}
	spare = append(spare, '"')
	spare, _ = clock.Instant(d).AppendText(spare) // it never fails
	_, _ = w.Write(append(spare, '"'))
}

// MarshalDateTime writes RFC 3339 in UTC with exactly six decimals.
func MarshalDateTime(i clock.Instant) graphql.Marshaler { return dateTime(i) }

// UnmarshalDateTime reads RFC 3339 in any time zone. Anything else is BAD_USER_INPUT.
func UnmarshalDateTime(v any) (clock.Instant, error) {
	s, ok := v.(string)
	if !ok {
		return 0, fault.BadInputf("a DateTime is a string, such as \"2026-11-21T09:30:00.123456Z\"")
	}
	i, err := clock.Parse(s)
	if err != nil {
		return 0, fault.BadInputf("%s", err.Error())
	}
	return i, nil
}
