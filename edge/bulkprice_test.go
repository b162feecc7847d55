package edge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBulkMutations_CostWhatTheirItemsCost, whether the items are in variables or not.
func TestBulkMutations_CostWhatTheirItemsCost(t *testing.T) {
	e := newEdge(t, nil)
	ids := func(n int, form string) string { return strings.TrimSuffix(strings.Repeat(form+",", n), ",") }
	share := func(list string) string {
		return `shareContents(input:{contentIds:[` + list + `],principalIds:["p"]}){userErrors{code}}`
	}
	const byVariable = `mutation($i:DeleteContentsInput!){deleteContents(input:$i){userErrors{code}}}`
	for name, c := range map[string]struct {
		query, variables string
		points           int
	}{
		"one item":               {"mutation{" + share(`"a"`) + "}", "{}", 10},
		"an item without a list": {`mutation{shareContents(input:{contentIds:"a",principalIds:["p"]}){userErrors{code}}}`, "{}", 10},
		"no item":                {"mutation{" + share("") + "}", "{}", 10},
		"a hundred":              {"mutation{" + share(ids(100, `"a"`)) + "}", "{}", 1000},
		"a hundred and one":      {"mutation{" + share(ids(101, `"a"`)) + "}", "{}", 1000},
		"two mutations":          {"mutation{a:" + share(`"a","b"`) + " b:" + share(`"a","b","c"`) + "}", "{}", 50},
		"seven in a variable":    {byVariable, `{"i":{"items":[` + ids(7, `{"id":"a"}`) + `]}}`, 70},
		"a variable in the list": {`mutation($a:ID!){` + share("$a,$a") + `}`, `{"a":"x"}`, 20},
		"a list in a variable": {`mutation($l:[ID!]!){shareContents(input:{contentIds:$l,principalIds:["p"]}){userErrors{code}}}`,
			`{"l":["a","b","c"]}`, 30},
	} {
		t.Run(name, func(t *testing.T) {
			p, refused := decodeBody([]byte(fmt.Sprintf(`{"query":%s,"variables":%s}`, quote(t, c.query), c.variables)), &e.handler.limits)
			if refused != nil {
				t.Fatal(refused.errs)
			}
			op, refused := e.handler.operation(t.Context(), p, account{})
			if refused != nil {
				t.Fatal(refused.errs)
			}
			if op.price != c.points*point {
				t.Errorf("costs %d hundredths of a point, want %d points", op.price, c.points)
			}
		})
	}
}

func quote(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
