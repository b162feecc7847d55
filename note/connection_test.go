package note_test

import (
	"fmt"
	"testing"

	"carrel/core/cursor"
	"carrel/domain/domaintest"
	"carrel/note"
)

// TestConnection_EndsWithoutNodes: the cursors of a page that shows nothing, or stops early, are the
// positions to continue from.
func TestConnection_EndsWithoutNodes(t *testing.T) {
	seals := domaintest.Staff(t, nil).Library.Seals
	for _, c := range []struct {
		after, resume string
		nodes         []string
		want          string
	}{
		{want: "none to none"},
		{after: "a", want: "a to a"},
		{resume: "r", want: "r to r"},
		{after: "a", resume: "r", want: "a to r"},
		{after: "a", resume: "r", nodes: []string{"m", "n"}, want: "m to r"},
		{after: "a", nodes: []string{"m", "n"}, want: "m to n"},
	} {
		info := note.Connect(seals, c.after, c.nodes, c.resume)
		position := func(text *string) string {
			if text == nil {
				return "none"
			}
			p, err := seals.Open(nil, cursor.AnyOrder, *text)
			if err != nil {
				t.Fatal(err)
			}
			return p.ID
		}
		if got := fmt.Sprintf("%s to %s", position(info.StartCursor()), position(info.EndCursor())); got != c.want {
			t.Errorf("%+v: the page is from %s, want %s", c, got, c.want)
		}
	}
}
