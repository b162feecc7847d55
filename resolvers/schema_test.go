package resolvers

import "testing"

// TestNewSchema_OffersNoDefer: introspection and validation go by the schema that
// is served, and not by all that the parser knows.
func TestNewSchema_OffersNoDefer(t *testing.T) {
	if NewSchema(&Root{}).Schema().Directives["defer"] != nil {
		t.Error("@defer is offered")
	}
}
