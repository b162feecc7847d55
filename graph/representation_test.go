package graph

import (
	"strings"
	"testing"

	"carrel/core/fault"
)

func TestRepresentation_InvalidOnesDoNotFailTheBatch(t *testing.T) {
	ref := func(pairs ...any) map[string]any {
		fields := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			fields[pairs[i].(string)] = pairs[i+1]
		}
		return fields
	}
	long := strings.Repeat("secret", 1000)
	for name, c := range map[string]struct {
		value any
		id    string
		fault bool
	}{
		"a user":             {ref("__typename", "User", "id", "u:acme:ann"), "u:acme:ann", false},
		"a user in capitals": {ref("__typename", "User", "id", "U:ACME:Ann"), "u:acme:ann", false},
		"a group":            {ref("__typename", "Group", "id", "g:acme:crew"), "g:acme:crew", false},
		"a content":          {ref("__typename", "Content", "id", "c:acme:Page"), "c:acme:Page", false},
		"other fields are ignored": {ref("__typename", "User", "id", "u:acme:ann", "email", "x", "role", "admin", "library", []any{1}),
			"u:acme:ann", false},
		"the id of another type":   {ref("__typename", "User", "id", "c:acme:Page"), "", false},
		"a group for a user":       {ref("__typename", "User", "id", "g:acme:crew"), "", false},
		"a user for a group":       {ref("__typename", "Group", "id", "u:acme:ann"), "", false},
		"a user for a content":     {ref("__typename", "Content", "id", "u:acme:ann"), "", false},
		"nothing":                  {nil, "", true},
		"a string":                 {"u:acme:ann", "", true},
		"a list":                   {[]any{ref("__typename", "User", "id", "u:acme:ann")}, "", true},
		"no type":                  {ref("id", "u:acme:ann"), "", true},
		"a number for a type":      {ref("__typename", 1, "id", "u:acme:ann"), "", true},
		"an interface":             {ref("__typename", "Principal", "id", "u:acme:ann"), "", true},
		"a type that is no entity": {ref("__typename", "Limits", "id", "u:acme:ann"), "", true},
		"a type in small letters":  {ref("__typename", "user", "id", "u:acme:ann"), "", true},
		"an unknown type":          {ref("__typename", long, "id", "u:acme:ann"), "", true},
		"no id":                    {ref("__typename", "User"), "", true},
		"a null id":                {ref("__typename", "User", "id", nil), "", true},
		"a number for an id":       {ref("__typename", "User", "id", 7), "", true},
		"an object for an id":      {ref("__typename", "User", "id", ref("id", "u:acme:ann")), "", true},
		"a malformed id":           {ref("__typename", "User", "id", long), "", true},
		"an id with a zero byte":   {ref("__typename", "User", "id", "u:acme:a\x00"), "", true},
		"an id with SQL in it":     {ref("__typename", "User", "id", "u:acme:' OR 1=1; --"), "", true},
		"an id without a name":     {ref("__typename", "Content", "id", "c:acme"), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := UnmarshalRepresentation(c.value)
			if err != nil {
				t.Fatalf("the whole batch would fail: %v", err)
			}
			if got.ID != c.id || (got.Fault != nil) != c.fault {
				t.Fatalf("got %+v", got)
			}
			if c.fault && (fault.ReasonOf(got.Fault) != fault.ReasonBadInput || strings.Contains(got.Fault.Error(), "secret")) {
				t.Errorf("fault %v", got.Fault)
			}
		})
	}
}
