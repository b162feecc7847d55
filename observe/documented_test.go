package observe

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/core/journal"
	"carrel/headercache"
)

// registered returns the labels of all metrics that a gateway can have, by the registered name:
// that of a histogram has no _bucket, _sum or _count.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	m := NewMetrics()
	m.Journal(func() journal.Stats { return journal.Stats{} })
	m.Cluster(func() (running, waiting int) { return 0, 0 })
	m.Skew(func() (time.Duration, bool) { return 0, true })
	m.Streams(func() (events, sockets int) { return 0, 0 })
	m.Answers(func() int64 { return 0 })
	m.Disk(func() (uint64, bool) { return 0, true })
	m.Copies(func() headercache.Stats { return headercache.Stats{} })
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.registry.Describe(descriptions)
	}()
	names := map[string][]string{}
	parts := regexp.MustCompile(`fqName: "([^"]*)".*constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	for d := range descriptions {
		is := parts.FindStringSubmatch(d.String())
		if is == nil {
			t.Fatalf("a metric without a name: %s", d)
		}
		labels := []string{"job", "instance", "le"} // Prometheus adds these
		for label := range strings.SplitSeq(is[2]+","+is[3], ",") {
			name, _, _ := strings.Cut(label, "=")
			labels = append(labels, name)
		}
		names[is[1]] = labels
	}
	if len(names) < 30 {
		t.Fatalf("only %d metrics are registered: %v", len(names), names)
	}
	return names
}

// known returns the labels of a metric by its name in a query or a document, or nil if it is not
// registered.
func known(all map[string][]string, name string) []string {
	for _, part := range []string{"", "_bucket", "_sum", "_count"} {
		if whole, ok := strings.CutSuffix(name, part); ok && all[whole] != nil {
			return all[whole]
		}
	}
	return nil
}

// metricName matches the names of our metrics and of those of the runtime and the process.
var metricName = regexp.MustCompile(`\b(?:carrel|go|process)_[a-z][a-z0-9_]*`)

// TestMetrics_EveryMetricIsDocumented: docs/observability.md describes every metric, and no
// other.
func TestMetrics_EveryMetricIsDocumented(t *testing.T) {
	all := registered(t)
	for _, page := range []string{"../docs/observability.md", "../docs/operations.md"} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := metricName.FindAllString(string(b), -1)
		for _, name := range found {
			if known(all, name) == nil {
				t.Errorf("%s names %s, which is not registered", page, name)
			}
		}
		if !strings.HasSuffix(page, "observability.md") {
			continue
		}
		for name := range all {
			if strings.HasPrefix(name, "carrel_") && !slices.Contains(found, name) {
				t.Errorf("%s does not describe %s", page, name)
			}
		}
	}
}

// dashboard is the part of Grafana's format that this test checks.
type dashboard struct {
	Title         string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Definition string
		}
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		GridPos    struct{ H, W, X, Y int }
		Datasource *struct{ Type, UID string }
		Targets    []struct {
			RefID, Expr string
			Datasource  struct{ Type, UID string }
		}
	}
}

// TestDashboard_QueriesExistingMetrics: the queries of the dashboard use registered metrics and
// existing labels, and the dashboard shows every metric of ours.
func TestDashboard_QueriesExistingMetrics(t *testing.T) {
	b, err := os.ReadFile("../docs/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	var variables []string
	queries := []string{}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name+" "+v.Type)
		if v.Definition != "" {
			queries = append(queries, v.Definition)
		}
	}
	if want := []string{"datasource datasource", "job query", "instance query"}; !slices.Equal(variables, want) {
		t.Errorf("the variables are %v, want %v", variables, want)
	}
	ids := map[int]bool{}
	var cells [24][200]bool // of the grid that are in use
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: its id is used twice, or it has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if cells[x][y] {
					t.Fatalf("%q overlaps another panel at %d, %d", p.Title, x, y)
				}
				cells[x][y] = true
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource == nil || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%q has no target, or another data source", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || target.RefID == "" {
				t.Errorf("%q: a target has another data source", p.Title)
			}
			queries = append(queries, target.Expr)
		}
	}
	wantQueries(t, queries)
}

// wantQueries checks the names and labels in queries.
func wantQueries(t *testing.T, queries []string) {
	all := registered(t)
	shown := map[string]bool{}
	selector := regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	grouping := regexp.MustCompile(`by \(([a-z, ]*)\)`)
	label := regexp.MustCompile(`([a-z]+)(?:=|!)`)
	for _, query := range queries {
		if strings.Count(query, "(") != strings.Count(query, ")") || strings.Count(query, "{") != strings.Count(query, "}") ||
			strings.Count(query, `"`)%2 != 0 {
			t.Errorf("%s: the brackets do not match", query)
		}
		for _, name := range metricName.FindAllString(query, -1) {
			labels := known(all, name)
			if labels == nil {
				t.Errorf("%s: %s is not registered", query, name)
			}
			for _, by := range grouping.FindAllStringSubmatch(query, -1) {
				for l := range strings.SplitSeq(by[1], ", ") {
					if !slices.Contains(labels, l) {
						t.Errorf("%s: %s has no label %s", query, name, l)
					}
				}
			}
			for _, part := range []string{"", "_bucket", "_sum", "_count"} {
				shown[strings.TrimSuffix(name, part)] = true
			}
		}
		for _, s := range selector.FindAllStringSubmatch(query, -1) {
			if !strings.Contains(s[2], `job=~"$job"`) {
				t.Errorf("%s: %s does not select the job", query, s[1])
			}
			for _, l := range label.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(known(all, s[1]), l[1]) {
					t.Errorf("%s: %s has no label %s", query, s[1], l[1])
				}
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "carrel_") && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}
