package interchange

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

func ptr[T any](v T) *T { return &v }

func instant(t time.Time) *clock.Instant { return ptr(clock.Of(t)) }

var (
	created = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	changed = time.Date(2026, 11, 20, 17, 30, 0, 123456000, time.UTC)
)

func TestParse_ReadsEveryField(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		want       exchange.Line
	}{
		{"user in full",
			`{"type":"user","id":"U:Demo:Ann","displayName":"Ann \"A\" Archer","email":"Ann@Demo.example","visibility":"PUBLIC","createdAt":"2026-11-01T09:00:00+01:00"}`,
			exchange.Line{Type: exchange.TypeUser, User: &principal.ImportUser{ID: "u:demo:ann", DisplayName: `Ann "A" Archer`,
				Email: ptr("Ann@Demo.example"), Visibility: principal.Public, CreatedAt: instant(created)}}},
		{"user with required fields only, in another order",
			`{"visibility":"PRIVATE","email":null,"createdAt":null,"displayName":"B","id":"u:demo:b","type":"user"}`,
			exchange.Line{Type: exchange.TypeUser, User: &principal.ImportUser{ID: "u:demo:b", DisplayName: "B", Visibility: principal.Private}}},
		{"group",
			`{"type":"group","id":"g:demo:crypto","displayName":"Crypto","visibility":"LOGGEDIN","members":[{"principalId":"U:demo:ann","role":"MANAGER"},{"role":"MEMBER","principalId":"g:demo:team"}]}`,
			exchange.Line{Type: exchange.TypeGroup, Group: &principal.ImportGroup{ID: "g:demo:crypto", DisplayName: "Crypto",
				Visibility: principal.LoggedIn, Members: []principal.GroupMemberChange{{Principal: "u:demo:ann", Role: ptr(principal.GroupManager)},
					{Principal: "g:demo:team", Role: ptr(principal.GroupMember)}}}}},
		{"content in full",
			`{"type":"content","id":"c:demo:encoding-JSON","kind":"LINK","title":"encoding/json \ud83d\ude00","description":"a\nb","link":"https://example.com/?a&b","url":"https://Acme.example/json","visibility":"PUBLIC",` +
				`"expiresAt":"2027-01-01T00:00:00Z","createdAt":"2026-11-01T08:00:00Z","createdBy":"u:demo:Ann","lastModified":"2026-11-20T17:30:00.1234569Z","version":3,"members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`,
			exchange.Line{Type: exchange.TypeContent, Content: &library.ImportContent{ID: "c:demo:encoding-JSON", Kind: library.Link,
				Title: "encoding/json 😀", Description: ptr("a\nb"),
				Link: ptr("https://example.com/?a&b"), URL: ptr("https://Acme.example/json"), Visibility: principal.Public,
				ExpiresAt: instant(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)), CreatedAt: instant(created), CreatedBy: ptr("u:demo:ann"),
				LastModified: instant(changed), Version: ptr(3),
				Members: []library.ContentMemberChange{{Principal: "u:demo:ann", Role: ptr(library.Manages)}}}}},
		{"members of a group",
			`{"type":"members","id":"G:demo:crypto","members":[{"principalId":"u:demo:ben","role":"MEMBER"}]}`,
			exchange.Line{Type: exchange.TypeMembers, Members: &library.ImportMembers{ID: "g:demo:crypto",
				Group: []principal.GroupMemberChange{{Principal: "u:demo:ben", Role: ptr(principal.GroupMember)}}}}},
		{"members of a content",
			"\t{\"type\":\"members\",\"id\":\"c:demo:A\",\"members\":[{\"principalId\":\"u:demo:ben\",\"role\":\"EDITOR\"}]} \r",
			exchange.Line{Type: exchange.TypeMembers, Members: &library.ImportMembers{ID: "c:demo:A",
				Content: []library.ContentMemberChange{{Principal: "u:demo:ben", Role: ptr(library.Editing)}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse([]byte(tc.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(got, rewritten(t, got)); diff != "" {
				t.Errorf("written and read again it differs: %s", diff)
			}
		})
	}
}

// rewritten returns a line after writing and parsing it.
func rewritten(t *testing.T, l *exchange.Line) *exchange.Line {
	t.Helper()
	var buf bytes.Buffer
	if err := NewWriter(&buf).Write(l); err != nil {
		t.Fatal(err)
	}
	again, err := Parse(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
	if err != nil {
		t.Fatalf("%v in %s", err, buf.Bytes())
	}
	return again
}

func TestParse_RefusesInvalidLines(t *testing.T) {
	user := func(more string) string {
		return `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC"` + more + `}`
	}
	group := func(members string) string {
		return `{"type":"group","id":"g:demo:a","displayName":"A","visibility":"PUBLIC","members":` + members + `}`
	}
	content := func(more string) string {
		return `{"type":"content","id":"c:demo:a","kind":"LINK","title":"A","visibility":"PUBLIC","members":[]` + more + `}`
	}
	many := "[" + strings.Repeat(`{"principalId":"u:demo:a","role":"MEMBER"},`, 100) + `{"principalId":"u:demo:a","role":"MEMBER"}]`
	for _, tc := range []struct{ name, line, want string }{
		{"cut off", `{"type":"user","id":`, "not JSON: the line ends too early"},
		{"no JSON", `hello`, "not JSON: invalid character 'h' looking for beginning of value, at byte 1"},
		{"no object", `["user"]`, "a line is a JSON object; this one is an array"},
		{"two objects", `{"type":"user"}{"type":"user"}`, "something follows the object; a line holds one object"},
		{"trailing rubbish", user("") + "x", "something follows the object; a line holds one object"},
		{"nested", `{"a":[{"b":[1]}]}`, "nested more than 3 levels deep"},
		{"nested without end", strings.Repeat("[", 100_000), "nested more than 3 levels deep"},
		{"bad UTF-8", `{"type":"us` + "\xff" + `er"}`, "not UTF-8 at byte 12"},
		{"half a surrogate pair", user(`,"email":"\ud800x"`), "half of a surrogate pair at byte 85"},
		{"second half alone", `{"type":"\udc00"}`, "half of a surrogate pair at byte 10"},
		{"key twice", user(`,"id":"u:demo:ben"`), `"id" is given twice`},
		{"key twice by an escape", user(`,"\u0069d":"u:demo:ben"`), `"id" is given twice`},
		{"key twice in a member", group(`[{"role":"MEMBER","role":"MANAGER"}]`), `"role" is given twice`},
		{"no type", `{"id":"u:demo:ann"}`, "type: is missing; it is user, group, content, members, branch, revision, suggestion, draft or paste"},
		{"type of another type", `{"type":1}`, "type: must be a string, is a number"},
		{"unknown type", `{"type":"User"}`, `type: is user, group, content, members, branch, revision, suggestion, draft or paste, not "User"`},
		{"misspelt field", user(`,"eMail":"a@b.example"`), "eMail: is not a field here"},
		{"field of another type", user(`,"members":[]`), "members: is not a field here"},
		{"field missing", `{"type":"user","id":"u:demo:ann","visibility":"PUBLIC"}`, "displayName: is missing"},
		{"null for a required field", `{"type":"user","id":null,"displayName":"A","visibility":"PUBLIC"}`, "id: must be a string, is null"},
		{"wrong type of value", user(`,"email":7`), "email: must be a string, is a number"},
		{"every fault at once", `{"type":"user","id":"x","displayName":true,"visibility":"public","createdAt":"yesterday"}`,
			"id: not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>; displayName: " +
				"must be a string, is a boolean; " +
				`visibility: is PUBLIC, LOGGEDIN or PRIVATE, not "public"; createdAt: not a date and time of RFC 3339, such as 2026-11-21T09:30:00.123456Z`},
		{"a time that package time accepts", user(`,"createdAt":"2026-11-21T9:30:00,5+24:00"`),
			"createdAt: not a date and time of RFC 3339, such as 2026-11-21T09:30:00.123456Z"},
		{"id of a group for a user", `{"type":"user","id":"g:demo:ann","displayName":"Ann","visibility":"PUBLIC"}`, "id: must begin with u:"},
		{"creator that is a content", content(`,"createdBy":"c:demo:a"`),
			"createdBy: not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>"},
		{"kind", strings.Replace(content(""), "LINK", "PAGE", 1), `kind: is LINK or NOTE, not "PAGE"`},
		{"version as a fraction", content(`,"version":1.5`), "version: must be a whole number from 1 to 2147483647"},
		{"version too great", content(`,"version":2147483648`), "version: must be a whole number from 1 to 2147483647"},
		{"version 0", content(`,"version":0`), "version: must be a whole number from 1 to 2147483647"},
		{"version as a string", content(`,"version":"1"`), "version: must be a number, is a string"},
		{"no members", `{"type":"group","id":"g:demo:a","displayName":"A","visibility":"PUBLIC"}`, "members: is missing"},
		{"members of another type", group(`{}`), "members: must be an array, is an object"},
		{"member of another type", group(`["u:demo:a"]`), "members.0: must be an object, is a string"},
		{"too many members", group(many), "members: has 101 entries; a line has at most 100, the rest goes into lines of type members"},
		{"member twice", group(`[{"principalId":"u:demo:a","role":"MANAGER"},{"principalId":"U:demo:A","role":"MEMBER"}]`),
			"members.1.principalId: is named twice"},
		{"role of content in a group", group(`[{"principalId":"u:demo:a","role":"EDITOR"}]`),
			`members.0.role: is MEMBER or MANAGER, not "EDITOR"`},
		{"unknown field in a member", group(`[{"principalId":"u:demo:a","role":"MEMBER","since":1}]`), "members.0.since: is not a field here"},
		{"content as a member", group(`[{"principalId":"c:demo:a","role":"MEMBER"}]`),
			"members.0.principalId: not the id of a user or a group: it has the form u:<tenant>:<name> or g:<tenant>:<name>"},
		{"members of a user", `{"type":"members","id":"u:demo:a","members":[]}`,
			"id: names neither a group (g:<tenant>:<name>) nor a content (c:<tenant>:<name>)"},
		{"members of nothing", `{"type":"members","members":[]}`, "id: is missing"},
		{"empty list of members", `{"type":"members","id":"g:demo:a","members":[]}`, "members: is empty; a line of members names 1 to 100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.line))
			if err == nil {
				t.Fatal("the line was accepted")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_FaultsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, line := range []string{
		fmt.Sprintf(`{"type":%q}`, long),
		fmt.Sprintf(`{%q:1,%q:1}`, long, long),
		fmt.Sprintf(`{"type":"user","id":"u:demo:a","displayName":"A","visibility":"PUBLIC",%q:1}`, long),
		fmt.Sprintf(`{"type":"user","id":%q,"displayName":"A","visibility":%q}`, long, long),
	} {
		if _, err := Parse([]byte(line)); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s… gives %.600v", line[:40], err)
		}
	}
}

// FuzzLine checks that no input makes Parse panic, and that a line which it accepts is the same
// after it was written and parsed again.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"type":"user","id":"u:demo:ann","displayName":"Ann","email":"a@b.example","visibility":"PUBLIC","createdAt":"2026-11-01T08:00:00Z"}`,
		`{"type":"group","id":"g:demo:a","displayName":"A","visibility":"LOGGEDIN","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`,
		`{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PRIVATE","version":2,"createdBy":"u:demo:ann","members":[{"principalId":"g:demo:a","role":"EDITOR"}]}`,
		`{"type":"members","id":"c:demo:a","members":[{"principalId":"u:demo:ann","role":"VIEWER"}]}`,
		`{"type":"user","id":"u:demo:ann","id":"u:demo:ben"}`, `{"type":"\ud800"}`, "\xff", "[[[[", `{}{}`, ``, "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data)
		if err != nil {
			if l != nil || err.Error() == "" {
				t.Errorf("a fault with %v and the reason %q", l, err)
			}
			return
		}
		if diff := cmp.Diff(l, rewritten(t, l)); diff != "" {
			t.Error(diff)
		}
	})
}
