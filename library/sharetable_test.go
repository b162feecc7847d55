package library

import (
	"testing"

	"carrel/principal"
)

// TestShareTable_WithdrawnShareIsNotTaken: once the caller of a share got the answer that it was
// not made, no other job commits the share, even if it is still in the table.
func TestShareTable_WithdrawnShareIsNotTaken(t *testing.T) {
	table := &shareTable{waiting: map[ContentID][]*shareJob{}}
	share := func(with principal.ID) *shareJob {
		return &shareJob{contentChange: contentChange{id: "c:t:a", named: []principal.ID{with}}}
	}
	gaveUp, lead := share("u:t:ben"), share("u:t:ann")
	table.add(gaveUp)
	table.add(lead)
	if !table.withdraw(gaveUp) {
		t.Fatal("no job has taken it yet")
	}
	if batch := table.take(lead, nil); len(batch) != 1 || batch[0] != lead {
		t.Errorf("%d shares are in the batch, want the one that did not give up", len(batch))
	}
	if batch := table.take(gaveUp, nil); batch != nil {
		t.Error("a share that was withdrawn leads a batch")
	}
	if table.withdraw(lead) {
		t.Error("a share that was taken can be withdrawn")
	}
}
