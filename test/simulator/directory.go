package simulator

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"carrel/core/commit"
	"carrel/principal"
)

// compareFound orders the rows of the directory as a look-up shows them, tenant
// by tenant, the whole names first.
func compareFound(c *foundCell, r principal.DirectoryRow) int {
	list := func(whole bool) int {
		if whole {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(c.row.Principal.Tenant(), r.Principal.Tenant()), cmp.Compare(list(c.row.Whole), list(r.Whole)),
		cmp.Compare(c.row.Name, r.Name), cmp.Compare(c.row.Principal, r.Principal))
}

// found returns the cell of a row, which it creates if needed.
func (st *Store) found(k principal.DirectoryKey, id principal.ID) *foundCell {
	key := principal.DirectoryRow{DirectoryKey: k, Principal: id}
	return made(&st.directory, key, compareFound, func() *foundCell { return &foundCell{row: key} })
}

// directory implements principal.DirectoryStore.
type directory struct{ *Client }

// ApplyDirectory writes the rows of one principal. Each is a write of its own:
// those that are put may arrive without those that are dropped.
func (c directory) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	h := *e.Header
	mine := principal.DirectoryUpdate{Header: &h, Former: e.Former}
	return c.write(ctx, "ApplyDirectory", "", func() { c.st.putFound(&mine) }, func() { c.st.dropFound(&mine) })
}

func (st *Store) applyDirectory(e *principal.DirectoryUpdate) {
	st.putFound(e)
	st.dropFound(e)
}

func (st *Store) putFound(e *principal.DirectoryUpdate) {
	put, _ := e.Derive(e.Header)
	for _, k := range put {
		st.tracef("  found %s by %q at %d", e.Header.ID, k.Name, e.Header.MTS)
		if cell := st.found(k, e.Header.ID); cell.put(int64(e.Header.MTS)) {
			cell.row.Visibility, cell.row.MTS = e.Header.Visibility, e.Header.MTS
		}
	}
}

func (st *Store) dropFound(e *principal.DirectoryUpdate) {
	_, drop := e.Derive(e.Header)
	for _, k := range drop {
		st.tracef("  not found %s by %q at %d", e.Header.ID, k.Name, e.Header.MTS)
		st.found(k, e.Header.ID).del(int64(e.Header.MTS))
	}
}

// PageDirectory reads a slice of a tenant's directory.
func (c directory) PageDirectory(ctx context.Context, s principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	return look(ctx, c.Client, "PageDirectory", func() (rows []principal.DirectoryRow) {
		for _, cell := range c.st.directory {
			r := cell.row
			switch {
			case !cell.live, r.Principal.Tenant() != s.Tenant, r.Whole != (s.Prefix == ""), !strings.HasPrefix(r.Name, s.Prefix):
			case s.After != nil && !s.After.Less(r.Position()):
			case len(rows) < s.Limit:
				rows = append(rows, r)
			}
		}
		return rows
	})
}

// ReadDirectory reads rows of one principal.
func (c directory) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	return look(ctx, c.Client, "ReadDirectory", func() []principal.DirectoryRow {
		rows := make([]principal.DirectoryRow, len(keys))
		for i, k := range keys {
			rows[i] = principal.DirectoryRow{DirectoryKey: k, Principal: p}
			if cell := c.st.found(k, p); cell.live {
				rows[i] = cell.row
			}
		}
		return rows
	})
}

// ScanDirectory reads rows of all tenants, in the order of their positions.
func (c directory) ScanDirectory(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow, next []byte, err error) {
	err = c.read(ctx, "ScanDirectory", func() {
		for _, cell := range c.st.directory {
			at := directoryPosition(&cell.row)
			if !cell.live || after != nil && at <= string(after) {
				continue
			}
			if len(rows) == limit {
				next = []byte(directoryPosition(&rows[limit-1]))
				return
			}
			rows = append(rows, cell.row)
		}
	})
	return rows, next, err
}

// directoryPosition returns a text that orders the rows.
func directoryPosition(r *principal.DirectoryRow) string {
	list := "b"
	if r.Whole {
		list = "a"
	}
	return strings.Join([]string{r.Principal.Tenant(), list, r.Name, string(r.Principal)}, "\x00")
}

// DropDirectory deletes rows at the timestamps they were read with.
func (c directory) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) error {
	mine := slices.Clone(rows)
	return c.write(ctx, "DropDirectory", "", func() {
		for _, r := range mine {
			if cell := c.st.found(r.DirectoryKey, r.Principal); cell.live && cell.row.MTS == r.MTS {
				cell.del(int64(r.MTS))
			}
		}
	}, nil)
}

// auditDirectory compares the rows of the directory with the names of principals. The names in
// schedules are single words in lower case, so that the check needs none of the product's rules
// for splitting names.
func (st *Store) auditDirectory(report func(kind, format string, args ...any)) {
	var want, got []principal.DirectoryRow
	for _, p := range st.principals {
		h := &p.header
		if h.State != commit.Live {
			continue
		}
		keys := []principal.DirectoryKey{{Whole: true, Name: h.DisplayName}, {Name: h.DisplayName}}
		if h.ID.Name() != h.DisplayName {
			keys = append(keys, principal.DirectoryKey{Name: h.ID.Name()})
		}
		for _, k := range keys {
			want = append(want, principal.DirectoryRow{DirectoryKey: k, Principal: p.id, Visibility: h.Visibility})
		}
	}
	for _, c := range st.directory {
		if c.live {
			r := c.row
			r.MTS = 0
			got = append(got, r)
		}
	}
	byPosition := func(a, b principal.DirectoryRow) int {
		return strings.Compare(directoryPosition(&a), directoryPosition(&b))
	}
	slices.SortFunc(want, byPosition)
	slices.SortFunc(got, byPosition)
	if !slices.Equal(want, got) {
		report(wrongLibrary, "the directory has %v, should have %v", got, want)
	}
}
