package demo

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/interchange"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is in the past for every clock: the import refuses times in the future.
var base = time.Date(2024, 11, 21, 0, 0, 0, 0, time.UTC)

func TestParseList_OmitsVendoredAndUndocumentedPackages(t *testing.T) {
	list := `{"ImportPath":"vendor/golang.org/x/net/idna","Name":"idna","Doc":"Package idna."}
{"ImportPath":"cmd/go","Name":"main","Doc":"Go is a tool."}
{"ImportPath":"cmd/go/internal/load","Name":"load","Doc":"Package load."}
{"ImportPath":"cmd/vendor/rsc.io/markdown","Name":"markdown","Doc":"Package markdown."}
{"ImportPath":"cmd/internal/obj","Name":"obj","Doc":"Package obj."}
{"ImportPath":"cmd/api","Name":"main"}
{"ImportPath":"internal/poll","Name":"poll","Doc":"Package poll."}
{"ImportPath":"encoding/json","Name":"json","Doc":"Package json."}
`
	got, err := parseList(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{"cmd/go", "main", "Go is a tool."}, {"encoding/json", "json", "Package json."}, {"internal/poll", "poll", "Package poll."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parseList(strings.NewReader(list + "{")); err == nil {
		t.Error("a truncated list was accepted")
	}
}

func TestPackages_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Packages(ctx); err == nil || !strings.HasPrefix(err.Error(), "list the standard library: ") {
		t.Errorf("%v", err)
	}
}

func TestWrite_OutputIsStable(t *testing.T) {
	var out bytes.Buffer
	err := Write(&out, base, []Package{
		{"bufio", "bufio", "Package bufio implements buffered I/O."},
		{"cmd/go", "main", "Go is a tool for managing Go source code."},
		{"cmd/vet", "main", "Vet examines Go source code."},
		{"crypto/aes", "aes", "Package aes implements AES encryption."},
		{"crypto/internal/impl", "impl", "Package impl is a registry."},
		{"encoding/hex", "hex", "Package hex implements hexadecimal encoding and decoding."},
		{"encoding/json", "json", "Package json implements encoding and decoding of JSON."},
		{"internal/abi", "abi", "Package abi."},
		{"internal/poll", "poll", "Package poll supports non-blocking I/O."},
		{"unsafe", "unsafe", "Package unsafe contains operations that step around the type safety of Go programs."},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "demo.jsonl")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("the output has changed; go test ./demo -update writes the golden file: %s", diff)
	}
}

func TestWrite_ReportsAFullDisk(t *testing.T) {
	if err := Write(full{}, base, nil); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.NewSyscallError("write", errNoSpace{}) }

type errNoSpace struct{}

func (errNoSpace) Error() string { return "no space left on device" }

// imported returns a Service with the demo data of the installed toolchain.
func imported(t *testing.T) *domain.Services {
	t.Helper()
	packages, err := Packages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := Write(&file, base, packages); err != nil {
		t.Fatal(err)
	}
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
	lines := bytes.Count(file.Bytes(), []byte("\n"))
	sum, err := interchange.Import(t.Context(), bytes.NewReader(file.Bytes()), 0, s.Exchange, interchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(interchange.Summary{Lines: lines, Created: lines}, sum); diff != "" {
		t.Error(diff)
	}
	return s
}

// unnamed generates no names: all items of the demo data have one.
type unnamed struct{}

func (unnamed) ContentName(context.Context) (string, error) {
	return "", fault.Unavailablef(nil, "the demo data has names")
}

// view is what a viewer sees of a library.
type view struct {
	bucket library.Bucket
	count  int
}

// viewsOf returns the view of each viewer, by name, without those who may not see
// the owner.
func viewsOf(t *testing.T, s *domain.Services, owner principal.ID) map[string]view {
	t.Helper()
	views := map[string]view{}
	for _, v := range Viewers() {
		asking := &principal.Viewer{User: principal.ID(v.Subject), Admin: len(v.Roles) > 0}
		ps, err := s.People.Principals(t.Context(), asking, []principal.ID{owner})
		if err != nil {
			t.Fatal(err)
		}
		if ps[0] == nil {
			continue
		}
		page, err := s.Listing.Library(t.Context(), asking, owner, library.LibraryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		count, err := s.Listing.LibraryCount(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		views[v.Name] = view{page.Bucket, count.Value}
	}
	return views
}

func TestDemo_ViewersSeeDifferentLibraries(t *testing.T) {
	s := imported(t)
	large := viewsOf(t, s, standardLibrary)
	everything, loggedIn, public := large["Ann"], large["Cleo"], large["Anonymous"]
	if everything.count < 200 {
		t.Errorf("the largest library has %d items, want at least 200, for several pages", everything.count)
	}
	if !(everything.count > loggedIn.count && loggedIn.count > public.count && public.count > 100) {
		t.Errorf("the buckets do not differ: %v, %v, %v", everything, loggedIn, public)
	}
	want := map[string]view{
		"Anonymous": {principal.Public, public.count}, "Zed": {principal.Public, public.count},
		"Cleo": {principal.LoggedIn, loggedIn.count},
		"Ann":  {principal.Private, everything.count}, "Ben": {principal.Private, everything.count},
		"Dora": {principal.Private, everything.count},
	}
	if diff := cmp.Diff(want, large, cmp.AllowUnexported(view{})); diff != "" {
		t.Error(diff)
	}
	who := func(owner principal.ID) (names []string) {
		views := viewsOf(t, s, owner)
		for _, v := range Viewers() {
			if _, sees := views[v.Name]; sees {
				names = append(names, v.Name)
			}
		}
		return names
	}
	for owner, want := range map[principal.ID][]string{
		"g:demo:internal": {"Ann", "Ben", "Dora"},
		"g:demo:cmd":      {"Ann", "Ben", "Cleo", "Dora"},
		dora:              {"Dora"},
		engineers:         {"Zed"},
	} {
		if diff := cmp.Diff(want, who(owner)); diff != "" {
			t.Errorf("%s is seen by: %s", owner, diff)
		}
	}
	report, err := s.Repair.Audit(t.Context())
	if err != nil || report.Mismatches != 0 {
		t.Errorf("the audit finds %+v, %v", report, err)
	}
}

func TestDemo_HasTheItemsOfTheExamples(t *testing.T) {
	s := imported(t)
	as := func(user principal.ID) *principal.Viewer { return &principal.Viewer{User: user} }
	items := func(v *principal.Viewer) []bool {
		all, err := s.Library.Contents(t.Context(), v, []library.ContentID{"c:demo:encoding-json", "c:demo:cmd-go", "c:demo:internal-poll"})
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, len(all))
		for i, c := range all {
			seen[i] = c != nil
		}
		return seen
	}
	for user, want := range map[principal.ID][]bool{
		"": {true, false, false}, zed: {true, false, false}, cleo: {true, true, true}, ann: {true, true, true}, ben: {true, true, true},
	} {
		if diff := cmp.Diff(want, items(as(user))); diff != "" {
			t.Errorf("%s sees encoding/json, cmd/go, internal/poll: %s", user, diff)
		}
	}
	reading := func(includeShared bool) (n int) {
		var after *string
		for {
			q := library.LibraryQuery{IncludeShared: includeShared, PageArgs: cursor.PageArgs{After: after}}
			page, err := s.Listing.Library(t.Context(), as(cleo), standardLibrary, q)
			if err != nil {
				t.Fatal(err)
			}
			n += len(page.Edges)
			if !page.PageInfo.HasNextPage {
				return n
			}
			after = page.PageInfo.EndCursor()
		}
	}
	if plain, shared := reading(false), reading(true); shared != plain+1 {
		t.Errorf("includeShared shows Cleo %d items, without it %d: one private item was shared with her", shared, plain)
	}
	share := library.ShareContent{Content: "c:demo:encoding-json", Principals: []string{cleo}, Role: library.Viewing}
	if out, err := s.Library.ShareContent(t.Context(), as(ann), share); err != nil || out.FanOut.Libraries != 1 {
		t.Errorf("sharing with Cleo: %+v, %v", out, err)
	}
	description := "Reads and writes JSON."
	change := library.UpdateContent{ID: "c:demo:encoding-json", Description: input.Some(&description)}
	if _, err := s.Library.UpdateContent(t.Context(), as(cleo), change); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("Cleo changes it: %v", err)
	}
	if out, err := s.Library.UpdateContent(t.Context(), as(ann), change); err != nil || out.Content.Version < 2 {
		t.Errorf("Ann changes it: %+v, %v", out, err)
	}
	if _, err := s.Library.RemoveFromLibrary(t.Context(), as(cleo), library.RemoveFromLibrary{Principal: cleo,
		Content: "c:demo:encoding-json"}); err != nil {
		t.Errorf("Cleo takes it out of her library: %v", err)
	}
}

// TestViewers_NameRolesAsTheClientDoes: descriptions use the names of roles in the client.
func TestViewers_NameRolesAsTheClientDoes(t *testing.T) {
	for _, v := range Viewers() {
		if old := regexp.MustCompile(`(?i)\b(reader|writer|owner)s?\b`).FindString(v.Description); old != "" {
			t.Errorf("the description of %s says %q, not Viewer, Editor or Manager: %s", v.Name, old, v.Description)
		}
	}
}
