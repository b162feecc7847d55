package feed

import "carrel/library"

// recent remembers something of the items met last, so many of them. What is
// forgotten is met again as if it were new.
type recent[V any] struct {
	most  int
	kept  map[library.ContentID]V
	order []library.ContentID // the one met first in front
}

// find tells what is remembered of an item.
func (r *recent[V]) find(id library.ContentID) (v V, known bool) {
	v, known = r.kept[id]
	return v, known
}

// put remembers v of an item, in the place of what was remembered before.
func (r *recent[V]) put(id library.ContentID, v V) {
	if r.kept == nil {
		r.kept = map[library.ContentID]V{}
	}
	if _, known := r.kept[id]; !known {
		if len(r.order) == r.most {
			delete(r.kept, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, id)
	}
	r.kept[id] = v
}
