package graph

import (
	"io"

	"github.com/99designs/gqlgen/graphql"

	"carrel/core/fault"
	"carrel/lease"
	"carrel/library"
	"carrel/principal"
)

// name writes the name of an enum value, which needs no escaping.
type name string

// MarshalGQL writes the name in quotes.
func (n name) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`)
	_, _ = io.WriteString(w, string(n))
	_, _ = io.WriteString(w, `"`)
}

// nameOrNull writes null for a value of the domain without a name.
func nameOrNull(s string) graphql.Marshaler {
	if s == "" {
		return graphql.Null
	}
	return name(s)
}

// unmarshalEnum converts a name by parse. The validator has already refused unknown names in
// documents and variables, so it returns an error only if other code passes one.
func unmarshalEnum[T any](v any, enum string, parse func(string) (T, bool)) (T, error) {
	s, _ := v.(string)
	t, ok := parse(s)
	if !ok {
		return t, fault.BadInputf("not a value of %s", enum)
	}
	return t, nil
}

// MarshalLibraryVisibility writes a visibility.
func MarshalLibraryVisibility(v principal.Visibility) graphql.Marshaler {
	return nameOrNull(v.String())
}

// UnmarshalLibraryVisibility reads a visibility.
func UnmarshalLibraryVisibility(v any) (principal.Visibility, error) {
	return unmarshalEnum(v, "LibraryVisibility", principal.ParseVisibility)
}

// MarshalContentKind writes a kind.
func MarshalContentKind(k library.ContentKind) graphql.Marshaler { return nameOrNull(k.String()) }

// UnmarshalContentKind reads a kind.
func UnmarshalContentKind(v any) (library.ContentKind, error) {
	return unmarshalEnum(v, "ContentKind", library.ParseContentKind)
}

// MarshalContentRole writes a role on an item. No role is written as null.
func MarshalContentRole(r library.ContentRole) graphql.Marshaler { return nameOrNull(r.String()) }

// UnmarshalContentRole reads a role on an item.
func UnmarshalContentRole(v any) (library.ContentRole, error) {
	return unmarshalEnum(v, "ContentRole", library.ParseContentRole)
}

// MarshalLeaseState writes the state of a lease.
func MarshalLeaseState(s lease.State) graphql.Marshaler { return nameOrNull(s.String()) }

// UnmarshalLeaseState reads the state of a lease.
func UnmarshalLeaseState(v any) (lease.State, error) {
	return unmarshalEnum(v, "LeaseState", lease.ParseState)
}

// either writes one of the two names of an enum that is a bool in the domain.
func either(b bool, yes, no name) graphql.Marshaler {
	if b {
		return yes
	}
	return no
}

// parseEither returns a function that parses one of two names.
func parseEither(yes, no string) func(string) (bool, bool) {
	return func(s string) (bool, bool) { return s == yes, s == yes || s == no }
}

// MarshalCountPrecision writes whether a count is exact.
func MarshalCountPrecision(exact bool) graphql.Marshaler { return either(exact, "EXACT", "AT_LEAST") }

// UnmarshalCountPrecision reads whether a count is exact.
func UnmarshalCountPrecision(v any) (bool, error) {
	return unmarshalEnum(v, "CountPrecision", parseEither("EXACT", "AT_LEAST"))
}

// MarshalFanOutState writes whether a change has reached every library.
func MarshalFanOutState(complete bool) graphql.Marshaler {
	return either(complete, "COMPLETE", "RUNNING")
}

// UnmarshalFanOutState reads whether a change has reached every library.
func UnmarshalFanOutState(v any) (bool, error) {
	return unmarshalEnum(v, "FanOutState", parseEither("COMPLETE", "RUNNING"))
}

// MarshalOrderDirection writes whether the order is descending.
func MarshalOrderDirection(descending bool) graphql.Marshaler {
	return either(descending, "DESC", "ASC")
}

// UnmarshalOrderDirection reads whether the order is descending.
func UnmarshalOrderDirection(v any) (bool, error) {
	return unmarshalEnum(v, "OrderDirection", parseEither("DESC", "ASC"))
}

// orderFields are the names of the orders of a library.
var orderFields = map[library.Order]string{library.ByChange: "LAST_MODIFIED", library.ByTitle: "TITLE"}

// MarshalLibraryOrderField writes the field that a library is ordered by.
func MarshalLibraryOrderField(o library.Order) graphql.Marshaler { return name(orderFields[o]) }

// UnmarshalLibraryOrderField reads the field that a library is ordered by.
func UnmarshalLibraryOrderField(v any) (library.Order, error) {
	return unmarshalEnum(v, "LibraryOrderField", orderOf)
}

// orderOf parses the name of an order in the API; ok is false for any other text.
func orderOf(s string) (o library.Order, ok bool) {
	for o, name := range orderFields {
		if name == s {
			return o, true
		}
	}
	return 0, false
}
