package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"carrel/principal"
)

// points returns the points that a request has cost, as extensions.cost has them.
func (a *answerUnderTest) points(t *testing.T) float64 {
	t.Helper()
	var got struct{ Cost costReported }
	if err := json.Unmarshal(a.keys["extensions"], &got); err != nil {
		t.Fatalf("%v: %.300s", err, a.Body)
	}
	return got.Cost.Points
}

// TestBytes_ArePaid: each full 16 KiB of a request, of the texts in its arguments, each time they are
// used, and of its answer cost a point. What is reported is what is charged.
func TestBytes_ArePaid(t *testing.T) {
	sdl := len(newEdge(t, nil).query(t, `{_service{sdl}}`, nil).Data)
	var aliases strings.Builder
	for i := range 29 {
		fmt.Fprintf(&aliases, " a%d:sdl", i)
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		query, variables, padding string
		want                      float64
	}{
		"short":                    {`{viewer{id}}`, `{}`, "", 1},
		"a long body":              {`{viewer{id}}`, `{"unused":"` + long(100<<10) + `"}`, "", 1 + 6},
		"white space":              {`{viewer{id}}`, `{}`, strings.Repeat(" ", 1<<20-200), 1 + 63},
		"escapes":                  {`{viewer{id}}`, `{"unused":"` + strings.Repeat(`\u0041`, 10<<10) + `"}`, "", 1 + 3},
		"an argument":              {`query($u:ID!){user(id:$u){__typename}}`, `{"u":"` + long(4_000) + `"}`, "", 1},
		"an argument, five times":  {`query($u:ID!){a:user(id:$u){__typename} b:user(id:$u){__typename} c:user(id:$u){__typename} d:user(id:$u){__typename} e:user(id:$u){__typename}}`, `{"u":"` + long(4_000) + `"}`, "", 1 + 1},
		"one alias of a long leaf": {`{_service{sdl}}`, `{}`, "", 1 + float64(sdl/bytesUnit)},
		"30 aliases of it":         {`{_service{sdl` + aliases.String() + `}}`, `{}`, "", 1 + float64(30*sdl/bytesUnit)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no points return meanwhile
				e := newEdge(t, nil)
				e.onUser = func(context.Context, string) (*principal.User, error) { return user("x"), nil }
				a := e.send(t, fmt.Sprintf(`{"query":%s,"variables":%s,"extensions":{"cost":true}}%s`, quote(t, c.query), c.variables, c.padding))
				got := a.points(t)
				if got < c.want || got > c.want+1 && len(a.Data) > bytesUnit || got > c.want && len(a.Data) < bytesUnit {
					t.Errorf("costs %g points, want %g", got, c.want)
				}
				if paid := 10_000 - e.handler.rates.anonymous("192.0.2.1").balance(); float64(paid) < got || float64(paid) > got+1 {
					t.Errorf("%d points were charged, and %g reported", paid, got)
				}
			})
		})
	}
}

// TestBytes_OfRefusedRequestsArePaid: of one that is no JSON, and of an answer that is too long.
func TestBytes_OfRefusedRequestsArePaid(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		most int // of an answer
		want int
	}{
		"not JSON":          {strings.Repeat(`"\u0041`, 100_000), 8 << 20, 1 + 42},
		"a too long answer": {`{"query":"{_service{sdl}}"}`, 40_000, 1 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t, nil)
				e.handler.limits.AnswerBytes = c.most
				if a := e.send(t, c.body); a.code() == "" {
					t.Fatalf("answered %.100s", a.Body)
				}
				if paid := 10_000 - e.handler.rates.anonymous("192.0.2.1").balance(); paid < c.want || c.most == 8<<20 && paid > c.want {
					t.Errorf("%d points were charged, want %d", paid, c.want)
				}
			})
		})
	}
}

// TestBytes_OverASocketArePaid: those of its messages and its answers.
func TestBytes_OverASocketArePaid(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 300 }) // of which 5 come back in a second
	addr := start(t, e.handler, DefaultLimits())
	left := func() int { return e.handler.rates.anonymous(byAddress).balance() }
	s := connect(t, addr)
	s.conn.SetReadLimit(-1)
	s.send(`{"type":"connection_init"}`)
	s.next()
	before := left()
	s.send(`{"type":"ping"` + strings.Repeat(" ", 1000<<10) + `}`)
	s.next()
	eventually(t, func() bool { return before-left() > 35 })
	before = left()
	s.send(`{"id":"1","type":"subscribe","payload":{"query":"{_service{sdl a:sdl b:sdl c:sdl d:sdl e:sdl f:sdl g:sdl h:sdl i:sdl}}"}}`)
	if got := s.next(); !strings.Contains(got, `"next"`) {
		t.Fatalf("%.100s", got)
	}
	eventually(t, func() bool { return before-left() > 30 })
}

// TestBytes_OfARawTextArePaid.
func TestBytes_OfARawTextArePaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, nil)
		text := strings.Repeat("t", 512<<10)
		r := httptest.NewRequest("GET", "/p/1/raw", nil)
		w := httptest.NewRecorder()
		e.handler.Raw(func(context.Context, string) (*string, error) { return &text, nil }).ServeHTTP(w, r)
		if paid := 10_000 - e.handler.rates.anonymous("192.0.2.1").balance(); w.Code != 200 || paid != 1+32 {
			t.Errorf("%d: %d points were charged", w.Code, paid)
		}
	})
}
