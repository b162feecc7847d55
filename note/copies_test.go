package note

import "testing"

// A copied revision is the first one of its locale in the new branch: it has no base and no
// suggestion.
func TestBranch_CopiesHaveNoBaseAndNoSuggestion(t *testing.T) {
	e := &edit{head: newHead}
	row := revisionRow{Title: "T", Text: text{Body: "b", Size: 1}, Author: "u:t:a", CreatedAt: 3, Base: 4, Suggestion: someText.String()}
	if _, err := e.branch(branchRow{CreatedAt: 9, CopiedFrom: 1}, []copied{{"en", row}}); err != nil {
		t.Fatal(err)
	}
	got, err := decodeRevision(e.rows[2].Value)
	want := revisionRow{Title: "T", Text: row.Text, Author: "u:t:a", CreatedAt: 9, Base: None}
	if err != nil || got != want {
		t.Errorf("the copy is %+v, %v, want %+v", got, err, want)
	}
}
