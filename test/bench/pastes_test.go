package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestPasteSizes_EndWithTheLargest(t *testing.T) {
	for _, c := range []struct {
		largest int
		want    []int
	}{
		{1_000_000, []int{1_000, 100_000, 1_000_000}},
		{100_001, []int{1_000, 100_000, 100_001}},
		{100_000, []int{1_000, 100_000}},
		{20_000, []int{1_000, 20_000}},
	} {
		if got := pasteSizes(c.largest); !slices.Equal(got, c.want) {
			t.Errorf("up to %d: %v, want %v", c.largest, got, c.want)
		}
	}
}

// TestPrintSizes_ExtrapolatesToManyPastes checks the sizes of the embedded store, which has one
// partition for each day.
func TestPrintSizes_ExtrapolatesToManyPastes(t *testing.T) {
	o := &options{dir: t.TempDir()}
	g, err := o.pasteStore(t.Context(), "pastes", 2*pasteDays)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}()
	var out bytes.Buffer
	if err := g.printSizes(t.Context(), &table{out: &out}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"The partitions of 60 pastes over 30 days", "partitions, one a day 30", "entries in the largest 2, about 0.0 MB",
		"in each with 10000000 pastes, calculated 333333, about 24.3 MB",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
