package library

import (
	"testing"

	"carrel/principal"
)

// TestShareTable_CancelledShareIsNotCarried: a share whose caller got the answer that it is not
// made is not made by others later, even if they look before the caller has removed it from the
// table.
func TestShareTable_CancelledShareIsNotCarried(t *testing.T) {
	table := &shareTable{waiting: map[ContentID][]*shareJob{}}
	share := func(with principal.ID) *shareJob {
		return &shareJob{contentChange: contentChange{id: "c:t:a", named: []principal.ID{with}}}
	}
	gaveUp, lead := share("u:t:ben"), share("u:t:ann")
	table.wait(gaveUp)
	table.wait(lead)
	if table.isTaken(gaveUp) {
		t.Fatal("no job has taken it yet")
	}
	if batch := table.take(lead, nil); len(batch) != 1 || batch[0] != lead {
		t.Errorf("%d shares are carried, want the one that did not give up", len(batch))
	}
	if batch := table.take(gaveUp, nil); batch != nil {
		t.Error("it is carried by its own turn after all")
	}
	if !table.isTaken(lead) {
		t.Error("a share that is carried is reported as given up")
	}
}
