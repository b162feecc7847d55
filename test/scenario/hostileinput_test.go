package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// hostileInput returns rows 42 to 47: malicious input in mutations and arguments.
func hostileInput() []row {
	return []row{
		{42, "idempotency replay: twice, in parallel, other payload, other viewer", hostileReplay},
		{43, "stale expectedVersion", func(t *testing.T, w *world) {
			w.must(w.ann, createItem, vars{"in": vars{"name": "versioned", "kind": "NOTE", "title": "1"}})
			w.must(w.ann, updateItem, vars{"in": vars{"id": "c:acme:versioned", "title": "2", "expectedVersion": 1}})
			for _, stale := range []int{1, 0, -1, 7} {
				a := w.ask(w.ann, updateItem, vars{"in": vars{"id": "c:acme:versioned", "title": "x", "expectedVersion": stale}})
				if errs := a.userErrors("updateContent"); len(errs) != 1 || !strings.HasPrefix(errs[0], "CONFLICT") &&
					!strings.HasPrefix(errs[0], "INVALID") {
					t.Errorf("%d: %+v", stale, a)
				}
			}
			if a := w.must(w.ann, `{content(id:"c:acme:versioned"){title}}`, nil); a.at("content.title") != "2" {
				t.Errorf("got %+v", a.Data)
			}
		}},
		{44, "1 MB title, control and bidi characters, markup, log injection", hostileTexts},
		{45, "CQL in ids, 64 KB keys", func(t *testing.T, w *world) {
			for _, id := range []string{"c:acme:'; DROP TABLE content; --", "u:acme:x' OR '1'='1", "c:acme:x\x00y",
				"c:acme:" + strings.Repeat("k", 64<<10), "", ":", "c::", "c:acme:%00", "c:acme:\u202e"} {
				for _, field := range []string{"node", "content", "user", "group", "principal"} {
					a := w.ask(w.ann, "query($id:ID!){"+field+"(id:$id){id}}", vars{"id": id})
					if a.code() != "BAD_USER_INPUT" || len(a.Errors[0].Message) > 300 {
						t.Errorf("%s(%.20q): %.300s", field, id, mustJSON(a))
					}
				}
			}
			a := w.ask(w.ann, createItem, vars{"in": vars{"kind": "NOTE", "title": "x", "idempotencyKey": strings.Repeat("k", 64<<10)}})
			if a.code() == "" && len(a.userErrors("createContent")) == 0 {
				t.Errorf("a key of 64 KB is taken: %+v", a)
			}
		}},
		{46, "two operations without a name, 50 operations", func(_ *testing.T, w *world) {
			w.refused("query A{viewer{id}} query B{viewer{id}}", "OPERATION_RESOLUTION_FAILURE")
			w.refused("{viewer{id}} {viewer{id}}", "GRAPHQL_VALIDATION_FAILED")
			w.refused(numbered(50, " query Q%d{viewer{id}}"), "OPERATION_LIMIT")
		}},
		{47, "persisted queries: wrong hash, flood", hostilePersisted},
	}
}

func hostileReplay(t *testing.T, w *world) {
	in := vars{"kind": "NOTE", "title": "replayed", "idempotencyKey": "replayed"}
	ids := make([]any, 20)
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() {
			a, err := w.post(w.ann, createItem, vars{"in": in})
			if err != nil || len(a.Errors) > 0 {
				t.Errorf("%+v %v", a, err)
				return
			}
			ids[n] = a.at("createContent.content.id")
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == nil || id != ids[0] {
			t.Fatalf("20 parallel requests created %v", ids)
		}
	}
	if a := w.must(w.ann, createItem, vars{"in": in}); a.at("createContent.content.id") != ids[0] {
		t.Errorf("again: %+v", a)
	}
	if a := w.ask(w.ann, createItem, vars{"in": vars{"kind": "NOTE", "title": "other",
		"idempotencyKey": "replayed"}}); a.code() != "IDEMPOTENCY_MISMATCH" {
		t.Errorf("other payload: %+v", a)
	}
	if a := w.must(w.bob, createItem, vars{"in": in}); a.at("createContent.content.id") == ids[0] {
		t.Error("another viewer got the answer")
	}
}

func hostileTexts(t *testing.T, w *world) {
	create := func(title string) *answer {
		return w.ask(w.ann, createItem, vars{"in": vars{"kind": "NOTE", "title": title}})
	}
	for name, title := range map[string]string{
		"500 KB": strings.Repeat("x", 500<<10), "1,001 characters": strings.Repeat("ü", 1_001), "empty": "", "spaces": "  ",
		"NUL": "a\x00b", "an escape": "a\x1b[31mb",
		"a line end": "a\nb", "a return": "a\rb", "DEL": "a\x7fb",
	} {
		a := create(title)
		if errs := a.userErrors("createContent"); len(errs) != 1 || !strings.HasPrefix(errs[0], "INVALID") {
			t.Errorf("%s: %.300s", name, mustJSON(a))
		}
	}
	if r := w.send("POST", "/graphql", string(mustJSON(vars{"query": createItem,
		"variables": vars{"in": vars{"kind": "NOTE", "title": strings.Repeat("x", 1<<20)}}})), "Authorization: Bearer "+w.ann); r.Status != 413 {
		t.Errorf("1 MB: %d %.200s", r.Status, r.body)
	}
	// Bidirectional marks are data.
	if a := create("a\u202eb\u2066"); a.at("createContent.content.title") != "a\u202eb\u2066" {
		t.Errorf("bidi: %.300s", mustJSON(a))
	}
	// Markup is plain text and is returned unchanged; its JSON escapes protect a page
	// that would read the response as HTML.
	const markup = `</script><script>alert(1)</script>"' {{7*7}} ${7*7}`
	a := create(markup)
	if a.at("createContent.content.title") != markup {
		t.Errorf("markup: %.300s", mustJSON(a))
	}
	r := w.send("GET", "/graphql?query="+url.QueryEscape(`{node(id:"`+a.at("createContent.content.id").(string)+`"){...on Content{title}}}`),
		"", "Accept: application/json")
	if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("headers: %v", r.Header)
	}
	// Input of a client must not create a line in the log.
	const forged = `canary","level":"ERROR","msg":"forged`
	for _, header := range []string{"Authorization: Bearer " + forged, "User-Agent: " + forged, "X-Forwarded-For: " + forged,
		"Origin: " + forged} {
		w.send("POST", "/graphql", question("query canary{viewer{id}}"), header)
	}
	w.ask(w.ann, "{"+forged, nil)
	if log := w.log.String() + w.output.String(); strings.Contains(log, "canary") {
		t.Errorf("the log: %s", log)
	}
}

func hostilePersisted(t *testing.T, _ *world) {
	w := serveWith(t, "--rate-limit", "0", "--limit", "persisted=100")
	hash := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	ask := func(query, hash string) *reply {
		body := vars{"extensions": vars{"persistedQuery": vars{"version": 1, "sha256Hash": hash}}}
		if query != "" {
			body["query"] = query
		}
		return w.send("POST", "/graphql", string(mustJSON(body)))
	}
	const mine = "query Mine{__typename}"
	if r := ask("", hash(mine)); r.code() != "PERSISTED_QUERY_NOT_FOUND" {
		t.Errorf("not known: %s", r.body)
	}
	// Nobody can store a document under the hash of another one.
	if r := ask("{viewer{id}}", hash(mine)); r.Status != 400 || r.code() != "BAD_REQUEST" {
		t.Errorf("wrong hash: %d %s", r.Status, r.body)
	}
	if r := ask("", hash(mine)); r.code() != "PERSISTED_QUERY_NOT_FOUND" {
		t.Errorf("after a wrong hash: %s", r.body)
	}
	if r := ask(mine, hash(mine)); r.code() != "" {
		t.Errorf("sent: %s", r.body)
	}
	text := func(n int) string { return fmt.Sprintf("query F%d{__typename}", n) }
	for n := range 1_000 {
		if r := ask(text(n), hash(text(n))); r.code() != "" {
			t.Fatalf("flood: %s", r.body)
		}
		if n%50 == 0 {
			if r := ask("", hash(mine)); r.code() != "" {
				t.Errorf("a document in use was evicted by a flood of %d: %s", n, r.body)
			}
		}
	}
	// The documents of the flood are bounded: of one address, a quarter of those that fit is kept.
	for n, code := range map[int]string{0: "", 890: "PERSISTED_QUERY_NOT_FOUND", 999: "PERSISTED_QUERY_NOT_FOUND"} {
		if r := ask("", hash(text(n))); r.code() != code {
			t.Errorf("number %d of the flood: %s", n, r.body)
		}
	}
}
