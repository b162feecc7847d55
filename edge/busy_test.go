package edge

import (
	"context"
	"strconv"
	"testing"

	"carrel/core/fault"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// TestBusyStore_HasStatusAndRetryAfter: if a store is busy or times out, the error and the
// Retry-After header say when to retry, for every kind of operation and media type. If the answer
// has no data, its status reports the failure too. A null in a nullable field counts as data, as
// GraphQL over HTTP says.
func TestBusyStore_HasStatusAndRetryAfter(t *testing.T) {
	operations := []struct {
		name, text string
		noData     bool
	}{
		{"a list that must be there", `{nodes(ids:["u:acme:x"]){id}}`, true},
		{"an item that may be null", `{user(id:"u:acme:x"){id}}`, false},
		{"a mutation", `mutation{createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}}`, false},
	}
	for _, c := range []struct {
		name   string
		err    *fault.Error
		status int
		code   string
		after  int
	}{
		{"busy", &fault.Error{Code: fault.Unavailable, Msg: "the cluster is busy", RetryAfter: 1}, 503, "UNAVAILABLE", 1},
		{"rebuilding", &fault.Error{Code: fault.Unavailable, Msg: "the library is being made", RetryAfter: 5}, 503, "UNAVAILABLE", 5},
		{"out of time", &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonTimeout, Msg: "the time has run out", RetryAfter: 1},
			504, "TIMEOUT", 1},
		{"without advice", &fault.Error{Code: fault.Unavailable, Msg: "it is closed"}, 503, "UNAVAILABLE", 0},
	} {
		e := newEdge(t, nil)
		e.onUser = func(context.Context, string) (*principal.User, error) { return nil, c.err }
		e.onMany = func(context.Context, []string) ([]library.Node, error) { return nil, c.err }
		e.onMake = func(context.Context, graph.CreateUserInput) (*graph.CreateUserPayload, error) { return nil, c.err }
		header, after := "", any(nil)
		if c.after > 0 {
			header, after = strconv.Itoa(c.after), float64(c.after)
		}
		for _, o := range operations {
			for _, media := range []string{mediaJSON.contentType(), mediaGraphQL.contentType()} {
				t.Run(c.name+", "+o.name+", "+media, func(t *testing.T) {
					a := e.query(t, o.text, nil, "Accept: "+media, "Authorization: Bearer ann")
					status := 200
					if o.noData {
						status = c.status
					}
					if a.Code != status || a.code() != c.code || a.Errors[0].Extensions["retryAfter"] != after {
						t.Errorf("%d: %s", a.Code, a.Body)
					}
					if got := a.Header(); got.Get("Retry-After") != header || got.Get("Content-Type") != media {
						t.Errorf("Retry-After is %q, the type %q", got.Get("Retry-After"), got.Get("Content-Type"))
					}
				})
			}
		}
	}
}

// TestBusyStore_LongestRetryAfterWins: of several errors the one with the longest wait sets the
// header.
func TestBusyStore_LongestRetryAfterWins(t *testing.T) {
	e := newEdge(t, nil)
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		return nil, &fault.Error{Code: fault.Unavailable, Msg: "busy", RetryAfter: len(id)}
	}
	a := e.query(t, `{a:user(id:"123"){id} b:user(id:"1234567"){id} c:user(id:"1"){id}}`, nil)
	if a.Code != 200 || a.Header().Get("Retry-After") != "7" || len(a.Errors) != 3 {
		t.Errorf("%d, Retry-After %q: %s", a.Code, a.Header().Get("Retry-After"), a.Body)
	}
	if a := e.query(t, `{viewer{id}}`, nil); a.Header().Get("Retry-After") != "" {
		t.Errorf("an answer without errors has Retry-After %q", a.Header().Get("Retry-After"))
	}
}
