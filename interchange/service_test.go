package interchange_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/interchange"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// service returns a Service on an embedded store in memory.
func service(t *testing.T) *domain.Services {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	runtime := sched.NewReal()
	t.Cleanup(runtime.Close)
	s := domaintest.Open(t, domain.Config{
		Store: store.Store, Runtime: runtime, Names: unnamed{},
		Journal: journal.New(t.Context(), store.Journal, runtime, nil),
	})
	return s
}

// unnamed generates no names, because every line has an id.
type unnamed struct{}

func (unnamed) ContentName(context.Context) (string, error) {
	return "", fault.Unavailablef(nil, "lines of a file have names")
}

const story = `{"type":"user","id":"u:demo:ann","displayName":"Ann","email":"Ann@demo.example","visibility":"PUBLIC","createdAt":"2024-01-01T08:00:00Z"}
{"type":"user","id":"u:demo:ben","displayName":"Ben","visibility":"PRIVATE"}
{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"group","id":"g:demo:all","displayName":"All","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"g:demo:team","role":"MEMBER"}]}
{"type":"members","id":"g:demo:team","members":[{"principalId":"u:demo:ben","role":"MEMBER"},{"principalId":"g:demo:all","role":"MEMBER"}]}
{"type":"content","id":"c:demo:b","kind":"LINK","title":"B","link":"https://example.com/b","url":"https://acme.example/b","visibility":"PUBLIC","createdAt":"2024-01-02T00:00:00Z","createdBy":"u:demo:ben","lastModified":"2024-01-04T00:00:00.000002Z","version":7,"members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"g:demo:team","role":"VIEWER"}]}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","description":"two\nlines","visibility":"PRIVATE","lastModified":"2024-01-04T00:00:00.000001Z","createdAt":"2024-01-03T00:00:00Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"g:demo:team","role":"EDITOR"}]}
{"type":"members","id":"c:demo:a","members":[{"principalId":"u:demo:ben","role":"VIEWER"}]}
`

func load(t *testing.T, s *domain.Services, file string, opts interchange.Options) (interchange.Summary, []string, error) {
	t.Helper()
	var faults []string
	opts.Fault = func(f *interchange.Fault) { faults = append(faults, f.Error()) }
	sum, err := interchange.Import(t.Context(), strings.NewReader(file), int64(len(file)), s.Exchange, opts)
	return sum, faults, err
}

// titles returns the titles of owner's library as v sees it, the oldest first.
func titles(t *testing.T, s *domain.Services, v *principal.Viewer, owner principal.ID) []string {
	t.Helper()
	all := []string{}
	var after *string
	for {
		page, err := s.Listing.Library(t.Context(), v, owner, library.LibraryQuery{PageArgs: cursor.PageArgs{After: after}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Edges {
			all = append(all, fmt.Sprintf("%s %s v%d", e.Node.Title, e.Role, e.Node.Version))
		}
		if !page.PageInfo.HasNextPage {
			return all
		}
		after = page.PageInfo.EndCursor()
	}
}

func wantClean(t *testing.T, s *domain.Services) {
	t.Helper()
	report, err := s.Repair.Audit(t.Context())
	if err != nil || report.Mismatches != 0 {
		t.Errorf("the audit finds %+v, %v", report, err)
	}
}

func TestImport_StoresEveryLine(t *testing.T) {
	s := service(t)
	sum, faults, err := load(t, s, story, interchange.Options{})
	if err != nil || len(faults) > 0 {
		t.Fatalf("%v: %q", err, faults)
	}
	if diff := cmp.Diff(interchange.Summary{Lines: 8, Created: 6, Changed: 2}, sum); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		name  string
		v     *principal.Viewer
		owner principal.ID
		want  []string
	}{
		{"the group by a member, in order of lastModified", &principal.Viewer{User: "u:demo:ben"}, "g:demo:team",
			[]string{"A EDITOR v1", "B VIEWER v7"}},
		{"the group by anybody", &principal.Viewer{}, "g:demo:team", []string{"B VIEWER v7"}},
		{"one's own, after a line of members", &principal.Viewer{User: "u:demo:ben"}, "u:demo:ben", []string{"A VIEWER v1"}},
		{"the manager's", &principal.Viewer{User: "u:demo:ann"}, "u:demo:ann", []string{"A MANAGER v1", "B MANAGER v7"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, titles(t, s, tc.v, tc.owner)); diff != "" {
				t.Error(diff)
			}
		})
	}
	got, err := s.Library.Contents(t.Context(), &principal.Viewer{User: "u:demo:ann"}, []library.ContentID{"c:demo:b"})
	if err != nil || len(got) != 1 || got[0] == nil {
		t.Fatalf("%v, %v", got, err)
	}
	if c := got[0]; c.Creator != "u:demo:ben" || c.CreatedAt.String() != "2024-01-02T00:00:00.000000Z" ||
		c.LastModified.String() != "2024-01-04T00:00:00.000002Z" {
		t.Errorf("imported from the past: %+v", c)
	}
	tenant := "demo"
	if found, err := s.Library.ContentByURL(t.Context(), &principal.Viewer{}, "https://acme.example/b", &tenant); err != nil ||
		found == nil || found.ID != "c:demo:b" {
		t.Errorf("its URL names %+v, %v", found, err)
	}
	wantClean(t, s)
}

// A line is refused if another user or item has its name, and nothing of it is stored.
func TestImport_RefusesNamesThatAreTaken(t *testing.T) {
	s := service(t)
	if _, faults, err := load(t, s, story, interchange.Options{}); err != nil || len(faults) > 0 {
		t.Fatalf("%v: %q", err, faults)
	}
	const taken = `{"type":"user","id":"u:demo:eve","displayName":"Eve","visibility":"PUBLIC","email":"eve@demo.example"}
{"type":"user","id":"u:demo:fay","displayName":"Fay","visibility":"PUBLIC","email":"Eve@Demo.example"}
{"type":"content","id":"c:demo:c","kind":"NOTE","title":"C","url":"https://ACME.example/b/","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:d","kind":"NOTE","title":"D","url":"acme.example","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
`
	sum, faults, err := load(t, s, taken, interchange.Options{Continue: true, Concurrency: 1})
	if err == nil || sum.Created != 1 || len(faults) != 3 {
		t.Fatalf("%+v, %v: %q", sum, err, faults)
	}
	for i, want := range []string{"line 2: email: another user has", "line 3: url: another item has", "line 4: url: a URL begins with"} {
		if !strings.HasPrefix(faults[i], want) {
			t.Errorf("got %q, want %q", faults[i], want)
		}
	}
	wantClean(t, s)
}

func TestImport_RepetitionChangesNothing(t *testing.T) {
	s := service(t)
	for _, want := range []interchange.Summary{{Lines: 8, Created: 6, Changed: 2}, {Lines: 8, Unchanged: 8}} {
		sum, faults, err := load(t, s, story, interchange.Options{})
		if err != nil || len(faults) > 0 {
			t.Fatalf("%v: %q", err, faults)
		}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Error(diff)
		}
	}
	wantClean(t, s)
}

func TestImport_LinesThatTheDomainRefusesStoreNothing(t *testing.T) {
	bad := strings.Join([]string{
		`{"type":"user","id":"u:demo:carl","displayName":" ","visibility":"PUBLIC"}`,
		`{"type":"user","id":"u:demo:dan","displayName":"Dan","email":"nobody","visibility":"PUBLIC"}`,
		`{"type":"user","id":"u:demo:ann","displayName":"Another","visibility":"PUBLIC"}`,
		`{"type":"group","id":"g:demo:none","displayName":"None","visibility":"PUBLIC","members":[]}`,
		`{"type":"group","id":"g:demo:early","displayName":"Early","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"g:demo:late","role":"MEMBER"}]}`,
		`{"type":"group","id":"g:demo:late","displayName":"Late","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`,
		`{"type":"content","id":"c:demo:x","kind":"LINK","title":"X","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`,
		`{"type":"content","id":"c:demo:y","kind":"NOTE","title":"Y","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"u:demo:nobody","role":"VIEWER"}]}`,
		`{"type":"members","id":"c:demo:x","members":[{"principalId":"u:demo:ann","role":"VIEWER"}]}`,
		`{"type":"user","id":"u:demo:last","displayName":"Last","visibility":"PUBLIC"}`,
	}, "\n")
	s := service(t)
	sum, faults, err := load(t, s, story+bad, interchange.Options{Continue: true, Concurrency: 1})
	if err == nil || sum.Failed != 8 || sum.Created != 8 {
		t.Errorf("%+v, %v", sum, err)
	}
	reasons := []string{
		"line 9: displayName: ", "line 10: email: ", "line 11: id: a user of this id exists already and differs",
		"line 12: members: a group needs at least one MANAGER", "line 13: members.", "line 15: link: ",
		"line 16: members.1.principalId: there is no u:demo:nobody",
		"line 17: id: there is no c:demo:x",
	}
	if len(faults) != len(reasons) {
		t.Fatalf("%d faults: %q", len(faults), faults)
	}
	for i, want := range reasons {
		if !strings.HasPrefix(faults[i], want) {
			t.Errorf("%q does not begin with %q", faults[i], want)
		}
	}
	// No part of a refused line is stored.
	nodes, err := s.Library.Nodes(t.Context(), &principal.Viewer{User: "u:demo:ann", GlobalAdmin: true},
		[]string{"u:demo:carl", "u:demo:dan", "g:demo:none", "g:demo:early", "c:demo:x", "c:demo:y"})
	if err != nil || slices.ContainsFunc(nodes, func(n library.Node) bool { return n != nil }) {
		t.Errorf("of refused lines %v is stored, %v", nodes, err)
	}
	if got := titles(t, s, &principal.Viewer{User: "u:demo:ann"}, "u:demo:ann"); len(got) != 2 {
		t.Errorf("Ann's library holds %q", got)
	}
	wantClean(t, s)
}

func TestImport_ResumesAfterAnInvalidLine(t *testing.T) {
	s := service(t)
	lines := strings.SplitAfter(story, "\n")
	broken := slices.Clone(lines)
	broken[5] = strings.Replace(broken[5], `"title":"B"`, `"title":""`, 1)
	sum, faults, err := load(t, s, strings.Join(broken, ""), interchange.Options{Concurrency: 1})
	if err == nil || len(faults) != 1 || !strings.HasPrefix(faults[0], "line 6: title: ") || sum.Lines != 6 {
		t.Fatalf("%+v, %q, %v", sum, faults, err)
	}
	sum, faults, err = load(t, s, story, interchange.Options{})
	if err != nil || len(faults) > 0 {
		t.Fatalf("%v: %q", err, faults)
	}
	if diff := cmp.Diff(interchange.Summary{Lines: 8, Created: 2, Changed: 1, Unchanged: 5}, sum); diff != "" {
		t.Error(diff)
	}
	wantClean(t, s)
}

// TestImport_ItemWithoutMembersIsInTheFeed: a PUBLIC item that nobody has a role on is in no library,
// but in the feed of its tenant.
func TestImport_ItemWithoutMembersIsInTheFeed(t *testing.T) {
	h := domaintest.New(t, nil)
	file := `{"type":"content","id":"c:acme:left","kind":"NOTE","title":"Left","visibility":"PUBLIC","createdBy":"u:acme:gone","unmanaged":true,"members":[]}` + "\n"
	if sum, faults, err := load(t, h.Services, file, interchange.Options{}); err != nil || len(faults) > 0 {
		t.Fatalf("%+v, %q, %v", sum, faults, err)
	}
	page, err := h.Library.LatestContent(t.Context(), &principal.Viewer{}, "acme", domaintest.First(10))
	if err != nil || len(page.Edges) != 1 || page.Edges[0].Node.Title != "Left" {
		t.Errorf("the newest content is %+v, %v", page, err)
	}
	h.WantAudited()
}
