package scenario

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	createPaste  = `mutation($in: CreatePasteInput!) { createPaste(input: $in) { paste { id title body isPrivate createdAt modifiedAt expiresAt version } secret userErrors { code field message } } }`
	updatePaste  = `mutation($in: UpdatePasteInput!) { updatePaste(input: $in) { paste { id title body isPrivate createdAt expiresAt version } userErrors { code field message } } }`
	deletePaste  = `mutation($in: DeletePasteInput!) { deletePaste(input: $in) { deletedPasteId userErrors { code field message } } }`
	readPaste    = `query($id: ID!) { paste(id: $id) { title body version } node(id: $id) { id ... on Paste { body } } nodes(ids: [$id, "u:acme:nobody"]) { id } }`
	latestPastes = `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { latestPastes(first: $first, after: $after, last: $last, before: $before) {
		edges { cursor node { id title body } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
	pasteCreated  = `subscription($after: Cursor) { pasteCreated(after: $after) { id title body isPrivate createdAt modifiedAt expiresAt version } }`
	latestContent = `query($tenant: String!, $first: Int, $after: Cursor) { latestContent(tenant: $tenant, first: $first, after: $after) {
		edges { cursor node { id title createdBy { id } } } pageInfo { hasNextPage hasPreviousPage endCursor } } }`
)

// incompressible is a text that does not compress.
const incompressible = "zQ8vK1xWm4Tj7RcY"

// pasted is a paste with its secret.
type pasted struct{ id, secret string }

// with returns an input that contains the id and the secret of the paste.
func (p pasted) with(pairs ...any) vars {
	input := vars{"id": p.id, "secret": p.secret}
	for n := 0; n < len(pairs); n += 2 {
		input[pairs[n].(string)] = pairs[n+1]
	}
	return vars{"in": input}
}

// paste creates a paste.
func (g *gateway) paste(token, title string, pairs ...any) pasted {
	g.t.Helper()
	input := vars{"title": title, "body": "body of " + title}
	for n := 0; n < len(pairs); n += 2 {
		input[pairs[n].(string)] = pairs[n+1]
	}
	a := g.must(token, createPaste, vars{"in": input})
	id, _ := a.at("createPaste.paste.id").(string)
	secret, _ := a.at("createPaste.secret").(string)
	return pasted{id, secret}
}

// latest returns a page of the newest pastes.
func (g *gateway) latest(args vars) *page {
	g.t.Helper()
	return connectionPage(g.must("", latestPastes, args).at("latestPastes").(map[string]any))
}

// wantLatest checks that the newest pastes soon have some titles. Another gateway may have listed them just now.
func (g *gateway) wantLatest(want ...string) {
	g.t.Helper()
	g.eventually(fmt.Sprintf("the newest pastes are %q", want), func() bool { return slices.Equal(g.latest(nil).Titles, want) })
}

// raw reads the raw text of a paste.
func (g *gateway) raw(id string) (status int, text string) {
	g.t.Helper()
	res, err := g.client.Get(g.url + "/p/" + id + "/raw")
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		res.Header.Get("X-Content-Type-Options") != "nosniff" || len(res.Cookies()) > 0 {
		g.t.Errorf("the raw text of %s: %v %v", id, res.Header, err)
	}
	return res.StatusCode, string(body)
}

// TestPastes_SecretIsReturnedOnlyOnce creates pastes anonymously and as ann over HTTP, through two
// gateways if the store allows it. Each secret is returned once, and appears nowhere else: in no
// other answer, no event, no log, no trace and no file of the store.
func TestPastes_SecretIsReturnedOnlyOnce(t *testing.T) {
	traces := collect(t)
	g := serveWith(t, "--dev", "--rate-limit", "0", "--limit", "pastes-per-minute=1000", "--otlp-endpoint", traces.url, "--trace-ratio", "1")
	answers := g.recordAnswers()
	other := g.beside()
	ann := g.user("acme", "ann", "PUBLIC")
	before := g.paste("", "before")
	since := g.latest(nil).Start
	g.must("", deletePaste, before.with())
	var followers []*subscription
	for _, ask := range subscribers() {
		followers = append(followers, ask(other, "", pasteCreated, vars{"after": since}))
	}
	long := strings.Repeat("a long line of a paste\n", 1000)
	first, second := g.paste("", "1"), g.paste(ann, "2", "body", long)
	hidden := g.paste("", "hidden", "isPrivate", true, "body", incompressible)
	other.wantLatest("2", "1")
	secrets := []string{before.secret, first.secret, second.secret, hidden.secret}
	for _, f := range followers {
		f.wantNoSecret(secrets, first, second)
	}
	for _, secret := range secrets {
		if b, err := base64.RawURLEncoding.DecodeString(secret); err != nil || len(b) < 16 {
			t.Errorf("a secret of %d bytes: %v", len(b), err)
		}
	}
	for _, p := range []pasted{first, second, hidden} {
		a := other.must("", readPaste, vars{"id": p.id})
		text, _ := a.at("paste.body").(string)
		if text == "" || a.at("node.body") != text || fmt.Sprint(a.Data["nodes"]) != "[map[id:"+p.id+"] <nil>]" {
			t.Errorf("%s is read as %.200v", p.id, a.Data)
		}
		if status, got := other.raw(p.id); status != 200 || got != text {
			t.Errorf("%s, raw: %d %.40q", p.id, status, got)
		}
	}

	stolen := pasted{first.id, strings.Repeat("A", 43)}
	g.wantRefused("", updatePaste, "updatePaste", stolen.with("title", "x"), "WRONG_SECRET secret")
	g.wantRefused(ann, deletePaste, "deletePaste", pasted{second.id, first.secret}.with(), "WRONG_SECRET secret")
	g.wantRefused("", updatePaste, "updatePaste", first.with("body", nil, "title", "a\nb"), "INVALID title", "INVALID body")
	g.wantRefused("", updatePaste, "updatePaste", first.with(), "INVALID")
	g.wantRefused("", createPaste, "createPaste", vars{"in": vars{"body": "", "expiresAt": "2020-01-01T00:00:00Z"}},
		"INVALID body", "INVALID expiresAt")
	g.wantRefused("", createPaste, "createPaste", vars{"in": vars{"body": "x", "idempotencyKey": "k"}}, "INVALID idempotencyKey")
	if a := g.ask("", `{ paste(id: "p:1") { id } }`, nil); a.code() != "BAD_USER_INPUT" {
		t.Errorf("a malformed id: %+v", a)
	}
	a := g.must(ann, createPaste, vars{"in": vars{"body": "keyed", "isPrivate": true, "idempotencyKey": "k"}})
	again := other.must(ann, createPaste, vars{"in": vars{"body": "keyed", "isPrivate": true, "idempotencyKey": "k"}})
	if again.at("createPaste.secret") != nil || again.at("createPaste.paste.id") != a.at("createPaste.paste.id") {
		t.Errorf("repeated: %v after %v", again.Data, a.Data)
	}
	secrets = append(secrets, a.at("createPaste.secret").(string))

	other.must("", updatePaste, first.with("isPrivate", true))
	g.wantLatest("2")
	other.must("", updatePaste, hidden.with("isPrivate", nil))
	g.wantLatest("hidden", "2")
	g.must("", updatePaste, first.with("isPrivate", false, "title", "one"))
	other.wantLatest("hidden", "2", "one")
	g.must("", deletePaste, second.with())
	other.wantLatest("hidden", "one")
	other.wantRefused("", updatePaste, "updatePaste", second.with("title", "back"), "NOT_FOUND id")
	if status, text := other.raw(second.id); status != 404 {
		t.Errorf("a deleted paste, raw: %d %.40q", status, text)
	}
	a = g.ask("", `{ a: paste(id: "`+second.id+`") { id } b: node(id: "`+second.id+`") { id } }`, nil)
	if a.Data["a"] != nil || a.Data["b"] != nil {
		t.Errorf("a deleted paste: %v", a.Data)
	}

	for _, secret := range secrets {
		if n := strings.Count(answers.String(), secret); n != 1 {
			t.Errorf("a secret is in the answers %d times, want once", n)
		}
	}
	g.wantNoSecret(secrets)
	g.kill()
	g.start()
	g.wantLatest("hidden", "one")
	g.stop()
	g.wantNoSecret(secrets)
	traces.mu.Lock()
	defer traces.mu.Unlock()
	if sent := traces.raw.Bytes(); len(sent) == 0 || containsAny(sent, secrets) {
		t.Errorf("a secret is in the traces, or none were sent: %d bytes", len(sent))
	}
	if *on == "pebble" { // a cluster waits for the end of a killed gateway before its audit
		g.audit()
	}
}

// recordAnswers records the answers to all later requests.
func (g *gateway) recordAnswers() *record {
	all := &record{}
	g.client.Transport = &recording{g.client.Transport.(*http.Transport), all}
	return all
}

// recording is a transport that records the bodies of responses as they are read.
type recording struct {
	*http.Transport
	all *record
}

// RoundTrip implements http.RoundTripper.
func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.Transport.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(res.Body, r.all), res.Body}
	}
	return res, err
}

// wantNoSecret checks that the next events are those of some pastes and contain no secret.
func (s *subscription) wantNoSecret(secrets []string, pastes ...pasted) {
	s.t.Helper()
	for _, p := range pastes {
		event, _ := s.next()
		if !bytes.Contains(event, []byte(p.id)) || containsAny(event, secrets) {
			s.t.Errorf("the event of %s has another paste or a secret: %.300s", p.id, event)
		}
	}
}

// containsAny reports whether a text contains one of some secrets.
func containsAny(text []byte, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(secret string) bool { return bytes.Contains(text, []byte(secret)) })
}

// wantNoSecret searches the files of the store and the output of the gateway for secrets.
// It must find the text of a paste there, or the search would prove nothing.
func (g *gateway) wantNoSecret(secrets []string) {
	g.t.Helper()
	if containsAny([]byte(g.log.String()+g.output.String()), secrets) {
		g.t.Error("a secret is in the log")
	}
	dirs := []string{g.dir}
	if *on == "cassandra" {
		if dir := node.Dir(g.t); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	seen := *on == "cassandra" && len(dirs) == 1 // the files of CASSANDRA_HOSTS are not here
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // a compaction may have removed it
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			seen = seen || bytes.Contains(text, []byte(incompressible))
			if containsAny(text, secrets) {
				g.t.Errorf("a secret is in %s", filepath.Base(path))
			}
			return nil
		})
		if err != nil {
			g.t.Fatal(err)
		}
	}
	if !seen {
		g.t.Error("no file has the text of a paste: the search did not cover the store")
	}
}

// TestPastes_FollowersReceiveNewAndMissedPastes checks that followers receive new pastes, including
// those that another gateway has stored, and those that they missed.
func TestPastes_FollowersReceiveNewAndMissedPastes(t *testing.T) {
	whole := serveWith(t, "--dev", "--rate-limit", "0", "--limit", "pastes-per-minute=1000")
	other := whole.beside()
	for name, ask := range subscribers() {
		t.Run(name, func(t *testing.T) {
			g := whole.in(t)
			before := g.paste("", "before "+name)
			page := g.must("", latestPastes, vars{"first": 1})
			cursor := page.at("latestPastes.pageInfo.startCursor").(string)
			now := ask(g, "", pasteCreated, nil)
			// A subscription does not report when it starts, so the first paste is
			// created repeatedly until it is delivered.
			now.wantPastes(1, func(n int) pasted { return g.paste("", fmt.Sprintf("at once %d, %s", n, name)) })
			g.paste("", "private", "isPrivate", true)
			theirs := other.in(t).paste("", "of another gateway, "+name)
			mine := g.paste("", "mine, "+name)
			now.wantIDs(theirs.id, mine.id)
			since := ask(g, "", pasteCreated, vars{"after": cursor})
			first := since.paste()
			if first == before.id {
				t.Error("it starts with the paste of the cursor instead of the one after it")
			}
			last := g.paste("", "last, "+name)
			since.wantIDs(theirs.id, mine.id, last.id)
			if refused, ok := ask(g, "", pasteCreated, vars{"after": "x"}).next(); !ok || !bytes.Contains(refused, []byte("BAD_CURSOR")) {
				t.Errorf("after a malformed cursor: %s", refused)
			}
		})
	}
}

// paste returns the id of the next paste.
func (s *subscription) paste() string {
	s.t.Helper()
	event, ok := s.next()
	var delivered struct {
		Data struct {
			PasteCreated *struct {
				ID, Title, Body string
				IsPrivate       bool
			}
		}
	}
	if err := json.Unmarshal(event, &delivered); !ok || err != nil || delivered.Data.PasteCreated == nil {
		s.t.Fatalf("the event %s: %v", event, err)
	}
	p := delivered.Data.PasteCreated
	if p.Body != "body of "+p.Title || p.IsPrivate {
		s.t.Errorf("the event has %+v", p)
	}
	return p.ID
}

// wantIDs waits until all of some pastes were delivered, in any order and each exactly
// once. Others may come in between.
func (s *subscription) wantIDs(ids ...string) {
	s.t.Helper()
	seen := map[string]int{}
	for slices.ContainsFunc(ids, func(id string) bool { return seen[id] == 0 }) {
		id := s.paste()
		if seen[id]++; seen[id] > 1 {
			s.t.Errorf("%s was delivered twice", id)
		}
	}
}

// wantPastes creates pastes until one of them is delivered.
func (s *subscription) wantPastes(first int, create func(n int) pasted) {
	s.t.Helper()
	received := make(chan string, 1)
	go func() {
		event, _ := s.next()
		received <- string(event)
	}()
	for n := first; n < 500; n++ {
		create(n)
		select {
		case event := <-received:
			if !strings.Contains(event, "at once") {
				s.t.Fatalf("the first event is %s", event)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.t.Fatal("no paste was delivered")
}

// TestLatestContent_ListsPublicItemsByCreation checks that the list contains what is PUBLIC now, by
// time of creation.
func TestLatestContent_ListsPublicItemsByCreation(t *testing.T) {
	g := serve(t)
	other := g.beside()
	ann := g.user("acme", "ann", "PUBLIC")
	create := func(name, visibility string) string {
		g.must(ann, createItem, vars{"in": vars{"name": name, "kind": "NOTE", "title": name, "visibility": visibility}})
		return "c:acme:" + name
	}
	titles := func(v vars) (all []string, a *answer) {
		v["tenant"] = "ACME"
		a = other.must("", latestContent, v)
		for _, e := range a.at("latestContent.edges").([]any) {
			all = append(all, e.(map[string]any)["node"].(map[string]any)["title"].(string))
		}
		return all, a
	}
	wants := func(want ...string) {
		t.Helper()
		other.eventually(fmt.Sprintf("the newest content is %q", want), func() bool {
			got, _ := titles(vars{})
			return slices.Equal(got, want)
		})
	}
	wants()
	one, two := create("one", "PUBLIC"), create("two", "PRIVATE")
	create("three", "PUBLIC")
	create("four", "LOGGEDIN")
	wants("three", "one")
	set := func(id, visibility string) {
		g.must(ann, updateItem, vars{"in": vars{"id": id, "visibility": visibility}})
	}
	set(two, "PUBLIC")
	wants("three", "two", "one")
	set(one, "PRIVATE")
	wants("three", "two")
	set(one, "PUBLIC")
	wants("three", "two", "one")
	g.must(ann, deleteItem, vars{"in": vars{"id": two}})
	wants("three", "one")
	first, a := titles(vars{"first": 1})
	rest, b := titles(vars{"first": 1, "after": a.at("latestContent.pageInfo.endCursor")})
	if !slices.Equal(append(first, rest...), []string{"three", "one"}) || a.at("latestContent.pageInfo.hasNextPage") != true ||
		b.at("latestContent.pageInfo.hasNextPage") != false {
		t.Errorf("by pages of one: %v, %v", a.Data, b.Data)
	}
	if got := g.ask("", `{ latestContent(tenant: "no tenant") { nodes { id } } }`, nil); got.code() != "BAD_USER_INPUT" {
		t.Errorf("of no tenant: %+v", got)
	}
	if res, err := http.Get(g.url + "/p/p:x/raw"); err != nil || res.StatusCode != 404 {
		t.Errorf("the raw text of no paste: %v, %v", res, err)
	}
}
