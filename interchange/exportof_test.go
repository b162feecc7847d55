package interchange

import (
	"testing"

	"carrel/exchange"
	"carrel/paste"
	"carrel/principal"
)

func TestAuthor_OfEachType(t *testing.T) {
	const ann = "u:demo:ann"
	for _, l := range []exchange.Line{
		{Type: exchange.TypeUser, User: &principal.ImportUser{ID: ann}},
		{Type: exchange.TypeBranch, Branch: &exchange.ImportBranch{Content: "c", CreatedBy: ann}},
		{Type: exchange.TypeRevision, Revision: &exchange.ImportRevision{Content: "c", Author: ann}},
		{Type: exchange.TypeSuggestion, Suggestion: &exchange.ImportSuggestion{Content: "c", Author: ann}},
		{Type: exchange.TypeDraft, Draft: &exchange.ImportDraft{Content: "c", Author: ann}},
		{Type: exchange.TypePaste, Paste: &paste.Import{ID: "p", Author: ptr(string(ann))}},
	} {
		if got := author(&l); got != ann {
			t.Errorf("%s: the author is %q", l.Type, got)
		}
	}
	if got := author(&exchange.Line{Type: exchange.TypePaste, Paste: &paste.Import{ID: "p"}}); got != "" {
		t.Errorf("the author of an anonymous paste is %q", got)
	}
}
