package graph

import "testing"

// TestServed_OffersWhatIsSupportedAlone: the schema has no @defer, has @skip and @include, and has
// the types of the generated code.
func TestServed_OffersWhatIsSupportedAlone(t *testing.T) {
	served := Served()
	for name, offered := range map[string]bool{"defer": false, "skip": true, "include": true, "deprecated": true, "oneOf": true, "specifiedBy": true} {
		if (served.Directives[name] != nil) != offered {
			t.Errorf("@%s: offered is not %v", name, offered)
		}
	}
	if parsedSchema.Directives["defer"] == nil {
		t.Error("the parser does not declare @defer any more: there is nothing to remove")
	}
	if served.Query != parsedSchema.Query || len(served.Types) != len(parsedSchema.Types) {
		t.Error("types are missing")
	}
}
