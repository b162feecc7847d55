package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/principal"
)

// Representation is a reference to an object of this service, as routers send it.
type Representation struct {
	// ID is the global id, in lower case for principals, so that two references to one object are
	// equal. It is empty if the reference is invalid, or its id is of another type than __typename.
	ID string
	// Fault is the error of the reference. One invalid reference must not fail the whole batch, so
	// it is reported when the batch is answered.
	Fault error
}

// entityKind returns the kind of id of a type in the union _Entity.
func entityKind(typeName string) id.Kind {
	switch typeName {
	case "User":
		return id.User
	case "Group":
		return id.Group
	case "Content":
		return id.Content
	}
	return id.Malformed
}

// UnmarshalRepresentation reads __typename and the key. It ignores all other fields, because a
// client may pose as a router. Errors do not quote the input.
func UnmarshalRepresentation(v any) (Representation, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return malformedRepresentation("a representation is an object with __typename and id")
	}
	typeName, ok := fields["__typename"].(string)
	if !ok {
		return malformedRepresentation("a representation needs __typename, a string")
	}
	kind := entityKind(typeName)
	if kind == id.Malformed {
		return malformedRepresentation("the __typename of a representation is User, Group or Content")
	}
	globalID, ok := fields["id"].(string)
	if !ok {
		return malformedRepresentation("a representation needs id, a string")
	}
	switch id.KindOf(globalID) {
	case id.Malformed:
		return malformedRepresentation("the id of a representation has the form u:<tenant>:<name>, g:<tenant>:<name> or c:<tenant>:<name>")
	case kind:
	default:
		return Representation{}, nil
	}
	if kind == id.Content {
		return Representation{ID: globalID}, nil
	}
	principal, err := principal.ParseID(globalID)
	return Representation{ID: string(principal), Fault: err}, nil
}

func malformedRepresentation(what string) (Representation, error) {
	return Representation{Fault: fault.BadInputf("%s", what)}, nil
}

// MarshalRepresentation writes a reference. The scalar is never part of an answer, but gqlgen needs
// both directions.
func MarshalRepresentation(r Representation) graphql.Marshaler {
	return graphql.MarshalString(r.ID)
}
