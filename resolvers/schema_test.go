package resolvers

import "testing"

// TestNewSchema_OffersNoDefer: introspection and validation use the served schema, not everything
// that the parser knows.
func TestNewSchema_OffersNoDefer(t *testing.T) {
	if NewSchema(&Root{}).Schema().Directives["defer"] != nil {
		t.Error("@defer is offered")
	}
}
