package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/principal"
)

// Representation is a reference to an object of ours, as routers send it.
type Representation struct {
	// ID is the global id, a principal's in lower case, so that two references
	// to one object are equal. It is empty where nothing is referred to: there
	// is a fault, or the id is of another type than __typename.
	ID string
	// Fault is what is wrong with it. One bad reference must not spoil a batch,
	// so it is told when the batch is answered.
	Fault error
}

// entityKind is the kind of id of a type of the union _Entity.
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

// UnmarshalRepresentation reads __typename and the key. The rest is ignored:
// whatever a router, or somebody in its place, says of an object, only the id
// counts. Nothing of the input is repeated in a fault.
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

// MarshalRepresentation writes a reference; the scalar is never part of an
// answer, but gqlgen wants both directions.
func MarshalRepresentation(r Representation) graphql.Marshaler {
	return graphql.MarshalString(r.ID)
}
