package edge

import (
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"carrel/core/cursor"
	"carrel/core/input"
)

// countCost is the cost of a count, which reads up to 10,001 keys at once.
const countCost = 100

// scanCosts are the costs of pages that may have to pass entries which the viewer does not see: up to 250 of them
// in 0.4 ms, and 1,000 of a directory. They do not depend on how many there are, which nobody must learn.
var scanCosts = map[string]int{"GroupConnection": 5, "GroupMemberConnection": 5, "ContentMemberConnection": 5,
	"SuggestionConnection": 5, "PrincipalConnection": 20}

// totalCost is the cost of the total of a list of principals, which reads up to 1,000 rows.
const totalCost = 100

// price is the cost of a selection set. The field each is the cost for every entry of the page that
// contains the set, and the field once is the cost for the page as a whole.
type price struct{ each, once int }

// costing estimates how many objects an operation reads at most. Every object field costs 1, the
// selection below a connection counts once for each entry of its page, and leaves are free unless
// their text is long. A filter costs 1 for each entry that it may scan. It runs for each request,
// because sizes may be in variables, and visits each fragment once.
type costing struct {
	document *document
	sizes    []int // of the fields, see document.sizes
	known    map[string]price
}

// cost estimates how much an operation may read, before anything is read. Fields that @skip leaves
// out count as well.
func (d *document) cost(op *ast.OperationDefinition, sizes []int) int {
	c := &costing{document: d, sizes: sizes}
	p := c.set(op.SelectionSet)
	return plus(p.each, p.once)
}

// overCost refuses an operation whose cost exceeds the limit.
func overCost(cost, limit int) *refusal {
	if cost <= limit {
		return nil
	}
	return refuseDocument(codeCostLimit, fmt.Sprintf("The operation costs %s; at most %d are allowed: ask for smaller pages or fewer levels.",
		atMost(cost), limit))
}

// plus and times saturate at maxCount.
func plus(a, b int) int { return min(maxCount, a+b) }

func times(a, b int) int {
	if a > 0 && b > maxCount/a {
		return maxCount
	}
	return a * b
}

func (c *costing) set(set ast.SelectionSet) (sum price) {
	for _, sel := range set {
		var p price
		switch sel := sel.(type) {
		case *ast.Field:
			p = c.field(sel)
		case *ast.InlineFragment:
			p = c.set(sel.SelectionSet)
		case *ast.FragmentSpread:
			p = c.fragment(sel.Name)
		}
		sum = price{plus(sum.each, p.each), plus(sum.once, p.once)}
	}
	return sum
}

func (c *costing) fragment(name string) price {
	if p, ok := c.known[name]; ok {
		return p
	}
	var p price
	if def := c.document.ast.Fragments.ForName(name); def != nil {
		p = c.set(def.SelectionSet)
	}
	if c.known == nil {
		c.known = make(map[string]price, len(c.document.ast.Fragments))
	}
	c.known[name] = p
	return p
}

func (c *costing) field(f *ast.Field) price {
	if cost, ok := longTexts[f.Name]; ok {
		return price{each: cost}
	}
	if f.Name == "totalCount" {
		return price{once: totalCost}
	}
	if len(f.SelectionSet) == 0 || strings.HasPrefix(f.Name, "__") {
		return price{}
	}
	switch typ := f.Definition.Type; {
	case typ.Name() == "Count":
		return price{once: countCost}
	case isConnection(typ.Name()):
		below := c.set(f.SelectionSet)
		scanned, _ := c.size(f.Arguments.ForName("filter"))
		scanned += scanCosts[typ.Name()]
		if f.ObjectDefinition.Name == "Query" { // such a page is read even if no entry is selected
			below.each = max(1, below.each)
		}
		return price{each: plus(1+below.once+scanned, times(c.pageSize(f), below.each))}
	case typ.Elem != nil && !isConnection(f.ObjectDefinition.Name):
		below := c.set(f.SelectionSet)
		return price{each: c.list(f, plus(below.each, below.once))}
	default:
		below := c.set(f.SelectionSet)
		return price{each: plus(1, plus(below.each, below.once))}
	}
}

// longTexts are the fields with long texts and their costs. A description has at most 10,000
// characters and costs as much as an object, because thirty aliases of it make an entry of a page
// 300 KB long. A body has at most 512 KiB and is read from its own row. A sort key may have to be computed, in up to
// 50 us.
var longTexts = map[string]int{"description": 1, "sortKey": 1, "body": 10}

func isConnection(typeName string) bool { return strings.HasSuffix(typeName, "Connection") }

// pageSize returns the page size of the connection. The default is the same constant that the
// Service uses.
func (c *costing) pageSize(f *ast.Field) int {
	for _, name := range [...]string{"first", "last"} {
		if n, given := c.size(f.Arguments.ForName(name)); given {
			return n
		}
	}
	return cursor.DefaultPageSize
}

// list returns the cost of a list that is not a page, given the cost of an element. Its length is
// that of an argument, or, for a list that is stored with its object, the maximal length of such
// lists.
func (c *costing) list(f *ast.Field, below int) int {
	for _, arg := range f.Arguments {
		if n, given := c.size(arg); given {
			return max(1, times(n, plus(1, below)))
		}
	}
	return plus(1, times(input.MaxList, below))
}

// size returns how many objects an argument requests. given is false if that is unknown.
func (c *costing) size(arg *ast.Argument) (n int, given bool) {
	index, ok := c.document.sized[arg]
	if !ok || c.sizes[index] < 0 {
		return 0, false
	}
	return c.sizes[index], true
}
