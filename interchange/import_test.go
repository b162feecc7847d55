package interchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
	"carrel/exchange"
	"carrel/principal"
)

// recorder is a Target that records the lines that it gets. The tests with it are about the order,
// the concurrency and the end of an import; other tests use the Service and its rules.
type recorder struct {
	mu      sync.Mutex
	begun   []string
	running []string
	most    int // running at the same time
	// before is called when a line arrives, while the lock is not held.
	before func(ctx context.Context, id string) error
	known  map[string]bool
}

func (r *recorder) arrive(ctx context.Context, id string) (principal.ImportResult, error) {
	r.mu.Lock()
	r.begun = append(r.begun, id)
	r.running = append(r.running, id)
	r.most = max(r.most, len(r.running))
	r.mu.Unlock()
	var err error
	if r.before != nil {
		err = r.before(ctx, id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = slices.DeleteFunc(r.running, func(s string) bool { return s == id })
	switch {
	case err != nil:
		return principal.Unchanged, err
	case r.known[id]:
		return principal.Unchanged, nil
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[id] = true
	return principal.Created, nil
}

func (r *recorder) Import(ctx context.Context, l *exchange.Line) (principal.ImportResult, error) {
	switch l.Type {
	case exchange.TypeMembers:
		if _, err := r.arrive(ctx, l.ID()+"+"); err != nil {
			return principal.Unchanged, err
		}
		return principal.Changed, nil
	case exchange.TypeBranch:
		return r.arrive(ctx, fmt.Sprintf("%s b%d", l.ID(), l.Branch.Number))
	case exchange.TypeRevision:
		return r.arrive(ctx, fmt.Sprintf("%s r%d", l.ID(), l.Revision.Number))
	case exchange.TypeSuggestion:
		return r.arrive(ctx, l.ID()+" "+l.Suggestion.ID)
	case exchange.TypeDraft:
		return r.arrive(ctx, l.Draft.Content+" "+l.ID())
	}
	return r.arrive(ctx, l.ID())
}

// untilBlocked waits, in a synctest bubble, until all other goroutines are blocked: the bubble's
// clock advances only then.
func untilBlocked() { <-time.After(time.Second) }

func userLineOf(name string) string {
	return fmt.Sprintf(`{"type":"user","id":"u:demo:%s","displayName":"%s","visibility":"PUBLIC"}`, name, name)
}

func groupLineOf(name string, members ...string) string {
	return fmt.Sprintf(`{"type":"group","id":"g:demo:%s","displayName":"%s","visibility":"PUBLIC","members":[%s]}`, name,
		name, memberList("MANAGER", members))
}

func contentLineOf(name string, members ...string) string {
	return fmt.Sprintf(`{"type":"content","id":"c:demo:%s","kind":"LINK","title":"%s","link":"https://example.com/%s","visibility":"PUBLIC","members":[%s]}`,
		name, name, name, memberList("MANAGER", members))
}

func memberList(role string, members []string) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = fmt.Sprintf(`{"principalId":"%s","role":"%s"}`, m, role)
	}
	return strings.Join(parts, ",")
}

func fileOf(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func users(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = userLineOf(fmt.Sprintf("n%03d", i+1))
	}
	return all
}

// imported imports r and returns everything that can be observed.
func imported(t *testing.T, r io.Reader, into Target, opts Options) (sum Summary, faults []string, err error) {
	t.Helper()
	opts.Fault = func(f *Fault) { faults = append(faults, f.Error()) }
	sum, err = Import(t.Context(), r, 0, into, opts)
	if total := sum.Created + sum.Changed + sum.Unchanged + sum.Failed; total != sum.Lines {
		t.Errorf("the summary does not add up: %+v", sum)
	}
	return sum, faults, err
}

func TestImport_MalformedFileChangesNothing(t *testing.T) {
	file := fileOf(userLineOf("ann"), `{"type":"user"`, userLineOf("ben"), strings.Repeat("x", MaxLine+1), `{"type":"page"}`)
	var to recorder
	sum, faults, err := imported(t, strings.NewReader(file), &to, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "nothing was imported: 3 malformed of 5 lines; the first: line 2: ") {
		t.Errorf("the error is %v", err)
	}
	want := []string{
		"line 2: not JSON: the line ends too early",
		"line 4: the line is longer than 4194304 bytes",
		`line 5: type: is user, group, content, members, branch, revision, suggestion, draft or paste, not "page"`,
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
	if len(to.begun) > 0 || sum != (Summary{}) {
		t.Errorf("something was imported: %v, %+v", to.begun, sum)
	}
}

func TestImport_StopsCheckingAnotherKindOfFile(t *testing.T) {
	sum, faults, err := imported(t, strings.NewReader(strings.Repeat("a,b,c\n", 1000)), &recorder{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "100 malformed lines, and the rest was not read") ||
		len(faults) != maxMalformed || sum.Lines != 0 {
		t.Errorf("%d faults, %+v, %v", len(faults), sum, err)
	}
}

func TestImport_PipeIsCheckedWhileItIsRead(t *testing.T) {
	file := fileOf(userLineOf("ann"), userLineOf("ben"), "x", userLineOf("cleo"))
	var to recorder
	// io.MultiReader hides that a string can be rewound.
	sum, faults, err := imported(t, io.MultiReader(strings.NewReader(file)), &to, Options{})
	if diff := cmp.Diff(Summary{Lines: 3, Created: 2, Failed: 1}, sum); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), "line 3: ") || !strings.Contains(err.Error(), "import the same file again") {
		t.Errorf("the error is %v", err)
	}
	if len(faults) != 1 || slices.Contains(to.begun, "u:demo:cleo") {
		t.Errorf("faults %v, begun %v", faults, to.begun)
	}
}

func TestImport_ContinueSkipsOnlyBadLines(t *testing.T) {
	file := fileOf(userLineOf("ann"), "x", userLineOf("bad"), userLineOf("ben"), "", groupLineOf("g", "u:demo:ann"))
	to := recorder{before: func(_ context.Context, id string) error {
		if id == "u:demo:bad" {
			return fault.Invalidf([]string{"displayName"}, "not today")
		}
		return nil
	}}
	sum, faults, err := imported(t, strings.NewReader(file), &to, Options{Continue: true})
	if diff := cmp.Diff(Summary{Lines: 5, Created: 3, Failed: 2}, sum); diff != "" {
		t.Error(diff)
	}
	want := []string{"line 2: not JSON: invalid character 'x' looking for beginning of value, at byte 1", "line 3: displayName: not today"}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "2 of 5 lines were refused, the others are stored; the first: line 2: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestImport_RepetitionSkipsStoredLines(t *testing.T) {
	file := fileOf(userLineOf("ann"), userLineOf("ben"))
	var to recorder
	for _, want := range []Summary{{Lines: 2, Created: 2}, {Lines: 2, Unchanged: 2}} {
		sum, _, err := imported(t, strings.NewReader(file), &to, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Error(diff)
		}
	}
}

func TestImport_InvalidLineEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := make(chan struct{})
		to := recorder{before: func(_ context.Context, id string) error {
			switch {
			case id == "u:demo:n010":
				close(bad)
				return fault.Invalidf(nil, "no")
			case id < "u:demo:n010":
				<-bad // the lines before it end after it
				untilBlocked()
			}
			return nil
		}}
		sum, faults, err := imported(t, strings.NewReader(fileOf(users(200)...)), &to, Options{Concurrency: 10})
		if diff := cmp.Diff([]string{"line 10: no"}, faults); diff != "" {
			t.Error(diff)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "line 10: no; the import ended there; ") {
			t.Errorf("the error is %v", err)
		}
		for _, id := range []string{"u:demo:n001", "u:demo:n009"} {
			if !to.known[id] {
				t.Errorf("%s is before the bad line but was not stored", id)
			}
		}
		// The line that waited for the slot of the bad line is not started.
		if len(to.begun) != 10 || sum.Created != 9 || sum.Failed != 1 {
			t.Errorf("%d lines were begun: %+v", len(to.begun), sum)
		}
	})
}

func TestImport_ReportsTheFirstFaultOfTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := recorder{}
		to.before = func(_ context.Context, id string) error {
			untilBlocked() // all have begun
			if id == "u:demo:n003" {
				untilBlocked() // every other one has failed
			}
			if id >= "u:demo:n003" {
				return fault.Invalidf(nil, "no %s", id)
			}
			return nil
		}
		_, faults, err := imported(t, strings.NewReader(fileOf(users(5)...)), &to, Options{Concurrency: 5})
		want := []string{"line 3: no u:demo:n003", "line 4: no u:demo:n004", "line 5: no u:demo:n005"}
		if diff := cmp.Diff(want, faults); diff != "" {
			t.Error(diff)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestImport_FailingStoreEndsItInAnyCase(t *testing.T) {
	for name, broken := range map[string]error{
		"unavailable": fault.Unavailablef(nil, "the disk is full"),
		"unknown":     errors.New("the disk is full"),
	} {
		t.Run(name, func(t *testing.T) {
			to := recorder{before: func(_ context.Context, id string) error {
				if id == "u:demo:n002" {
					return broken
				}
				return nil
			}}
			sum, faults, err := imported(t, strings.NewReader(fileOf(users(50)...)), &to, Options{Continue: true, Concurrency: 1})
			if err == nil || !strings.HasPrefix(err.Error(), "line 2: the disk is full; the import ended there; ") {
				t.Errorf("the error is %v", err)
			}
			if len(to.begun) != 2 || sum.Created != 1 || len(faults) != 1 {
				t.Errorf("begun %v, %+v, %v", to.begun, sum, faults)
			}
		})
	}
}

func TestImport_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	to := recorder{before: func(ctx context.Context, id string) error {
		if id == "u:demo:n002" {
			cancel()
			return fault.Unavailablef(ctx.Err(), "interrupted")
		}
		return nil
	}}
	sum, err := Import(ctx, strings.NewReader(fileOf(users(50)...)), 0, &to, Options{Concurrency: 1})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "interrupted after 1 lines; import the same file again") {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff(Summary{Lines: 1, Created: 1}, sum); diff != "" {
		t.Error(diff)
	}
	if len(to.begun) != 2 {
		t.Errorf("begun: %v", to.begun)
	}
}

func TestImport_LinesOfOneTypeAreImportedConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each waits until nothing more can begin before one has ended.
		var to recorder
		to.before = func(context.Context, string) error { untilBlocked(); return nil }
		if _, _, err := imported(t, strings.NewReader(fileOf(users(500)...)), &to, Options{}); err != nil {
			t.Fatal(err)
		}
		if to.most != DefaultConcurrency || len(to.known) != 500 {
			t.Errorf("at most %d lines ran at the same time, %d were stored", to.most, len(to.known))
		}
	})
}

// TestImport_LinesWaitOnlyForTheBatchBefore: lines run concurrently again although lines that have
// ended changed the same objects or named them.
func TestImport_LinesWaitOnlyForTheBatchBefore(t *testing.T) {
	var named, groups []string
	for n := range DefaultConcurrency {
		name := fmt.Sprintf("late%d", n)
		named, groups = append(named, "g:demo:"+name), append(groups, groupLineOf(name, "u:demo:ann"))
	}
	for what, file := range map[string][]string{
		"changed": slices.Concat(users(DefaultConcurrency), users(DefaultConcurrency)),
		"named":   slices.Concat([]string{groupLineOf("early", named...)}, groups),
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var to recorder
				to.before = func(context.Context, string) error { untilBlocked(); return nil }
				began := time.Now()
				if _, _, err := imported(t, strings.NewReader(fileOf(file...)), &to, Options{}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 2*time.Second || len(to.begun) != len(file) {
					t.Errorf("%d lines took %v", len(to.begun), took)
				}
			})
		})
	}
}

func TestImport_LineWaitsForTheLinesThatItNames(t *testing.T) {
	file := fileOf(
		userLineOf("ann"), userLineOf("ben"),
		groupLineOf("a", "u:demo:ann"), groupLineOf("b", "u:demo:ann"), groupLineOf("c", "g:demo:b"),
		contentLineOf("x", "g:demo:c"), contentLineOf("y", "g:demo:c"), contentLineOf("x", "g:demo:c"),
		`{"type":"members","id":"c:demo:x","members":[{"principalId":"u:demo:ben","role":"VIEWER"}]}`,
		userLineOf("zoe"),
	)
	needs := map[string][]string{
		"g:demo:a": {"u:demo:ann", "u:demo:ben"}, "g:demo:b": {"u:demo:ann"}, "g:demo:c": {"g:demo:a", "g:demo:b"},
		"c:demo:x": {"g:demo:c"}, "c:demo:y": {"g:demo:c"}, "c:demo:x+": {"c:demo:x", "c:demo:y"}, "u:demo:zoe": {"c:demo:x+"},
	}
	for range 20 {
		to := recorder{}
		to.before = func(_ context.Context, id string) error {
			to.mu.Lock()
			defer to.mu.Unlock()
			for _, need := range needs[id] {
				if !to.known[need] {
					t.Errorf("%s was begun before %s was stored", id, need)
				}
			}
			if n := slices.Index(to.running, id); slices.Index(to.running[n+1:], id) >= 0 {
				t.Errorf("%s runs twice at once", id)
			}
			return nil
		}
		if _, _, err := imported(t, strings.NewReader(file), &to, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImport_LaterLineWaitsForTheLineThatNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := recorder{}
		to.before = func(_ context.Context, id string) error {
			untilBlocked()
			if to.mu.Lock(); id == "g:demo:early" && slices.Contains(to.begun, "g:demo:late") {
				t.Error("the later line was begun while the one that names it was running")
			}
			to.mu.Unlock()
			return nil
		}
		file := fileOf(groupLineOf("early", "g:demo:late"), groupLineOf("late", "u:demo:ann"))
		if _, _, err := imported(t, strings.NewReader(file), &to, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestImport_ProgressReachesTheEnd(t *testing.T) {
	file := fileOf(users(30)...)
	var all []Progress
	_, err := Import(t.Context(), strings.NewReader(file), int64(len(file)), &recorder{},
		Options{Progress: func(p Progress) { all = append(all, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 60 {
		t.Fatalf("progress was reported %d times for 30 lines in two passes", len(all))
	}
	for i, p := range all {
		if p.Checking != (i < 30) || p.Lines != i%30+1 || p.Size != int64(len(file)) {
			t.Errorf("%d: %+v", i, p)
		}
	}
	for _, last := range []Progress{all[29], all[59]} {
		if last.Bytes != int64(len(file)) {
			t.Errorf("at the end %d of %d bytes", last.Bytes, len(file))
		}
	}
}
