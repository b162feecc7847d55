package validation

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Validation compares fields with the same response key pairwise: for 999 times "id" that took 313
// ms. So equal fields are merged before, as the executor would do, and the remaining overlap is
// limited.

// MergeRepeated merges fields of one selection set that have the same key, name and arguments, and
// no directives. The first one stays and gets the selections of the others. This keeps the order of
// the answer, which is that of the first selection of each key: fields with selections are not
// merged across a fragment or a directive, which may select from the same object in between.
func MergeRepeated(doc *ast.QueryDocument) {
	for _, op := range doc.Operations {
		op.SelectionSet = mergeSet(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		f.SelectionSet = mergeSet(f.SelectionSet)
	}
}

func mergeSet(set ast.SelectionSet) ast.SelectionSet {
	merged := set[:0]
	once := map[string]bool{}        // leaves and spreads, by their keys
	first := map[string]*ast.Field{} // fields with selections since the last fragment or directive
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if len(sel.Directives) > 0 {
				clear(first)
				break
			}
			key := fieldKey(sel)
			if sel.SelectionSet == nil {
				if once[key] {
					continue
				}
				once[key] = true
			} else {
				if f, ok := first[key]; ok {
					f.SelectionSet = append(f.SelectionSet, sel.SelectionSet...)
					continue
				}
				first[key] = sel
			}
		case *ast.FragmentSpread:
			if len(sel.Directives) == 0 {
				if once["..."+sel.Name] {
					continue
				}
				once["..."+sel.Name] = true
			}
			clear(first)
		case *ast.InlineFragment:
			clear(first)
		}
		merged = append(merged, sel)
	}
	for _, sel := range merged {
		switch sel := sel.(type) {
		case *ast.Field:
			sel.SelectionSet = mergeSet(sel.SelectionSet)
		case *ast.InlineFragment:
			sel.SelectionSet = mergeSet(sel.SelectionSet)
		}
	}
	return merged
}

// fieldKey returns a key that is equal for fields that can be merged.
func fieldKey(f *ast.Field) string {
	if f.Alias == f.Name && len(f.Arguments) == 0 {
		return f.Name
	}
	var key strings.Builder
	key.WriteString(f.Alias)
	key.WriteByte(':')
	key.WriteString(f.Name)
	for _, arg := range f.Arguments {
		key.WriteByte(',')
		key.WriteString(arg.Name)
		key.WriteByte(':')
		key.WriteString(arg.Value.String())
	}
	return key.String()
}

// overlap counts the comparisons that validation makes for the same path of the answer,
// recursively: pairs of fields with the same response key, from all fragments; pairs of fragments,
// whether they share fields or not; and each set with each of its fragments. It stops at the limit.
type overlap struct {
	fragments map[string]ast.SelectionSet
	work      int
	limit     int
}

// Overlaps reports whether the overlap of the document's selections exceeds limit.
func Overlaps(doc *ast.QueryDocument, limit int) bool {
	o := &overlap{fragments: make(map[string]ast.SelectionSet, len(doc.Fragments)), limit: limit}
	for _, f := range doc.Fragments {
		o.fragments[f.Name] = f.SelectionSet
	}
	for _, op := range doc.Operations {
		o.count([]ast.SelectionSet{op.SelectionSet})
	}
	for _, f := range doc.Fragments {
		o.count([]ast.SelectionSet{f.SelectionSet})
	}
	return o.work > limit
}

// count adds the comparisons of sets, unless the limit is exceeded already.
func (o *overlap) count(sets []ast.SelectionSet) {
	if o.work > o.limit {
		return
	}
	groups, spread := map[string]*fieldGroup{}, map[string]bool{}
	parts := o.gather(sets, groups, spread)
	if o.work += len(spread) * (parts + len(spread)/2); o.work > o.limit {
		return
	}
	for _, g := range groups {
		if o.work += g.fields * g.fields; o.work > o.limit {
			return
		}
	}
	for _, g := range groups {
		if len(g.below) > 0 {
			o.count(g.below)
		}
	}
}

// fieldGroup is the fields with one response key.
type fieldGroup struct {
	fields int
	below  []ast.SelectionSet
}

// gather collects fields and fragments of the sets. It returns the number of selection sets outside
// named fragments, including inline fragments.
func (o *overlap) gather(sets []ast.SelectionSet, groups map[string]*fieldGroup, spread map[string]bool) (parts int) {
	parts = len(sets)
	for _, set := range sets {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				g := groups[sel.Alias]
				if g == nil {
					g = &fieldGroup{}
					groups[sel.Alias] = g
				}
				g.fields++
				if len(sel.SelectionSet) > 0 {
					g.below = append(g.below, sel.SelectionSet)
				}
			case *ast.InlineFragment:
				parts += o.gather([]ast.SelectionSet{sel.SelectionSet}, groups, spread)
			case *ast.FragmentSpread:
				if !spread[sel.Name] {
					spread[sel.Name] = true
					parts += o.gather([]ast.SelectionSet{o.fragments[sel.Name]}, groups, spread) - 1
				}
			}
		}
	}
	return parts
}
