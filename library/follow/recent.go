package follow

import "carrel/library"

// recent remembers a value for each of a limited number of items, the ones added last. An item that
// was forgotten counts as new.
type recent[V any] struct {
	limit int
	kept  map[library.ContentID]V
	order []library.ContentID // the one added first comes first
}

// find returns the value of an item.
func (r *recent[V]) find(id library.ContentID) (v V, known bool) {
	v, known = r.kept[id]
	return v, known
}

// put sets the value of an item.
func (r *recent[V]) put(id library.ContentID, v V) {
	if r.kept == nil {
		r.kept = map[library.ContentID]V{}
	}
	if _, known := r.kept[id]; !known {
		if len(r.order) == r.limit {
			delete(r.kept, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, id)
	}
	r.kept[id] = v
}
