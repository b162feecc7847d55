package nemesis

import (
	"slices"
	"testing"
)

// fields are those by which libraries are ordered.
var fields = [...]string{"LAST_MODIFIED", "TITLE"}

// checkOrders compares the orders of each library, and checks that its items are in their order.
func (l *load) checkOrders(t *testing.T) {
	t.Helper()
	for n, owner := range slices.Concat(l.owners, l.readers) {
		var first []string
		for _, field := range fields {
			var ids, keys []string
			for in := (vars{"id": owner, "field": field}); ; {
				a := l.gateways[n%len(l.gateways)].must(t, l.tokens[owner], readOrder, in)
				edges, _ := a.at("principal.library.edges").([]any)
				for _, e := range edges {
					edge := answer{Data: e.(vars)}
					key, _ := edge.at("sortKey").(string)
					id, _ := edge.at("node.id").(string)
					ids, keys = append(ids, id), append(keys, key)
				}
				if in["after"] = a.at("principal.library.pageInfo.endCursor"); a.at("principal.library.pageInfo.hasNextPage") != true {
					break
				}
			}
			if !slices.IsSorted(keys) {
				l.figures.report(&l.figures.Wrong, "the library of %s by %s is in another order: %q", owner, field, keys)
			}
			if slices.Sort(ids); field == fields[0] {
				first = ids
			} else if !slices.Equal(first, ids) {
				l.figures.report(&l.figures.Lost, "the library of %s has %v, and by %s %v", owner, first, field, ids)
			}
		}
	}
}
