package edge

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
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

// TestIntrospection_FieldsOfOtherKindsAreNull reads every type in each place where one may be, and
// compares which fields are null with the specification.
func TestIntrospection_FieldsOfOtherKindsAreNull(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Introspection = true })
	a := e.query(t, `{__schema{queryType{...T} types{...T fields(includeDeprecated:true){type{...T ofType{...T}} args{type{...T}}} inputFields{type{...T}} interfaces{...T} possibleTypes{...T}}}
		__type(name:"User"){...T}}
		fragment T on __Type{kind fields(includeDeprecated:true){name} interfaces{name} possibleTypes{name} enumValues(includeDeprecated:true){name} inputFields{name} isOneOf}`, nil)
	var data any
	if err := json.Unmarshal(a.Data, &data); err != nil || a.code() != "" {
		t.Fatalf("%v: %.500s", err, a.Body)
	}
	kinds := map[string]int{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				visit(each)
			}
		case map[string]any:
			kind, _ := v["kind"].(string)
			for name, value := range v {
				if with := map[string][]string{
					"fields": {"OBJECT", "INTERFACE"}, "interfaces": {"OBJECT", "INTERFACE"}, "possibleTypes": {"INTERFACE", "UNION"},
					"enumValues": {"ENUM"}, "inputFields": {"INPUT_OBJECT"}, "isOneOf": {"INPUT_OBJECT"},
				}[name]; kind != "" && with != nil && slices.Contains(with, kind) != (value != nil) {
					t.Errorf("%s of a type of kind %s is %v", name, kind, value)
				}
				visit(value)
			}
			kinds[kind]++
		}
	}
	visit(data)
	for _, kind := range []string{"SCALAR", "OBJECT", "INTERFACE", "UNION", "ENUM", "INPUT_OBJECT", "NON_NULL", "LIST"} {
		if kinds[kind] == 0 {
			t.Errorf("no type of kind %s was read", kind)
		}
	}
}
