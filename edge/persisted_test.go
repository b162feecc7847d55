package edge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const persistedText = `{user(id:"x"){id}}`

func extension(hash string) string {
	return `{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}`
}

func TestPersistedDocuments_AreFoundByTheirDigest(t *testing.T) {
	hash, zeros := digest(persistedText), strings.Repeat("0", 64)
	text := `"query":"{user(id:\"x\"){id}}"`
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"kept, by Apollo's extension":   {`{"extensions":` + extension(hash) + `}`, 200, ""},
		"kept, by documentId":           {`{"documentId":"sha256:` + hash + `"}`, 200, ""},
		"by both":                       {`{"documentId":"sha256:` + hash + `","extensions":` + extension(hash) + `}`, 200, ""},
		"with its text":                 {`{` + text + `,"documentId":"sha256:` + hash + `"}`, 200, ""},
		"not known":                     {`{"extensions":` + extension(zeros) + `}`, 200, "PERSISTED_QUERY_NOT_FOUND"},
		"not known, by documentId":      {`{"documentId":"sha256:` + zeros + `"}`, 200, "PERSISTED_QUERY_NOT_FOUND"},
		"of another text":               {`{` + text + `,"extensions":` + extension(zeros) + `}`, 400, "BAD_REQUEST"},
		"of another text, documentId":   {`{` + text + `,"documentId":"sha256:` + zeros + `"}`, 400, "BAD_REQUEST"},
		"two that differ":               {`{"documentId":"sha256:` + hash + `","extensions":` + extension(zeros) + `}`, 400, "BAD_REQUEST"},
		"version 2":                     {`{"extensions":{"persistedQuery":{"version":2,"sha256Hash":"` + hash + `"}}}`, 400, "BAD_REQUEST"},
		"no version":                    {`{"extensions":{"persistedQuery":{"sha256Hash":"` + hash + `"}}}`, 400, "BAD_REQUEST"},
		"a short hash":                  {`{"extensions":` + extension("abcd") + `}`, 400, "BAD_REQUEST"},
		"in capitals":                   {`{"extensions":` + extension(strings.ToUpper(hash)) + `}`, 400, "BAD_REQUEST"},
		"an extension of no kind":       {`{"extensions":{"persistedQuery":7}}`, 400, "BAD_REQUEST"},
		"null":                          {`{` + text + `,"extensions":{"persistedQuery":null}}`, 200, ""},
		"an id of no kind":              {`{"documentId":7}`, 400, "BAD_REQUEST"},
		"another scheme":                {`{"documentId":"md5:` + hash + `"}`, 400, "BAD_REQUEST"},
		"a name, outside of a manifest": {`{"documentId":"Page"}`, 400, "BAD_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			if a := e.send(t, `{`+text+`,"extensions":`+extension(hash)+`}`); a.code() != "" {
				t.Fatalf("it is not kept: %s", a.Body)
			}
			before := e.calls.Load()
			a := e.send(t, c.body)
			if a.Code != c.status || a.code() != c.code || c.code != "" && e.calls.Load() > before {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			if c.code == "" && string(a.Data) != `{"user":{"id":"x"}}` {
				t.Errorf("got %s", a.Data)
			}
		})
	}
}

func TestPersistedDocuments_AreFoundByGET(t *testing.T) {
	e := newEdge(t, nil)
	hash := digest(persistedText)
	if a := e.get(t, []string{"extensions", extension(hash)}); a.code() != "PERSISTED_QUERY_NOT_FOUND" ||
		a.Errors[0].Message != "PersistedQueryNotFound" {
		t.Errorf("got %s", a.Body)
	}
	e.get(t, []string{"query", persistedText, "extensions", extension(hash)})
	for _, members := range [][]string{{"extensions", extension(hash)}, {"documentId", "sha256:" + hash}} {
		if a := e.get(t, members); string(a.Data) != `{"user":{"id":"x"}}` {
			t.Errorf("got %s", a.Body)
		}
	}
}

func TestPersistedDocuments_InvalidAreNotKept(t *testing.T) {
	e := newEdge(t, nil)
	for _, text := range []string{"{", "{nothing}", aliases(31)} {
		e.query(t, text, nil)
		e.send(t, fmt.Sprintf(`{"query":%q,"extensions":%s}`, text, extension(digest(text))))
	}
	if n, _ := e.handler.persisted.sent.Size(); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

func TestPersistedDocuments_AreBounded(t *testing.T) {
	l := DefaultLimits()
	l.PersistedDocuments, l.PersistedBytes = 100, 2_000
	p := newPersisted(nil, &l)
	for i := range 10_000 {
		text := fmt.Sprintf("{a%d}%50s", i, "")
		p.keep(digest(text), text, fmt.Sprint(i%40))
		p.keep(digest("{used}"), "{used}", "ann")
		if _, ok := p.sent.Get(digest("{used}")); !ok {
			t.Fatal("a document in use was evicted")
		}
	}
	n, bytes := p.sent.Size()
	if n > 100 || bytes > 2_000 {
		t.Errorf("%d documents, %d bytes", n, bytes)
	}
	sum := 0
	for _, held := range p.held {
		sum += held
	}
	if want := bytes - len("{used}") + p.minimum; sum != want || len(p.held) > 41 {
		t.Errorf("%d accounts hold %d bytes, want %d", len(p.held), sum, want)
	}
}

// TestPersistedDocuments_NoAccountEvictsThoseOfOthers: neither with many short ones nor with long ones.
func TestPersistedDocuments_NoAccountEvictsThoseOfOthers(t *testing.T) {
	for name, padding := range map[string]int{"short": 0, "long": 400} {
		l := DefaultLimits()
		l.PersistedDocuments, l.PersistedBytes = 100, 5_000
		p := newPersisted(nil, &l)
		text := func(owner string, i int) string { return fmt.Sprintf("{%s%d}", owner, i) }
		for i := range 5 {
			for _, owner := range []string{"ann", "bob"} {
				p.keep(digest(text(owner, i)), text(owner, i), owner)
			}
		}
		for i := range 1_000 {
			flood := fmt.Sprintf("{flood%d %s}", i, strings.Repeat("x", padding))
			p.keep(digest(flood), flood, "eve")
		}
		n, bytes := p.sent.Size()
		if n > 10+25 || bytes > 1_250+200 || p.held["eve"] > 1_250 || p.held["eve"] < 800 {
			t.Errorf("%s: %d documents of %d bytes are kept, eve holds %d", name, n, bytes, p.held["eve"])
		}
		for i := range 5 {
			for _, owner := range []string{"ann", "bob"} {
				if _, ok := p.sent.Get(digest(text(owner, i))); !ok {
					t.Errorf("%s: document %d of %s was evicted", name, i, owner)
				}
			}
		}
	}
}

// TestPersistedDocuments_CountForTheAccount that has sent them.
func TestPersistedDocuments_CountForTheAccount(t *testing.T) {
	e := newEdge(t, nil)
	e.send(t, `{"query":"{user(id:\"x\"){id}}","extensions":`+extension(digest(persistedText))+`}`, "Authorization: Bearer ann")
	if held := e.handler.persisted.held; len(held) != 1 || held["u:acme:ann"] == 0 {
		t.Errorf("held by %v", held)
	}
}

func TestParseManifest_ReadsBothFormatsOnly(t *testing.T) {
	want := Manifest{"1": "{a}", "2": "{b}"}
	for name, text := range map[string]string{
		"Apollo's":     `{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"1","name":"A","type":"query","body":"{a}"},{"id":"sha256:2","body":"{b}"}]}`,
		"texts by ids": `{"1":"{a}","sha256:2":"{b}"}`,
	} {
		got, err := ParseManifest([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{", "a list": "[]", "null": "null", "no documents": "{}", "an empty list": `{"operations":[]}`,
		"a number": `{"1":1}`,
		"no id":    `{"operations":[{"body":"{a}"}]}`, "no body": `{"operations":[{"id":"1"}]}`,
		"an id twice": `{"operations":[{"id":"1","body":"{a}"},{"id":"1","body":"{b}"}]}`,
	} {
		if _, err := ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestManifest_OtherDocumentsAreRefused(t *testing.T) {
	m := Manifest{"Named": persistedText, digest("{__typename}"): "{__typename}"}
	e := newEdge(t, func(c *Config) { c.Documents = m })
	for name, c := range map[string]struct{ body, code string }{
		"by name":              {`{"documentId":"Named"}`, ""},
		"by documentId":        {`{"documentId":"sha256:` + digest("{__typename}") + `"}`, ""},
		"by Apollo's":          {`{"extensions":` + extension(digest("{__typename}")) + `}`, ""},
		"a named one's digest": {`{"documentId":"sha256:` + digest(persistedText) + `"}`, ""},
		"a text of it":         {`{"query":"{__typename}"}`, ""},
		"a text and its name":  {`{"query":"{user(id:\"x\"){id}}","documentId":"Named"}`, ""},
		"another text":         {`{"query":"{viewer{id}}"}`, "PERSISTED_QUERY_NOT_FOUND"},
		"another with digest":  {`{"query":"{viewer{id}}","extensions":` + extension(digest("{viewer{id}}")) + `}`, "PERSISTED_QUERY_NOT_FOUND"},
		"another name":         {`{"documentId":"Other"}`, "PERSISTED_QUERY_NOT_FOUND"},
		"a wrong digest":       {`{"query":"{__typename}","extensions":` + extension(digest("x")) + `}`, "BAD_REQUEST"},
		"a wrong name":         {`{"query":"{__typename}","documentId":"Named"}`, "BAD_REQUEST"},
		"nothing":              {`{}`, "BAD_REQUEST"},
	} {
		if a := e.send(t, c.body); a.code() != c.code {
			t.Errorf("%s: got %s", name, a.Body)
		}
	}
	for _, text := range []string{"{", "{nothing}"} {
		c := Config{Schema: newTicking(), Authenticate: authenticate, Limits: DefaultLimits(), Log: e.handler.presenter.log,
			Random: e.handler.presenter.random, Documents: Manifest{"Bad": text}}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "Bad") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
