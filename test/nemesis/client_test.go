package nemesis

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

type vars = map[string]any

const (
	createUser = `mutation($in: CreateUserInput!) { createUser(input: $in) { user { id } userErrors { code message } } }`
	createItem = `mutation($in: CreateContentInput!) { createContent(input: $in) { content { version } fanOut { state } userErrors { code message } } }`
	updateItem = `mutation($in: UpdateContentInput!) { updateContent(input: $in) { content { version } fanOut { state } userErrors { code message } } }`
	shareItem  = `mutation($in: ShareContentInput!) { shareContent(input: $in) { content { version } fanOut { state } userErrors { code message } } }`
	setMembers = `mutation($in: SetContentMembersInput!) { setContentMembers(input: $in) { content { version } fanOut { state } userErrors { code message } } }`
	deleteItem = `mutation($in: DeleteContentInput!) { deleteContent(input: $in) { deletedContentId fanOut { state } userErrors { code message } } }`
	readItem   = `query($id: ID!) { content(id: $id) { version title visibility } }`
	readAll    = `query($id: ID!) { content(id: $id) { version title visibility members(first: 100) { nodes { id } } } }`
	readPage   = `query($id: ID!, $field: LibraryOrderField! = LAST_MODIFIED, $direction: OrderDirection! = DESC) { principal(id: $id) {
		library(first: 100, orderBy: {field: $field, direction: $direction}) { nodes { id } pageInfo { hasNextPage } } } }`
	readOrder = `query($id: ID!, $field: LibraryOrderField!, $after: Cursor) { principal(id: $id) {
		library(first: 100, after: $after, orderBy: {field: $field, direction: ASC}) {
			edges { sortKey(field: $field) node { id } } pageInfo { hasNextPage endCursor } } } }`
)

// verdict is what a client knows about the outcome of a mutation.
type verdict byte

const (
	refused verdict = iota // it did not happen
	done                   // it happened
	unknown                // it may have happened, or may still
)

// answer is the response of a gateway, or the error where there was none.
type answer struct {
	verdict verdict
	code    string // of the first error
	Data    map[string]any
	Errors  []struct {
		Message    string
		Path       []any
		Extensions map[string]any
	}
	err error
}

func (a *answer) String() string { return fmt.Sprintf("%v %+v %v", a.Data, a.Errors, a.err) }

// at returns the value at a path of keys in the data.
func (a *answer) at(path string) any {
	var v any = a.Data
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// number returns the Int at a path, or 0 if there is none.
func (a *answer) number(path string) int {
	n, _ := a.at(path).(float64)
	return int(n)
}

// post sends an operation and classifies the response.
func (p *process) post(token, query string, in vars) *answer {
	a := new(answer)
	a.err = p.send(token, query, in, a)
	var dial *net.OpError
	switch {
	case a.err != nil && errors.As(a.err, &dial) && dial.Op == "dial":
		return a // the request never reached a gateway
	case a.err != nil:
		a.verdict = unknown
		return a
	}
	if len(a.Errors) > 0 {
		a.code, _ = a.Errors[0].Extensions["code"].(string)
		switch a.code {
		case "OUTCOME_UNKNOWN", "TIMEOUT", "INTERNAL_SERVER_ERROR":
			a.verdict = unknown
		}
		return a
	}
	a.verdict = done
	for field := range a.Data {
		if errs, _ := a.at(field + ".userErrors").([]any); len(errs) > 0 {
			a.verdict = refused
			a.code, _ = errs[0].(map[string]any)["code"].(string)
		}
	}
	return a
}

func (p *process) send(token, query string, in vars, a *answer) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": in})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, p.address()+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := p.site.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return json.NewDecoder(res.Body).Decode(a)
}

// must posts an operation that cannot fail while nothing is broken, and fails the test if
// it does.
func (p *process) must(t *testing.T, token, query string, in vars) *answer {
	t.Helper()
	a := p.post(token, query, in)
	if a.verdict != done {
		t.Fatalf("%s %v: %v", query, in, a)
	}
	return a
}

// token signs a JWT without the product's code, as an issuer would.
func token(user string) string {
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"sub":%q,"iss":"carrel","aud":"carrel","iat":%d,"exp":%d}`, user, now, now+2*3600)
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + b64(mac.Sum(nil))
}

// user creates a user of the tenant acme and returns its token.
func (p *process) user(t *testing.T, name string) string {
	t.Helper()
	mine := token("u:acme:" + name)
	p.must(t, mine, createUser, vars{"in": vars{"tenant": "acme", "name": name, "displayName": name,
		"email": name + "@example.com", "visibility": "PUBLIC"}})
	return mine
}

// nodeIDs returns the ids of a list of nodes.
func (a *answer) nodeIDs(path string) []string {
	list, _ := a.at(path).([]any)
	ids := make([]string, len(list))
	for i, n := range list {
		m, _ := n.(map[string]any)
		ids[i], _ = m["id"].(string)
	}
	return ids
}
