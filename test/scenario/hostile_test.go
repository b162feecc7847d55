package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is a gateway in its production configuration, with a few users and items.
type world struct {
	*gateway
	// ann and bob are PUBLIC users of acme; eve is a user of beta. ann has created the
	// group team, with bob as a member.
	ann, bob, eve string // tokens
}

// row is a row of the table of hostile requests: a request with the checks of its answer.
type row struct {
	number int
	name   string
	try    func(t *testing.T, w *world)
}

// longRow is a row that takes long. It starts on a gateway of its own before the other
// rows, and is checked after them.
type longRow struct {
	row
	begin func(t *testing.T, w *world)
}

// hostile returns the table of hostile requests, without the rows of longHostile and elsewhere.
func hostile() []row {
	return slices.Concat(hostileDocuments(), hostileBodies(), hostileSites(), hostileTokens(), hostileAccess(),
		hostileEntities(), hostileInput(), hostileLoad())
}

func longHostile() []longRow {
	return []longRow{hostileSilence(), hostileRotation(), hostilePanic(), hostileSlowness()}
}

// elsewhere lists rows with tests in another package, by package and name. elsewhere_test.go checks
// that these tests exist. Row 49 (the store is down) needs a cluster, which test/nemesis starts.
var elsewhere = map[int]string{49: "test/nemesis:TestStoreDown_ErrorsHaveCodes"}

func TestHostile_RequestsDoNoHarm(t *testing.T) {
	t.Parallel() // mostly waits
	rows, long := hostile(), longHostile()
	everyRow(t, rows, long)
	g := serveWith(t, "--rate-limit", "0")
	w := &world{gateway: g, ann: g.user("acme", "ann", "PUBLIC"), bob: g.user("acme", "bob", "PUBLIC"), eve: g.user("beta", "eve", "PUBLIC")}
	g.must(w.ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "team", "displayName": "Team"}})
	g.must(w.ann, setMembers, vars{"in": vars{"groupId": "g:acme:team", "members": []vars{{"principalId": "u:acme:bob", "role": "MEMBER"}}}})
	g.must(w.ann, createItem, vars{"in": vars{"name": "private", "kind": "NOTE", "title": "Private", "visibility": "PRIVATE"}})
	for n := range 5 {
		g.must(w.ann, createItem, vars{"in": vars{"name": fmt.Sprint("public", n), "kind": "NOTE", "visibility": "PUBLIC",
			"title": fmt.Sprint("Public ", n)}})
	}
	for _, r := range long {
		r.begin(t, w)
		rows = append(rows, r.row)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.name), func(t *testing.T) {
			r.try(t, &world{gateway: g.in(t), ann: w.ann, bob: w.bob, eve: w.eve})
		})
	}
	// After all these requests the process is alive, and its store is consistent.
	if a := g.ask(w.ann, `{viewer{id}}`, nil); a.at("viewer.id") != "u:acme:ann" {
		t.Errorf("afterwards: %+v", a)
	}
	g.audit()
}

// everyRow requires that each number from 1 to 56 has a row, or is in elsewhere.
func everyRow(t *testing.T, rows []row, long []longRow) {
	t.Helper()
	tried := slices.Collect(maps.Keys(elsewhere))
	for _, r := range rows {
		tried = append(tried, r.number)
	}
	for _, r := range long {
		tried = append(tried, r.number)
	}
	slices.Sort(tried)
	want := make([]int, 56)
	for i := range want {
		want[i] = i + 1
	}
	if diff := cmp.Diff(want, slices.Compact(tried)); diff != "" {
		t.Errorf("rows without a test: %s", diff)
	}
}

// reply is a response with the bytes of its body.
type reply struct {
	answer
	Header     http.Header
	Proto      string
	ProtoMajor int
	body       []byte
}

// send sends a request with header lines "Name: value". A body that is not empty is JSON
// unless a header says otherwise.
func (g *gateway) send(method, path, body string, header ...string) *reply {
	g.t.Helper()
	r, err := g.trySend(method, path, body, header...)
	if err != nil {
		g.t.Fatalf("%s %.100s: %v", method, path, err)
	}
	return r
}

func (g *gateway) trySend(method, path, body string, header ...string) (*reply, error) {
	req, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	r := &reply{Header: res.Header, Proto: res.Proto, ProtoMajor: res.ProtoMajor, body: b}
	r.Status = res.StatusCode
	_ = json.Unmarshal(b, &r.answer) // not all responses are JSON
	return r, nil
}

// question returns the body of a request that has only a query.
func question(query string) string {
	b, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return string(b)
}

// refused requires that a query is refused with a code before the store is read.
func (w *world) refused(query, code string) *reply {
	w.t.Helper()
	var r *reply
	w.readsNothing(func() {
		r = w.send("POST", "/graphql", question(query), "Authorization: Bearer "+w.ann)
	})
	if r.code() != code || bytes.Contains(r.body, []byte(`"data"`)) {
		w.t.Errorf("got %d %s, want %s: %.300s", r.Status, r.code(), code, r.body)
	}
	return r
}

// readsNothing fails the test if do reads the store. The scrubber also reads, for a
// moment every ten seconds, so it is enough if one of several attempts reads nothing.
func (w *world) readsNothing(do func()) {
	w.t.Helper()
	var diff string
	for range 5 {
		before := w.storeReads(requestReads...)
		do()
		if diff = cmp.Diff(before, w.storeReads(requestReads...)); diff == "" {
			return
		}
	}
	w.t.Errorf("the store was read: %s", diff)
}

// requestReads are the reads of the store that requests make often and background work
// makes seldom.
var requestReads = []string{"read principals", "page a library", "count a library", "read roles", "read group members", "read members"}

// storeReads returns how often each read of the store was made, from /metrics.
func (g *gateway) storeReads(operations ...string) map[string]int {
	g.t.Helper()
	res, err := g.client.Get(g.admin + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		label, count, _ := strings.Cut(lines.Text(), "} ")
		label, ok := strings.CutPrefix(label, "carrel_store_call_seconds_count{operation=\"")
		if !ok {
			continue
		}
		operation, _, _ := strings.Cut(label, "\"")
		if !slices.Contains(operations, operation) {
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			g.t.Fatalf("%s: %v", lines.Text(), err)
		}
		counts[operation] += n
	}
	if len(counts) == 0 {
		g.t.Fatal("/metrics has no calls of the store")
	}
	return counts
}
