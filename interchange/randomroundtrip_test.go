//go:build !race

package interchange_test

import (
	"strings"
	"testing"

	"carrel/test/oracle"
)

func TestRoundTrip_RandomStoresStayTheSame(t *testing.T) {
	groups, memberLines, contents := 0, 0, 0
	oracle.Run(t, func(t *testing.T) oracle.Opened {
		store := emptyStore(t)
		return oracle.Opened{Store: store.Store, Done: func() {
			// Random operations run in the future, and an import accepts only times in the past.
			var last newest
			if err := serviceAt(t, store.Store, 0).Exchange.Export(t.Context(), last.line); err != nil {
				t.Fatal(err)
			}
			file := wantRoundTrip(t, store.Store, last.at+1)
			groups += strings.Count(file, `{"type":"group"`)
			contents += strings.Count(file, `{"type":"content"`)
			memberLines += strings.Count(file, `{"type":"members"`)
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}}
	})
	if groups == 0 || memberLines == 0 || contents == 0 {
		t.Errorf("the random operations made too few objects: %d groups, %d lines of members, %d contents", groups, memberLines, contents)
	}
}
