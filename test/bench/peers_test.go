package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/library"
	"carrel/principal"
	"carrel/resolvers"
)

// peersSchema reads the schema of the peers.
func peersSchema(t *testing.T) *ast.Schema {
	t.Helper()
	text, err := os.ReadFile("peers/schema.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	return gqlparser.MustLoadSchema(&ast.Source{Name: "peers/schema.graphqls", Input: string(text)})
}

// TestPeersSchema_IsPartOfCarrelsSchema checks that the peers serve what Carrel serves;
// otherwise the comparison would be of different pages.
func TestPeersSchema_IsPartOfCarrelsSchema(t *testing.T) {
	carrel := resolvers.NewSchema(&resolvers.Root{}).Schema()
	compared := 0
	for name, part := range peersSchema(t).Types {
		if part.BuiltIn {
			continue
		}
		whole := carrel.Types[name]
		if whole == nil || whole.Kind != part.Kind {
			t.Errorf("%s %s: Carrel has no such type", part.Kind, name)
			continue
		}
		for _, value := range part.EnumValues {
			if whole.EnumValues.ForName(value.Name) == nil {
				t.Errorf("%s.%s: Carrel has no such value", name, value.Name)
			}
		}
		for _, field := range part.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			compared++
			compareField(t, name, field, whole.Fields.ForName(field.Name))
		}
	}
	if compared < 18 {
		t.Errorf("%d fields were compared", compared)
	}
}

// compareField compares a field of the peers with that of Carrel, and its arguments.
func compareField(t *testing.T, typeName string, part, whole *ast.FieldDefinition) {
	t.Helper()
	if whole == nil || whole.Type.String() != part.Type.String() {
		t.Errorf("%s.%s: %s differs from Carrel's", typeName, part.Name, part.Type)
		return
	}
	for _, arg := range part.Arguments {
		of := whole.Arguments.ForName(arg.Name)
		if of == nil || of.Type.String() != arg.Type.String() || of.DefaultValue.String() != arg.DefaultValue.String() {
			t.Errorf("%s.%s(%s: %s = %s) differs from Carrel's", typeName, part.Name, arg.Name, arg.Type, arg.DefaultValue)
		}
	}
	for _, arg := range whole.Arguments {
		if arg.Type.NonNull && arg.DefaultValue == nil && part.Arguments.ForName(arg.Name) == nil {
			t.Errorf("%s.%s: Carrel requires the argument %s", typeName, part.Name, arg.Name)
		}
	}
}

func TestPageQuery_IsValidForPeersAndCarrel(t *testing.T) {
	for name, schema := range map[string]*ast.Schema{
		"Carrel": resolvers.NewSchema(&resolvers.Root{}).Schema(), "the peers": peersSchema(t),
	} {
		if _, errs := gqlparser.LoadQueryWithRules(schema, pageQuery, nil); errs != nil {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// carrelForPeers serves libraries over HTTP, and exports them for the peers into the file.
func carrelForPeers(t *testing.T, file string, libraries int) *peer {
	t.Helper()
	g, err := open(t.Context(), t.TempDir(), library.Tuning{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	var owners []principal.ID
	for n := range libraries {
		owners = append(owners, peerOwner(n))
		if err := g.createLibrary(t.Context(), peerOwner(n), peerEntries); err != nil {
			t.Fatal(err)
		}
	}
	h, tokens, err := g.handlerFor(owners...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	pages, err := exportForPeers(t.Context(), server.URL, owners, tokens, file)
	if err != nil {
		t.Fatal(err)
	}
	return &peer{name: "Carrel", url: server.URL, same: sameButCursors, pages: pages, page: pageQuery, change: updateQuery}
}

// TestGqlgenPeer_AnswersAsCarrel generates and builds the gqlgen server, and reads the
// first page of each library and all pages of one, in both orders. The servers on Node
// are compared when they are measured.
func TestGqlgenPeer_AnswersAsCarrel(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "libraries.json")
	carrel := carrelForPeers(t, data, 3)
	program := filepath.Join(dir, "gqlgen-peer")
	if err := buildGqlgenPeer(t.Context(), "peers", dir, program); err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), program, data)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	gqlgen := &peer{name: "gqlgen", process: p, url: p.first, same: bytes.Equal, pages: carrel.pages}
	if err := errors.Join(checkPeer(t.Context(), carrel), checkPeer(t.Context(), gqlgen)); err != nil {
		t.Error(err)
	}
	checkPinned(t, p.command.Process.Pid)
	for _, descending := range []bool{false, true} {
		walkBoth(t, carrel, gqlgen, carrel.pages[1].token, pageSpec{owner: peerOwner(1), descending: descending})
	}
}

// walkBoth pages through a library on both servers, each with its own cursors, and compares.
func walkBoth(t *testing.T, carrel, other *peer, token string, at pageSpec) {
	t.Helper()
	after := map[*peer]string{}
	for edges := 0; edges < 2*peerEntries; { // of both
		answers := map[*peer][]byte{}
		for _, p := range []*peer{carrel, other} {
			at.after = after[p]
			answer, err := (&pageRequest{token: token, body: pageBody(at)}).send(t.Context(), http.DefaultClient, p.url)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := shownIn(answer)
			if err != nil || len(shown.Edges) == 0 || shown.PageInfo.EndCursor != shown.Edges[len(shown.Edges)-1].Cursor {
				t.Fatalf("%s: after %d edges: %s (%v)", p.name, edges, answer, err)
			}
			answers[p], after[p] = answer, shown.PageInfo.EndCursor
			edges += len(shown.Edges)
		}
		if !sameButCursors(answers[other], answers[carrel]) {
			t.Fatalf("after %d edges, descending %t: %s, want %s", edges, at.descending, answers[other], answers[carrel])
		}
	}
}

// answering returns a peer in this process. It gives the given number of right answers,
// and then wrong ones.
func answering(t *testing.T, name string, pages []*pageRequest, rightFor int64, wrong string) *peer {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an empty body matches no page
		for _, p := range pages {
			if p.body == string(body) && asked.Add(1) <= rightFor {
				_, _ = w.Write(append(p.want, '\n')) // the client may have disconnected
				return
			}
		}
		if wrong == "" { // the right body with an error status
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(pages[0].want)
		}
		_, _ = io.WriteString(w, wrong)
	}))
	t.Cleanup(server.Close)
	self := &process{command: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	return &peer{name: name, process: self, url: server.URL, same: bytes.Equal, pages: pages}
}

func fullPage(title string) string {
	return `{"data":{"cursor":"a","title":"` + title + `"` + strings.Repeat(`,"displayName":""`, pageSize) + `}}`
}

func TestMeasureInTurns_MeasuresEveryPeerInEveryRound(t *testing.T) {
	pages := []*pageRequest{{body: "1", want: []byte(fullPage("1"))}, {body: "2", want: []byte(fullPage("2"))}}
	const most = 1500
	peers := []*peer{answering(t, "a", pages, 3*most, ""), answering(t, "b", pages, 3*most, "")}
	results, err := measureInTurns(t.Context(), peers, peerPlan{rounds: 2, long: time.Minute, most: most})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.name != peers[i].name || len(r.series) != 2 || r.peak < 1<<20 {
			t.Errorf("%+v", r)
		}
		for _, c := range r.series {
			// The process cannot use more than all cores; the factor 2 allows for the coarse unit of the clock.
			if c.p50 <= 0 || c.p99 < c.p50 || c.cpu <= 0 || c.cpu > 2*c.wall*time.Duration(runtime.NumCPU()) {
				t.Errorf("%+v", c)
			}
		}
	}
}

func TestPeer_OtherAnswerIsAnError(t *testing.T) {
	pages := []*pageRequest{{body: "1", want: []byte(fullPage("1"))}}
	for name, wrong := range map[string]string{
		"another title": fullPage("2"), "another cursor": strings.Replace(fullPage("1"), `"a"`, `"b"`, 1), "another status": "", "nothing": " ",
	} {
		if err := checkPeer(t.Context(), answering(t, "new", pages, 0, wrong)); err == nil {
			t.Errorf("%s: checkPeer accepts it", name)
		}
		_, err := measureInTurns(t.Context(), []*peer{answering(t, "drifting", pages, 40, wrong)},
			peerPlan{rounds: 1, long: time.Minute, most: 100_000})
		if err == nil || !strings.HasPrefix(err.Error(), "drifting: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := []*pageRequest{{body: "1", want: []byte(`{"data":null}`)}}
	if err := checkPeer(t.Context(), answering(t, "short", short, 1, "")); err == nil {
		t.Error("a page without 20 edges is measured")
	}
}

func TestSameButCursors_OtherDifferencesAreFound(t *testing.T) {
	const page = `{"edges":[{"cursor":"a","node":1},{"cursor":"b","node":2}],"endCursor":"b"}`
	for other, want := range map[string]bool{
		page: true,
		`{"edges":[{"cursor":"x","node":1},{"cursor":"y","node":2}],"endCursor":"z"}`: true,
		`{"edges":[{"cursor":"a","node":1},{"cursor":"b","node":3}],"endCursor":"b"}`: false,
		`{"edges":[{"cursor":"a","node":1},{"cursor":"b","node":2}],"endCursor":"b"`:  false,
		`{"edges":[{"cursor":"a","node":1},{"cursor":"b","node":2}]}`:                 false,
		`{"edges":[{"cursor":"a","node":1}],"endCursor":"b"}`:                         false,
		// One of them ends where the other has a cursor.
		page[:strings.LastIndex(page, "ursor")]: false,
		"":                                      false,
	} {
		if got := sameButCursors([]byte(page), []byte(other)); got != want {
			t.Errorf("%s: %t", other, got)
		}
		if got := sameButCursors([]byte(other), []byte(page)); got != want {
			t.Errorf("%s, the other way round: %t", other, got)
		}
	}
}

func TestAskAll_EndsInTime(t *testing.T) {
	pages := []*pageRequest{{body: "1", want: []byte(fullPage("1"))}}
	const most = 20_000
	took, err := answering(t, "a", pages, most, "").askAll(t.Context(), peerPlan{long: time.Millisecond, most: most})
	if err != nil || len(took) == 0 || len(took) == most {
		t.Errorf("%d answers, %v", len(took), err)
	}
}

// checkPinned moves the process to a core and checks each of its threads.
func checkPinned(t *testing.T, pid int) {
	t.Helper()
	if err := pin(t.Context(), pid, serverCore); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(status), fmt.Sprintf("Cpus_allowed_list:\t%d\n", serverCore)) {
			t.Errorf("%s: %s (%v)", name, status, err)
		}
	}
	if err := pin(t.Context(), pid, 1<<20); err == nil {
		t.Error("a core that does not exist is accepted")
	}
}

func TestMachineLoad_IsTheAverageOfOneMinute(t *testing.T) {
	load, err := machineLoad()
	text, readErr := os.ReadFile("/proc/loadavg")
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	// The load may change a little between the two readings.
	first, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil || math.Abs(load-first) > 1+first/4 {
		t.Errorf("%g, and then %s (%v)", load, text, err)
	}
}

func TestQuantile_IsTheSmallestThatCoversThePercentage(t *testing.T) {
	var sorted []time.Duration
	for n := range 200 {
		sorted = append(sorted, time.Duration(n+1))
	}
	for percent, want := range map[int]time.Duration{50: 100, 99: 198, 100: 200} {
		if got := quantile(sorted, percent); got != want || quantile(sorted[:1], percent) != 1 {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
}

func TestMedianOf_ReportsTheFurthestRound(t *testing.T) {
	for _, c := range []struct {
		all         []float64
		median, off float64
	}{
		{[]float64{10}, 10, 0},
		{[]float64{30, 10, 20}, 20, 0.5},
		{[]float64{10, 40, 20, 30}, 25, 0.6},
		{[]float64{10, 10, 2, 11, 11}, 10, 0.8},
		{[]float64{9, 10, 10, 10, 18}, 10, 0.8},
	} {
		if got := medianOf(c.all); math.Abs(got.median-c.median) > 1e-9 || math.Abs(got.off-c.off) > 1e-9 {
			t.Errorf("%v: %+v", c.all, got)
		}
	}
}

// TestPrintPeers_ComparesWithinRounds checks that the ratio is computed within each
// round, so that a slow round changes it little.
func TestPrintPeers_ComparesWithinRounds(t *testing.T) {
	var out bytes.Buffer
	carrel, other := peerResult{"Carrel", costs(100, 200, 400), 64 << 20}, peerResult{"Other", costs(200, 400, 840), 100 << 20}
	if err := printPeers(&out, "A page", []peerResult{carrel, other}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A page:\n20 edges with creator, 16 connections", "median of 3 rounds",
		"200 us ± 100 %    1.00 x ± 0 %   1.5 ms ± 0 %   2.0 ms ± 0 %   2500 ± 100 %     64 MiB Carrel\n",
		"400 us ± 110 %    2.00 x ± 5 %   1.5 ms ± 0 %   2.0 ms ± 0 %   1250 ± 100 %    100 MiB Other\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestPostgraphilePage_IsPageQuery(t *testing.T) {
	_, got, _ := strings.Cut(strings.NewReplacer("id: rowId", "id", "createdBy: creator", "createdBy").Replace(postgraphilePage), "edges")
	if _, want, _ := strings.Cut(pageQuery, "edges"); got != want || !strings.Contains(postgraphilePage, "first: 20,") {
		t.Errorf("%s, want %s", got, want)
	}
	const page = `{"cursor":"a","lastModified":"2026-01-01T00:00:00.000001Z"}`
	for got, want := range map[string]bool{"0.000001+00:00": true, "0.000001+01:00": false, "0.000002+00:00": false} {
		if sameAsPostGraphile([]byte(strings.Replace(page, "0.000001Z", got, 1)), []byte(page)) != want {
			t.Errorf("%s: %t", got, !want)
		}
	}
}

// speaking returns a peer that speaks as PostGraphile, with the page of peerOwner(0).
func speaking(t *testing.T, answer func(body string) string) *peer {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, answer(string(body))) // the test fails without the answer
	}))
	t.Cleanup(server.Close)
	p := &peer{url: server.URL, pages: []*pageRequest{{token: "t"}}}
	p.speakPostgraphile([]principal.ID{peerOwner(0)})
	return p
}

func TestGoTo_StopsAtTheDepth(t *testing.T) {
	read := 0 // edges
	p := speaking(t, func(body string) string {
		read += peerWalk * strings.Count(body, "first: 100,")
		return fmt.Sprintf(`{"endCursor":"%d",%s}`, read, fullPage("p"))
	})
	err := p.goTo(t.Context(), "t", peerOwner(0), 300)
	if got := p.pages[0].body; err != nil || read != 300 || !strings.Contains(got, `"after":"300"`) || !strings.Contains(got, "first: 20,") {
		t.Errorf("%s, %d edges were read (%v)", got, read, err)
	}
}

func TestUpdate_EndsWhenAllLibrariesShowIt(t *testing.T) {
	const lag = 20 * time.Millisecond
	stale, state := true, ""
	p := speaking(t, func(body string) string {
		if strings.Contains(body, string(reader(2))) {
			if stale = !stale; !stale {
				return "{}"
			}
			<-time.After(lag)
		}
		return `{"title":"New","state":"` + state + `"}`
	})
	for _, state = range []string{"COMPLETE", "RUNNING"} {
		took, err := p.update(t.Context(), "t", 3, "New")
		if (err == nil) != (state == "COMPLETE") || err == nil && took < inUnits(lag, time.Millisecond) {
			t.Errorf("%s: %g ms, %v", state, took, err)
		}
	}
}

func TestCPUOf_IncludesChildren(t *testing.T) {
	p, err := start(t.Context(), "sh", "-c", `sh -c 'while kill -0 $PPID; do :; done' & echo; wait`)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop() // ends the child, too
	used := time.Duration(0)
	for until := time.Now().Add(20 * time.Second); err == nil && used < 5*clockTick && time.Now().Before(until); {
		used, err = cpuOf(p.command.Process.Pid)
	}
	if err != nil || used < 5*clockTick {
		t.Errorf("%s, %v", used, err)
	}
}
