package cursor

import "carrel/core/fault"

// PageArgs are the arguments of a connection, as the client passed them.
type PageArgs struct {
	First  *int
	After  *string
	Last   *int
	Before *string
}

// The page sizes of every connection. The cost estimate of an operation uses them too.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
)

// PageInfo describes a page of any connection.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool

	Start, End func() string
}

// StartCursor returns the cursor of the first edge. For a page without edges it returns the
// position from which the page was requested, or nil if it was requested without a cursor.
//
// The read budget may end a page early. Then the cursor of the end at which the reading stopped is
// the position of the last scanned entry. If such a page has no edges, the cursor of its other end
// is the position of a scanned entry too.
func (p *PageInfo) StartCursor() *string { return cursorOrNil(p.Start) }

// EndCursor returns the cursor of the last edge, by the same rules.
func (p *PageInfo) EndCursor() *string { return cursorOrNil(p.End) }

func cursorOrNil(seal func() string) *string {
	if seal == nil {
		return nil
	}
	c := seal()
	return &c
}

// Page is the page that the arguments of a connection request.
type Page struct {
	Size     int
	Backward bool    // the last edges before the cursor, not the first after it
	Cursor   *string // nil to start at an end of the connection
}

// Resolve checks the arguments of a connection and applies the defaults. Its errors are
// BAD_USER_INPUT.
func (a PageArgs) Resolve() (Page, error) {
	switch {
	case a.First != nil && a.Last != nil:
		return Page{}, fault.BadInputf("first and last exclude each other: pass first (with after) to page forwards, or " +
			"last (with before) to page backwards")
	case a.After != nil && a.Before != nil:
		return Page{}, fault.BadInputf("after and before exclude each other: pass after (with first) to page forwards, " +
			"or before (with last) to page backwards")
	case a.After != nil && a.Last != nil:
		return Page{}, fault.BadInputf("after goes with first, not with last: pass last with before to page backwards")
	case a.Before != nil && a.First != nil:
		return Page{}, fault.BadInputf("before goes with last, not with first: pass first with after to page forwards")
	}
	p := Page{Size: DefaultPageSize, Cursor: a.After}
	name, size := "first", a.First
	if a.Last != nil || a.Before != nil {
		p.Backward, p.Cursor = true, a.Before
		name, size = "last", a.Last
	}
	if size == nil {
		return p, nil
	}
	if *size < 0 || *size > MaxPageSize {
		return Page{}, fault.BadInputf("%s is %d: it takes 0 to %d; page with cursors to read more", name, *size, MaxPageSize)
	}
	p.Size = *size
	return p, nil
}

// Forwards is Resolve for connections that page forwards only.
func (a PageArgs) Forwards() (Page, error) {
	if a.Last != nil || a.Before != nil {
		return Page{}, fault.BadInputf("this connection pages forwards only: pass first and after")
	}
	return a.Resolve()
}
