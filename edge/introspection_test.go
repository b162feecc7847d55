package edge

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
)

// TestIntrospection_NamesTheSpecificationsOfScalars: client generators find the format of a
// DateTime by its specification. A Cursor is opaque, and composers know the other scalars.
func TestIntrospection_NamesTheSpecificationsOfScalars(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Introspection = true })
	a := e.query(t, `{__schema{types{kind name specifiedByURL}}}`, nil)
	var data struct {
		Schema struct {
			Types []struct{ Kind, Name, SpecifiedByURL string }
		} `json:"__schema"`
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	got := map[string]string{}
	for _, typ := range data.Schema.Types {
		if typ.SpecifiedByURL != "" {
			got[typ.Kind+" "+typ.Name] = typ.SpecifiedByURL
		}
	}
	const url = "docs/values.md#datetime"
	if want := map[string]string{"SCALAR DateTime": url}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	file, err := os.ReadFile("../clients/schema.graphql")
	if err != nil || !strings.Contains(string(file), `scalar DateTime @specifiedBy(url: "`+url+`")`) {
		t.Errorf("%v: clients/schema.graphql does not name it", err)
	}
	page, err := os.ReadFile("../docs/values.md")
	if err != nil || !strings.Contains(string(page), "\n## DateTime\n") {
		t.Errorf("%v: the specification is not in docs/values.md", err)
	}
}
