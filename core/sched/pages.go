package sched

import "context"

// Pages calls see for a list, a page at a time. read returns at most limit rows after a key, of which the zero one is
// before all rows; key returns that of a row. The last page, which may be empty, has fewer than size rows.
func Pages[Row, Key any](ctx context.Context, size int, read func(ctx context.Context, after Key, limit int) ([]Row, error),
	key func(Row) Key, see func(page []Row) error) error {
	var after Key
	for {
		page, err := read(ctx, after, size)
		if err != nil {
			return err
		}
		if err := see(page); err != nil || len(page) < size {
			return err
		}
		after = key(page[len(page)-1])
	}
}
