package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"carrel/graph"
)

// spend sends requests until one is refused, and returns the number of answers.
func (e *edgeUnderTest) spend(t *testing.T, body string, header ...string) (answered int, refused *answerUnderTest) {
	t.Helper()
	for range 10_000 {
		a := e.send(t, body, header...)
		if a.code() == "RATE_LIMITED" {
			return answered, a
		}
		answered++
	}
	t.Fatal("no request was refused")
	return 0, nil
}

func TestRates_OperationsCostTheirPrice(t *testing.T) {
	const input = `createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"})`
	const mutation = input + `{user{id}}`
	for name, c := range map[string]struct {
		body string
		want int // answered of 100 points
	}{
		"a small query, 1 point":   {`{"query":"{viewer{id}}"}`, 100},
		"a page of 60, 6.2 points": {`{"query":"{user(id:\"x\"){library(first:60){nodes{id}}}}"}`, 16},
		"a refused one, 1 point":   {`{"query":"{nothing}"}`, 100},
		"no JSON, 1 point":         {`{`, 100},
		"beyond the cost, 1 point": {`{"query":"{user(id:\"x\"){library(first:100){nodes{createdBy{library(first:100){nodes{id}}}}}}}"}`,
			100},
		"a mutation, 10 points":          {`{"query":"mutation{` + mutation + `}"}`, 10},
		"two mutations, 20 points":       {`{"query":"mutation{a:` + mutation + ` b:` + mutation + `}"}`, 5},
		"one that is left out, 10":       {`{"query":"mutation{a:` + mutation + ` b:` + input + `@skip(if:true){user{id}}}"}`, 10},
		"dearer than an account can pay": {`{"query":"{user(id:\"x\"){library(first:100){nodes{createdBy{groups(first:12){nodes{id}}}}}}}"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints = 100 })
				answered, a := e.spend(t, c.body, "Authorization: Bearer ann")
				if answered != c.want {
					t.Errorf("answered %d times, want %d", answered, c.want)
				}
				wait, _ := a.Errors[0].Extensions["retryAfter"].(float64)
				if a.Code != 429 || wait < 1 || wait > 60 || a.Header().Get("Retry-After") == "" {
					t.Errorf("got %d %v %s", a.Code, a.Header(), a.Body)
				}
				// The price of a document is known only after it was compiled. The minimum price is
				// charged before.
				for tries := 1; ; tries++ {
					sleep(time.Duration(wait) * time.Second)
					a := e.send(t, c.body, "Authorization: Bearer ann")
					if a.code() != "RATE_LIMITED" {
						break
					}
					if wait, _ = a.Errors[0].Extensions["retryAfter"].(float64); tries > 2 {
						t.Fatalf("after the advised times: %s", a.Body)
					}
				}
			})
		})
	}
}

func TestRates_ViewersAndAddressesHaveSeparateAccounts(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints, c.Limits.AddressPoints = 5, 3 })
	const body = `{"query":"{viewer{id}}"}`
	if n, _ := e.spend(t, body, "Authorization: Bearer ann"); n != 5 {
		t.Errorf("a viewer is answered %d times", n)
	}
	if n, _ := e.spend(t, body); n != 3 {
		t.Errorf("an address is answered %d times", n)
	}
	// An attempt with an invalid token is charged to the address.
	if a := e.send(t, body, "Authorization: Bearer x"); a.Code != 429 {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// TestRates_MutationIsBilledForWhatItDid: for libraries, keys and guesses, which are known afterwards. A
// guess costs as much as ten mutations, so that secrets and hidden names cannot be guessed.
func TestRates_MutationIsBilledForWhatItDid(t *testing.T) {
	for _, c := range []struct {
		libraries, keys, guesses int
		points                   float64 // of two mutations
	}{
		{0, 0, 0, 20},
		{1_050, 0, 0, 20 + 21},
		{0, 100, 0, 20 + 200},
		{0, 0, 1, 20 + 180},
		{50, 3, 2, 20 + 1 + 6 + 360},
	} {
		synctest.Test(t, func(t *testing.T) { // no points return meanwhile
			e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints = 1000 })
			e.onMake = func(ctx context.Context, _ graph.CreateUserInput) (*graph.CreateUserPayload, error) {
				op := graph.ExecutionOf(ctx)
				op.Libraries += c.libraries
				op.Keys += c.keys
				op.Guesses += c.guesses
				return &graph.CreateUserPayload{}, nil
			}
			const field = `createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"}){user{id}}`
			a := e.send(t, `{"query":"mutation{a:`+field+` b:`+field+`}","extensions":{"cost":true}}`, "Authorization: Bearer ann")
			if got := a.points(t); got != c.points {
				t.Errorf("%+v costs %g points", c, got)
			}
			if left := e.handler.rates.viewers.account("u:acme:ann").balance(); float64(left) != 1000-c.points {
				t.Errorf("%+v leaves %d points of 1000", c, left)
			}
		})
	}
}

// TestRates_BalanceMayBecomeNegative, because what is billed afterwards cannot be refused.
func TestRates_BalanceMayBecomeNegative(t *testing.T) {
	l := DefaultLimits()
	l.ViewerPoints = 100
	a := newRates(&l, nil, nil, nil).account("u:acme:ann", nil)
	a.bill(10 * point)
	a.bill(95 * point)
	if refused := a.begin(); refused == nil {
		t.Error("the negative balance is lost")
	}
}

// TestRates_AnonymousPastesAreLimited: anonymous callers may create and change so many pastes per
// minute, with or without other rate limits, and signed-in ones as many as their points allow.
func TestRates_AnonymousPastesAreLimited(t *testing.T) {
	for _, c := range []struct {
		paste  string
		points int
	}{
		{`createPaste(input:{body:\"x\"}){secret}`, 0},
		{`createPaste(input:{body:\"x\"}){secret}`, 10_000},
		{`updatePaste(input:{id:\"p:1\",secret:\"s\",body:\"x\"}){paste{id}}`, 0},
		{`updatePaste(input:{id:\"p:1\",secret:\"s\",body:\"x\"}){paste{id}}`, 10_000},
	} {
		paste, points := c.paste, c.points
		synctest.Test(t, func(t *testing.T) {
			e := newEdge(t, func(c *Config) {
				c.Limits.ViewerPoints, c.Limits.AddressPoints, c.Limits.Pastes = points, points, 3
			})
			two := `{"query":"mutation{a:` + paste + ` b:` + paste + `}"}`
			one := `{"query":"mutation{` + paste + `}"}`
			if a := e.send(t, two); a.code() != "" {
				t.Fatalf("two of three: %s", a.Body)
			}
			if a := e.send(t, two); a.code() != "RATE_LIMITED" || a.Header().Get("Retry-After") != "20" ||
				!strings.Contains(a.Errors[0].Message, "3 pastes a minute; try again in 20 s") {
				t.Errorf("two more of three: %s, retry after %s", a.Body, a.Header().Get("Retry-After"))
			}
			if a := e.send(t, `{"query":"mutation{`+strings.Replace(paste, "){", ")@skip(if:true){", 1)+` __typename}"}`); a.code() != "" {
				t.Errorf("one that is skipped: %s", a.Body)
			}
			if n, _ := e.spend(t, one); n != 1 {
				t.Errorf("%d of three remain after two", n)
			}
			sleep(20 * time.Second)
			if n, _ := e.spend(t, one); n != 1 {
				t.Errorf("%d within 20 s", n)
			}
			for range 10 {
				if a := e.send(t, one, "Authorization: Bearer ann"); a.code() != "" {
					t.Fatalf("a signed-in caller: %s", a.Body)
				}
			}
		})
	}
}

func TestRates_SpentPointsAreReported(t *testing.T) {
	l := DefaultLimits()
	l.ViewerPoints, l.AddressPoints = 20, 5
	viewers, addresses := 0.0, 0.0
	r := newRates(&l, nil, nil, func(signedIn bool, points float64) {
		if signedIn {
			viewers += points
		} else {
			addresses += points
		}
	})
	ann := r.account("u:acme:ann", nil)
	if ann.begin() != nil || ann.rest(10*point) != nil {
		t.Fatal("ann may not spend the points that she has")
	}
	ann.bill(3 * point / 2)
	if ann.rest(30*point) == nil {
		t.Error("ann may spend points that she does not have")
	}
	req := httptest.NewRequest("GET", "/", nil)
	if r.account("", req).begin() != nil {
		t.Fatal("the address may not spend the points that it has")
	}
	if viewers != 11.5 || addresses != 1 {
		t.Errorf("reported %v points of viewers and %v of addresses, want 11.5 and 1", viewers, addresses)
	}
}

// TestRates_AreInTheHeaders: every answer says how many points are left, and when all are back.
func TestRates_AreInTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints, c.Limits.AddressPoints = 60, 3 })
		const body = `{"query":"{viewer{id}}"}`
		const mutation = `{"query":"mutation{createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"}){user{id}}}"}`
		for _, c := range []struct {
			name, body     string
			header         []string
			status         int
			policy, remain string
		}{
			{"the first", body, []string{"Authorization: Bearer ann"}, 200, `"points";q=60;w=60`, `"points";r=59;t=1`},
			{"a mutation", mutation, []string{"Authorization: Bearer ann"}, 200, `"points";q=60;w=60`, `"points";r=49;t=11`},
			{"a malformed one", `{`, []string{"Authorization: Bearer ann"}, 400, `"points";q=60;w=60`, `"points";r=48;t=12`},
			{"an address", body, nil, 200, `"points";q=3;w=60`, `"points";r=2;t=20`},
			{"a second", body, nil, 200, `"points";q=3;w=60`, `"points";r=1;t=40`},
			{"a third", body, nil, 200, `"points";q=3;w=60`, `"points";r=0;t=60`},
			{"one too many", body, nil, 429, `"points";q=3;w=60`, `"points";r=0;t=60`},
		} {
			a := e.send(t, c.body, c.header...)
			if a.Code != c.status || a.Header().Get("RateLimit-Policy") != c.policy || a.Header().Get("RateLimit") != c.remain {
				t.Errorf("%s: %d %v, want %d, %s and %s", c.name, a.Code, a.Header(), c.status, c.policy, c.remain)
			}
		}
		sleep(90 * time.Second)
		if got := e.send(t, body, "Authorization: Bearer ann").Header().Get("RateLimit"); got != `"points";r=59;t=1` {
			t.Errorf("after a pause: %s", got)
		}
		if got := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 0 }).send(t, body).Header(); got.Get("RateLimit") != "" ||
			got.Get("RateLimit-Policy") != "" {
			t.Errorf("without rate limits: %v", got)
		}
	})
}

func TestRates_ZeroPointsDisableThem(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints, c.Limits.AddressPoints = 0, 0 })
	for range 20_000 / 100 {
		if a := e.query(t, `{viewer{id}}`, nil); a.Code != 200 {
			t.Fatal(a.Body)
		}
	}
}

// TestRates_SocketSharesTheAccountOfNewRequests: a socket keeps its account. After any idle time it
// spends the same points as new requests.
func TestRates_SocketSharesTheAccountOfNewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(60, func(int) {})
		held := l.account("ann")
		for range 3 {
			sleep(refill + time.Second)
			l.account("another").begin()
		}
		held.bill(60 * point)
		if left := l.account("ann").balance(); left > 0 {
			t.Errorf("a second account has %d points", left)
		}
	})
}

func TestRates_AccountsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(60, func(int) {})
		for range 2 {
			l.account("debtor").bill(60 * point)
		}
		for i := range 1000 {
			l.account(string(rune('a' + i))).begin()
		}
		sleep(refill + time.Second)
		if a := l.account("debtor"); a.balance() > 1 {
			t.Errorf("a debt was forgotten: %d", a.balance())
		}
		sleep(refill + time.Second)
		l.account("x").begin()
		sleep(refill + time.Second)
		l.account("x").begin()
		if n := len(l.younger) + len(l.older); n > 3 {
			t.Errorf("%d full accounts are kept", n)
		}
	})
}

func TestRates_AddressIsTakenFromTrustedProxiesOnly(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		remote    string
		forwarded []string
		trusted   []netip.Prefix
		want      string
	}{
		"direct":                       {"192.0.2.1:1234", nil, nil, "192.0.2.1"},
		"forged":                       {"192.0.2.1:1234", []string{"198.51.100.1"}, nil, "192.0.2.1"},
		"forged, of one not trusted":   {"192.0.2.1:1234", []string{"198.51.100.1"}, trusted, "192.0.2.1"},
		"behind a proxy":               {"10.0.0.1:1234", []string{"198.51.100.1"}, trusted, "198.51.100.1"},
		"forged in front of a proxy":   {"10.0.0.1:1234", []string{"1.2.3.4, 198.51.100.1"}, trusted, "198.51.100.1"},
		"in two headers":               {"10.0.0.1:1234", []string{"1.2.3.4", "198.51.100.1"}, trusted, "198.51.100.1"},
		"behind two proxies":           {"10.0.0.1:1234", []string{"198.51.100.1, 10.0.0.2"}, trusted, "198.51.100.1"},
		"with a port":                  {"10.0.0.1:1234", []string{"203.0.113.7:5001"}, trusted, "203.0.113.7"},
		"IPv6":                         {"10.0.0.1:1234", []string{"2001:db8:1:2::7"}, trusted, "2001:db8:1:2::/64"},
		"IPv6 in brackets":             {"10.0.0.1:1234", []string{"[2001:db8:1:2::7]"}, trusted, "2001:db8:1:2::/64"},
		"IPv6 with a port":             {"10.0.0.1:1234", []string{"[2001:db8:1:2::7]:5001"}, trusted, "2001:db8:1:2::/64"},
		"IPv6 that ends like a port":   {"10.0.0.1:1234", []string{"2001:db8:1:2::5001"}, trusted, "2001:db8:1:2::/64"},
		"IPv4 in IPv6 with a port":     {"10.0.0.1:1234", []string{"[::ffff:203.0.113.7]:5001"}, trusted, "203.0.113.7"},
		"ports at each hop":            {"10.0.0.1:1234", []string{"203.0.113.7:5001, 10.0.0.3:80"}, trusted, "203.0.113.7"},
		"unknown":                      {"10.0.0.1:1234", []string{"203.0.113.7, unknown"}, trusted, "10.0.0.1"},
		"unknown behind two proxies":   {"10.0.0.1:1234", []string{"unknown, 10.0.0.2:99"}, trusted, "10.0.0.2"},
		"empty":                        {"10.0.0.1:1234", []string{""}, trusted, "10.0.0.1"},
		"garbage":                      {"10.0.0.1:1234", []string{"x"}, trusted, "10.0.0.1"},
		"the proxy itself":             {"10.0.0.1:1234", nil, trusted, "10.0.0.1"},
		"IPv6, one household":          {"[2001:db8:1:2:3:4:5:6]:1234", nil, nil, "2001:db8:1:2::/64"},
		"IPv4 in IPv6":                 {"[::ffff:192.0.2.1]:1234", nil, nil, "192.0.2.1"},
		"no address, as in some tests": {"pipe", nil, nil, "invalid IP"},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest("GET", "/", nil)
			req.RemoteAddr = c.remote
			for _, f := range c.forwarded {
				req.Header.Add("X-Forwarded-For", f)
			}
			l := DefaultLimits()
			if got := newRates(&l, c.trusted, slog.New(slog.DiscardHandler), nil).account("", req).owner; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRates_UnreadableForwardedAddressIsLoggedOnce(t *testing.T) {
	l := DefaultLimits()
	var log bytes.Buffer
	r := newRates(&l, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.NewTextHandler(&log, nil)), nil)
	from := func(forwarded ...string) {
		req := httptest.NewRequest("GET", "/", nil)
		req.RemoteAddr = "10.0.0.1:1234"
		req.Header["X-Forwarded-For"] = forwarded
		r.account("", req)
	}
	from()
	from("203.0.113.7:5001")
	if log.Len() > 0 {
		t.Fatalf("logged without a reason: %s", &log)
	}
	from("unknown\xff" + strings.Repeat("x", 10_000))
	from("another")
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "unknown") || len(got) > 500 {
		t.Errorf("got %q, want one short line", got)
	}
}

// TestRates_NetworkOf48HasAnAccount: an attacker with a /48 has 65,536 networks of /64, and not as many
// accounts.
func TestRates_NetworkOf48HasAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still, so no points are refilled
		l := DefaultLimits()
		l.AddressPoints, l.Pastes = 10, 3
		spent := 0.0
		r := newRates(&l, nil, nil, func(_ bool, points float64) { spent += points })
		in := func(network string, i int) account {
			return r.anonymous(addressKey(netip.MustParseAddr(fmt.Sprintf("%s:%x::1", network, i))))
		}
		begun, created := 0, 0
		for i := range 1000 {
			if in("2001:db8:1", i).begin() == nil {
				begun++
			}
			if in("2001:db8:1", i).paste(1) == nil {
				created++
			}
		}
		if begun != 160 || created != 48 {
			t.Errorf("a /48 began %d operations and created %d pastes, want 16 times 10 and 3", begun, created)
		}
		if left := in("2001:db8:1", 5000).balance(); left != 0 {
			t.Errorf("an address of it has %d points left", left)
		}
		if in("2001:db8:2", 1).begin() != nil {
			t.Error("another /48 is refused")
		}
		in("2001:db8:3", 1).bill(10 * point)
		if left := in("2001:db8:3", 2).balance(); left != 10 {
			t.Errorf("a neighbour of a debtor has %d points left of 10", left)
		}
		// A /64 that goes on after its points are spent takes none of its /48.
		for range 1000 {
			in("2001:db8:4", 1).begin()
		}
		if in("2001:db8:4", 2).begin() != nil {
			t.Error("a flood of one /64 locks out its neighbours")
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.1.1"} {
			if n := networkOf(address); n != "" {
				t.Errorf("%s has the network %s", address, n)
			}
		}
	})
}
