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

// world is a gateway as it stands in production, with a few people and items.
type world struct {
	*gateway
	// ann and bob are of acme, and PUBLIC; eve is of beta. The group team is
	// ann's, with bob in it.
	ann, bob, eve string // tokens
}

// row is one of the hostile requests of the edge's specification, section 4.
type row struct {
	number int
	name   string
	try    func(t *testing.T, w *world)
}

// longRow is one that takes long by itself: it begins on a gateway of its own
// before any row is tried, and is tried after all others.
type longRow struct {
	row
	begin func(t *testing.T, w *world)
}

// hostile is the table but for its long rows, and for those of elsewhere.
func hostile() []row {
	return slices.Concat(hostileDocuments(), hostileBodies(), hostileSites(), hostileTokens(), hostileSight(), hostileEntities(), hostileInput(), hostileLoad())
}

func hostileForLong() []longRow {
	return []longRow{hostileSilence(), hostileRotation(), hostilePanic(), hostileSlowness()}
}

// elsewhere are rows with tests of their own, by the room and the name of the
// test, which arch_test.go looks for: 49 (the store down) needs a cluster, which
// nemesis has.
var elsewhere = map[int]string{49: "test/nemesis:TestRow49TheStoreIsDown"}

func TestHostile(t *testing.T) {
	t.Parallel() // it waits more than it works
	rows, long := hostile(), hostileForLong()
	everyRow(t, rows, long)
	g := serveWith(t, "--rate-limit", "0")
	w := &world{gateway: g, ann: g.user("acme", "ann", "PUBLIC"), bob: g.user("acme", "bob", "PUBLIC"), eve: g.user("beta", "eve", "PUBLIC")}
	g.must(w.ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "team", "displayName": "Team"}})
	g.must(w.ann, setMembers, vars{"in": vars{"groupId": "g:acme:team", "members": []vars{{"principalId": "u:acme:bob", "role": "MEMBER"}}}})
	g.must(w.ann, createItem, vars{"in": vars{"name": "private", "kind": "NOTE", "title": "Private", "visibility": "PRIVATE"}})
	for n := range 5 {
		g.must(w.ann, createItem, vars{"in": vars{"name": fmt.Sprint("public", n), "kind": "NOTE", "visibility": "PUBLIC", "title": fmt.Sprint("Public ", n)}})
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
	// Whatever was tried, the process lives, and its store agrees with itself.
	if a := g.ask(w.ann, `{viewer{id}}`, nil); a.at("viewer.id") != "u:acme:ann" {
		t.Errorf("afterwards: %+v", a)
	}
	g.audit()
}

// everyRow wants each number from 1 to 56 to be tried, in one part or more, or
// to be elsewhere.
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
		t.Errorf("rows that are not tried: %s", diff)
	}
}

// reply is an answer as bytes.
type reply struct {
	answer
	Header     http.Header
	Proto      string
	ProtoMajor int
	body       []byte
}

// send sends a request with header lines "Name: value"; a body that is not
// empty is JSON unless a header says otherwise.
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
	_ = json.Unmarshal(b, &r.answer) // not all answers are JSON
	return r, nil
}

// question is the body of a request with a query alone.
func question(query string) string {
	b, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		panic(err) // a string can be written
	}
	return string(b)
}

// refused wants a query to be refused with a code, before anything is read.
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

// readsNothing fails if what is done reads the store. The scrubber reads too, a
// moment in ten seconds: one doing of several that reads nothing is enough.
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

// requestReads are the readings of a store that requests do, and the background
// does seldom.
var requestReads = []string{"ReadPrincipals", "PageLibrary", "CountLibrary", "Roles", "GroupMembersPage", "MembersPage"}

// storeReads are how often each of the readings of the store was done, as
// /metrics tells.
func (g *gateway) storeReads(methods ...string) map[string]int {
	g.t.Helper()
	res, err := g.client.Get(g.admin + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		label, count, _ := strings.Cut(lines.Text(), "} ")
		label, ok := strings.CutPrefix(label, "carrel_store_call_seconds_count{method=\"")
		if !ok {
			continue
		}
		method, _, _ := strings.Cut(label, "\"")
		if !slices.Contains(methods, method) {
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			g.t.Fatalf("%s: %v", lines.Text(), err)
		}
		counts[method] += n
	}
	if len(counts) == 0 {
		g.t.Fatal("the store's calls are not counted")
	}
	return counts
}
