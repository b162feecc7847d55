package library

import "carrel/core/fault"

// page is what the arguments of a connection ask for.
type page struct {
	size     int
	backward bool    // the last ones before the cursor, not the first after it
	cursor   *string // nil: from the end of the connection
}

// resolve checks the arguments of a connection and fills in what was left out.
// Its errors are BAD_USER_INPUT.
func (a PageArgs) resolve() (page, error) {
	switch {
	case a.First != nil && a.Last != nil:
		return page{}, fault.BadInputf("first and last exclude each other: pass first (with after) to page forwards, or last (with before) to page backwards")
	case a.After != nil && a.Before != nil:
		return page{}, fault.BadInputf("after and before exclude each other: pass after (with first) to page forwards, or before (with last) to page backwards")
	case a.After != nil && a.Last != nil:
		return page{}, fault.BadInputf("after goes with first, not with last: pass last with before to page backwards")
	case a.Before != nil && a.First != nil:
		return page{}, fault.BadInputf("before goes with last, not with first: pass first with after to page forwards")
	}
	p := page{size: DefaultPageSize, cursor: a.After}
	name, size := "first", a.First
	if a.Last != nil || a.Before != nil {
		p.backward, p.cursor = true, a.Before
		name, size = "last", a.Last
	}
	if size == nil {
		return p, nil
	}
	if *size < 0 || *size > MaxPageSize {
		return page{}, fault.BadInputf("%s is %d: it takes 0 to %d; page with cursors to read more", name, *size, MaxPageSize)
	}
	p.size = *size
	return p, nil
}

// forwards is resolve for connections that page forwards only.
func (a PageArgs) forwards() (page, error) {
	if a.Last != nil || a.Before != nil {
		return page{}, fault.BadInputf("this connection pages forwards only: pass first and after")
	}
	return a.resolve()
}
