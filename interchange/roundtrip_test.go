package interchange_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/demo"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/interchange"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// stopped is the real runtime with a stopped clock.
type stopped struct {
	*sched.Real
	at clock.Instant
}

func (r *stopped) Now() time.Time { return r.at.Time() }

// serviceAt returns the Service on a store, with a stopped clock.
func serviceAt(t *testing.T, store domain.Store, at clock.Instant) *domain.Services {
	t.Helper()
	s, _ := serviceAndJournalAt(t, store, at)
	return s
}

// serviceAndJournalAt returns the Service with its journal.
func serviceAndJournalAt(t *testing.T, store domain.Store, at clock.Instant) (*domain.Services, *journal.Journal) {
	t.Helper()
	runtime := &stopped{sched.NewReal(), at}
	t.Cleanup(runtime.Close)
	j := journal.New(t.Context(), store.Journal, runtime, nil)
	s := domaintest.Open(t, domain.Config{
		Store: store, Runtime: runtime, Names: unnamed{}, Tuning: library.Tuning{AnswerWithin: time.Minute}, Journal: j,
	})
	return s, j
}

func emptyStore(t *testing.T) *pebblestore.Store {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// exported returns an export of s.
func exported(t *testing.T, s *domain.Services) string {
	t.Helper()
	var out bytes.Buffer
	lines, err := interchange.Export(t.Context(), s.Exchange, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != lines {
		t.Errorf("progress was reported for %d lines of %d", lines, n)
	}
	return out.String()
}

// wantRoundTrip exports a store, imports the lines into an empty store, and checks that both have
// the same contents and that the audit of the new one is clean.
func wantRoundTrip(t *testing.T, from domain.Store, at clock.Instant) string {
	t.Helper()
	store := emptyStore(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	to, j := serviceAndJournalAt(t, store.Store, at)
	file := exported(t, serviceAt(t, from, at))
	if _, faults, err := load(t, to, file, interchange.Options{}); err != nil || len(faults) > 0 {
		t.Fatalf("importing what was exported: %v: %q\n%s", err, faults, file)
	}
	if diff := cmp.Diff(strings.Split(file, "\n"), strings.Split(exported(t, to), "\n")); diff != "" {
		t.Fatalf("exported, imported and exported again it differs:\n%s", diff)
	}
	if diff := cmp.Diff(contents(t, from, at), contents(t, store.Store, at)); diff != "" {
		t.Fatalf("the stores differ:\n%s", diff)
	}
	if err := j.Drain(t.Context(), to.Background()); err != nil {
		t.Fatal(err)
	}
	report, err := to.Repair.Audit(t.Context())
	if err != nil || !report.Clean() {
		t.Fatalf("the audit finds %+v, %v", report, err)
	}
	return file
}

// known is the content of a store that readers can see.
type known struct {
	Contents   []library.Content
	Principals []principal.Header
	Roles      map[string]string // of member in group or content
}

// contents reads the content of a store through the interface of stores, to find data that both the
// export and the import have lost.
func contents(t *testing.T, store domain.Store, at clock.Instant) known {
	t.Helper()
	k := known{Roles: map[string]string{}}
	ids, err := store.Contents.ScanContents(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		page, err := store.Contents.MembersPage(t.Context(), id, "", 10_000, false)
		if err != nil {
			t.Fatal(err)
		}
		if !page.Header.Exists(at) {
			continue
		}
		k.Contents = append(k.Contents, page.Header.Content)
		for _, m := range page.Members {
			if m.Active() {
				k.Roles[string(id+" "+library.ContentID(m.Principal))] = m.Role.String()
			}
		}
	}
	principals, err := store.Principals.ScanPrincipals(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range principals {
		page, err := store.Principals.GroupMembersPage(t.Context(), id, "", 10_000, false)
		if err != nil {
			t.Fatal(err)
		}
		if page.Header.State != commit.Live {
			continue
		}
		h := page.Header
		h.Seq, h.MTS, h.Writers = 0, 0, nil
		k.Principals = append(k.Principals, h)
		for _, m := range page.Members {
			if m.Active() {
				k.Roles[string(id+" "+m.Principal)] = m.Role.String()
			}
		}
	}
	return k
}

// newest finds the time of the last change in an export.
type newest struct{ at clock.Instant }

func (n *newest) line(l *exchange.Line) error {
	see := func(is ...*clock.Instant) {
		for _, i := range is {
			n.at = max(n.at, *i)
		}
	}
	switch l.Type {
	case exchange.TypeUser:
		see(l.User.CreatedAt)
	case exchange.TypeGroup:
		see(l.Group.CreatedAt)
	case exchange.TypeContent:
		see(l.Content.CreatedAt, l.Content.LastModified)
	case exchange.TypeBranch:
		see(l.Branch.CreatedAt)
	case exchange.TypeRevision:
		see(l.Revision.CreatedAt)
	case exchange.TypeSuggestion:
		see(l.Suggestion.CreatedAt)
	case exchange.TypeDraft:
		see(l.Draft.UpdatedAt)
	case exchange.TypePaste:
		see(l.Paste.ModifiedAt)
	}
	return nil
}

func TestRoundTrip_DemoStaysTheSame(t *testing.T) {
	var file bytes.Buffer
	base := time.Date(2024, 11, 21, 0, 0, 0, 0, time.UTC)
	packages := []demo.Package{
		{ImportPath: "encoding/json", Name: "json", Doc: "Package json."}, {ImportPath: "crypto/aes", Name: "aes", Doc: "Package aes."},
		{ImportPath: "crypto/sha256", Name: "sha256"}, {ImportPath: "net/http", Name: "http", Doc: "Package http <&> \"x\"."},
		{ImportPath: "cmd/go", Name: "main", Doc: "Go."},
	}
	if err := demo.Write(&file, base, packages); err != nil {
		t.Fatal(err)
	}
	store := emptyStore(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := clock.Of(base.Add(24 * time.Hour))
	s := serviceAt(t, store.Store, at)
	if _, faults, err := load(t, s, file.String(), interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	ann := &principal.Viewer{User: "u:demo:ann"}
	title, private := "JSON", principal.Private
	titled, visibility := &title, &private
	for n, change := range []library.UpdateContent{
		{ID: "c:demo:encoding-json", Title: input.Some(titled)},
		{ID: "c:demo:encoding-json", Visibility: input.Some(visibility)},
	} {
		if _, err := s.Library.UpdateContent(t.Context(), ann, change); err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
	}
	if _, err := s.Library.ShareContent(t.Context(), ann, library.ShareContent{Content: "c:demo:encoding-json",
		Principals: []string{"u:demo:cleo"}, Role: library.Editing}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Library.DeleteContent(t.Context(), &principal.Viewer{User: "u:demo:dora", Admin: true},
		library.DeleteContent{ID: "c:demo:net-http"}); err != nil {
		t.Fatal(err)
	}
	export := wantRoundTrip(t, store.Store, at+1_000_000)
	if strings.Contains(export, "c:demo:net-http") || !strings.Contains(export, `"title":"JSON"`) {
		t.Errorf("the changes are not in it:\n%s", export)
	}
}

// cycles is a file with groups that manage each other, and one that has a group as a member.
const cycles = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"group","id":"g:demo:a","displayName":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","membersFollow":true}
{"type":"group","id":"g:demo:b","displayName":"B","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","membersFollow":true}
{"type":"group","id":"g:demo:c","displayName":"C","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"group","id":"g:demo:d","displayName":"D","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"members","id":"g:demo:a","members":[{"principalId":"g:demo:b","role":"MANAGER"},{"principalId":"u:demo:ann","role":"MEMBER"}]}
{"type":"members","id":"g:demo:b","members":[{"principalId":"g:demo:a","role":"MANAGER"},{"principalId":"u:demo:ann","role":"MEMBER"}]}
{"type":"members","id":"g:demo:c","members":[{"principalId":"g:demo:d","role":"MEMBER"}]}
`

func TestRoundTrip_GroupCyclesStayTheSame(t *testing.T) {
	store := emptyStore(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := clock.Of(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, serviceAt(t, store.Store, at), cycles, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	if diff := cmp.Diff(cycles, wantRoundTrip(t, store.Store, at)); diff != "" {
		t.Error(diff)
	}
}

func TestRoundTrip_ManyMembersStayTheSame(t *testing.T) {
	var file strings.Builder
	role := func(i, last int) string {
		if i == last {
			return "MANAGER"
		}
		return "VIEWER"
	}
	const n = 250
	for i := range n {
		fmt.Fprintf(&file, `{"type":"user","id":"u:demo:n%03d","displayName":"N","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z"}`+
			"\n", i)
	}
	for _, manager := range []int{0, 99, 100, 249} {
		id := fmt.Sprintf("c:demo:m%d", manager)
		fmt.Fprintf(&file, `{"type":"content","id":"%s","kind":"NOTE","title":"M","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00Z","members":[{"principalId":"u:demo:n%03d","role":"MANAGER"}]}`+"\n", id, manager)
		for from := 0; from < n; from += 50 {
			var members []string
			for i := from; i < from+50; i++ {
				members = append(members, fmt.Sprintf(`{"principalId":"u:demo:n%03d","role":"%s"}`, i, role(i, manager)))
			}
			fmt.Fprintf(&file, `{"type":"members","id":"%s","members":[%s]}`+"\n", id, strings.Join(members, ","))
		}
	}
	store := emptyStore(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := clock.Of(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, serviceAt(t, store.Store, at), file.String(), interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	export := wantRoundTrip(t, store.Store, at)
	// A group with 250 members has its own line and two lines of members.
	if got, want := strings.Count(export, "\n"), n+4*3; got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
}

// A file may be read long after it was written.
func TestImport_AcceptsItemsThatHaveExpired(t *testing.T) {
	store := emptyStore(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := clock.Of(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	s := serviceAt(t, store.Store, at)
	file := fileOf(
		`{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}`,
		`{"type":"content","id":"c:demo:old","kind":"NOTE","title":"Old","visibility":"PUBLIC","expiresAt":"2024-01-31T00:00:00.000000Z","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`,
		`{"type":"members","id":"c:demo:old","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`)
	if _, faults, err := load(t, s, file, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	got, err := s.Library.Contents(t.Context(), &principal.Viewer{User: "u:demo:ann"}, []library.ContentID{"c:demo:old"})
	if err != nil || got[0] != nil {
		t.Errorf("an expired item is seen: %v, %v", got, err)
	}
	if export := exported(t, s); strings.Contains(export, "c:demo:old") {
		t.Errorf("an expired item is exported:\n%s", export)
	}
	dues, err := store.Journal.DueReminders(t.Context(), at, 10)
	if err != nil || len(dues) != 1 {
		t.Errorf("it will not be deleted: %v, %v", dues, err)
	}
}

func fileOf(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestImport_GroupsWithoutAManagerAreReported(t *testing.T) {
	const (
		ann   = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC"}`
		group = `{"type":"group","id":"g:demo:a","displayName":"A","visibility":"PUBLIC","membersFollow":true}`
		weak  = `{"type":"members","id":"g:demo:a","members":[{"principalId":"u:demo:ann","role":"MEMBER"}]}`
	)
	for _, tc := range []struct {
		name, file, want string
		piped            bool
		created          int
	}{
		{"in a file", fileOf(ann, group), "line 2: membersFollow: no line of members gives this group a MANAGER", false, 0},
		{"in a pipe", fileOf(ann, group), "line 2: membersFollow: no line of members gives this group a MANAGER", true, 2},
		{"none of them a manager", fileOf(ann, group, weak), "line 2: membersFollow: no line of members gives this group a MANAGER", false, 0},
		{"none of them a manager, in a pipe", fileOf(ann, group, weak), "line 3: a group needs at least one manager", true, 2},
		{"members although they follow", fileOf(ann, strings.TrimSuffix(group, "}")+`,"members":[]}`),
			"line 2: members: must be omitted if membersFollow is true", false, 0},
		{"another word", fileOf(strings.Replace(group, "true", `"yes"`, 1)),
			"line 1: membersFollow: must be a boolean, is a string; members: is missing", false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := service(t)
			var file io.Reader = strings.NewReader(tc.file)
			if tc.piped {
				file = io.MultiReader(file)
			}
			var faults []string
			sum, err := interchange.Import(t.Context(), file, 0, s.Exchange,
				interchange.Options{Fault: func(f *interchange.Fault) { faults = append(faults, f.Error()) }})
			if err == nil || sum.Created != tc.created {
				t.Errorf("%+v, %v", sum, err)
			}
			if diff := cmp.Diff([]string{tc.want}, faults); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// full is a writer that is always full.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestExport_FailsIfItCannotBeWritten(t *testing.T) {
	s := service(t)
	if _, _, err := load(t, s, story, interchange.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := interchange.Export(t.Context(), s.Exchange, full{}, nil); !errors.Is(err, errFull) {
		t.Errorf("writing to a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := interchange.Export(ctx, s.Exchange, io.Discard, nil); err == nil {
		t.Error("an interrupted export succeeded")
	}
}
