package nemesis

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// gatewaysDefault as the value of -header-cache leaves the size of the cache to the gateways.
const gatewaysDefault = -1

var headerCacheFlag = flag.Int("header-cache", gatewaysDefault,
	"how many copies of headers each gateway of TestNemesis keeps; 0: none; -1: as many as without the flag --header-cache")

// headerCache returns the flags of the gateways for a value of -header-cache.
func headerCache(size int) []string {
	if size == gatewaysDefault {
		return nil
	}
	return []string{fmt.Sprintf("--header-cache=%d", size)}
}

// copyCounts are what copies of headers did in one gateway, or in several.
type copyCounts struct {
	hits, lookups int // of entries of pages while copies were in use
	wrong         int // copies that were served and not current
	inUse         int // gateways that used copies when they were asked
}

func (c *copyCounts) add(o copyCounts) {
	c.hits += o.hits
	c.lookups += o.lookups
	c.wrong += o.wrong
	c.inUse += o.inUse
}

func (c copyCounts) String() string {
	return fmt.Sprintf("header copies: %d hits in %d look-ups", c.hits, c.lookups)
}

// Metrics of the header cache. Those of look-ups do not exist before the first one.
const (
	lookupsMetric = "carrel_header_copies_total{"
	hitsMetric    = `carrel_header_copies_total{outcome="hit"}`
	wrongMetric   = "carrel_header_copies_wrong_total"
	inUseMetric   = "carrel_header_copies_in_use"
)

// readCopyCounts reads metrics in the format of Prometheus. cached says that the gateway has a
// header cache.
func readCopyCounts(metrics io.Reader, cached bool) (c copyCounts, err error) {
	values := map[string]int{}
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(name, lookupsMetric) && name != wrongMetric && name != inUseMetric {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c, fmt.Errorf("the metric %s: %w", name, err)
		}
		values[name] = int(value)
		if strings.HasPrefix(name, lookupsMetric) {
			c.lookups += int(value)
		}
	}
	_, counts := values[wrongMetric]
	if _, caches := values[inUseMetric]; !counts || caches != cached {
		return c, fmt.Errorf("wrong metrics of a gateway that has a header cache: %t: %v", cached, values)
	}
	c.hits, c.wrong, c.inUse = values[hitsMetric], values[wrongMetric], values[inUseMetric]
	return c, lines.Err()
}

// copyCounts reads the metrics of the gateway.
func (p *process) copyCounts(cached bool) (c copyCounts, err error) {
	res, err := p.site.client.Get(p.adminAddress() + "/metrics")
	if err != nil {
		return c, fmt.Errorf("reading the metrics of the gateway %s: %w", p.name, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return c, fmt.Errorf("reading the metrics of the gateway %s: %s", p.name, res.Status)
	}
	return readCopyCounts(res.Body, cached)
}

// countCopies adds what copies have done in a gateway since it was started.
func (n *nemesis) countCopies(g *process) error {
	c, err := g.copyCounts(*headerCacheFlag != 0)
	if err != nil {
		return err
	}
	n.t.Logf("gateway %s: %s, copies are in use: %t", g.name, c, c.inUse > 0)
	n.copies.add(c)
	return nil
}

// end ends a gateway, after it has counted what copies did in it.
func (n *nemesis) end(g *process, with syscall.Signal) error {
	return errors.Join(n.countCopies(g), g.end(with))
}

// check returns an error if a copy was served that was not current, or if none was served although
// some must be. A run of one round may end before a gateway has enough look-ups to use its copies.
func (c copyCounts) check(mustServe bool) error {
	switch {
	case c.wrong > 0:
		return fmt.Errorf("%d gateways have served copies of headers that were not current", c.wrong)
	case mustServe && c.hits == 0:
		return fmt.Errorf("the gateways keep copies of headers and have served none: %s", c)
	}
	return nil
}

// TestCopyCounts_WrongOrUnusedCopiesFailTheRun checks the counts of a whole run.
func TestCopyCounts_WrongOrUnusedCopiesFailTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		counts    copyCounts
		mustServe bool
		fails     bool
	}{
		"served":                       {copyCounts{hits: 1, lookups: 2}, true, false},
		"none served":                  {copyCounts{lookups: 2, inUse: 1}, true, true},
		"none served in a short run":   {copyCounts{}, false, false},
		"one was not current":          {copyCounts{hits: 1, lookups: 2, wrong: 1}, true, true},
		"one, in a run without copies": {copyCounts{wrong: 1}, false, true},
	} {
		if err := c.counts.check(c.mustServe); (err != nil) != c.fails {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestReadCopyCounts_SumsLookups reads metrics as gateways serve them.
func TestReadCopyCounts_SumsLookups(t *testing.T) {
	const (
		head   = "# HELP carrel_header_copies Cached headers.\ncarrel_header_copies 17\n"
		counts = `carrel_header_copies_total{outcome="hit"} 40` + "\n" + `carrel_header_copies_total{outcome="miss"} 1.2e+06` + "\n" +
			`carrel_header_copies_total{outcome="refused"} 3` + "\n" + `carrel_principal_copies_total{outcome="hit"} 5` + "\n"
		right, used, unused = "carrel_header_copies_wrong_total 1\n", "carrel_header_copies_in_use 1\n", "carrel_header_copies_in_use 0\n"
	)
	for name, c := range map[string]struct {
		text   string
		cached bool
		want   *copyCounts // nil: an error
	}{
		"in use":                     {head + used + counts + right, true, &copyCounts{40, 1_200_043, 1, 1}},
		"kept, but not in use yet":   {head + unused + right, true, &copyCounts{wrong: 1}},
		"without a cache":            {right, false, &copyCounts{wrong: 1}},
		"a cache that must not be":   {head + used + counts + right, false, nil},
		"no cache, where one should": {counts + right, true, nil},
		"no metrics":                 {"", false, nil},
		"not a number":               {used + `carrel_header_copies_total{outcome="hit"} many` + "\n" + right, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readCopyCounts(strings.NewReader(c.text), c.cached)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("the error is %v", err)
			}
			if c.want != nil && got != *c.want {
				t.Errorf("%+v, want %+v", got, *c.want)
			}
		})
	}
}
