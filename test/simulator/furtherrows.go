package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/library"
)

// compareRow orders further rows of an item by kind and key.
func compareRow(r library.Row, k library.RowKey) int {
	return cmp.Or(cmp.Compare(r.Kind, k.Kind), cmp.Compare(r.Key, k.Key))
}

// putFurther replaces rows by those with the same keys, and removes those without a value. The
// list is replaced, never changed in place.
func putFurther(list, rows []library.Row) []library.Row {
	if len(rows) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, r := range rows {
		if r.Value == nil {
			list = drop(list, r.RowKey, compareRow)
		} else {
			list = put(list, r.RowKey, compareRow, r)
		}
	}
	return slices.Clip(list)
}

// PageRows reads a slice of further rows.
func (c contents) PageRows(ctx context.Context, q library.RowSlice) ([]library.Row, error) {
	return look(ctx, c.Client, "PageRows", func() (page []library.Row) {
		p := c.st.content(q.Content)
		if p == nil {
			return nil
		}
		for _, r := range p.rows {
			if r.Kind == q.Kind && r.Key >= q.From && (q.To == "" || r.Key < q.To) {
				page = append(page, r)
			}
		}
		if q.Backwards {
			slices.Reverse(page)
		}
		return page[:min(len(page), max(q.Limit, 0))]
	})
}
