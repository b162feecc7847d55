package library

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/principal"
)

func TestCauses_OfMergedChangesAreTheLastOfEachLibrary(t *testing.T) {
	update, deletion := Causes{All: Cause{ReasonUpdated, "u:t:ed"}, LastModified: 5}, Causes{All: Cause{ReasonDeleted, "u:t:ann"}}
	share := Causes{Of: map[principal.ID]Cause{"u:t:a": {ReasonShared, "u:t:ann"}}}
	other := Causes{Of: map[principal.ID]Cause{"u:t:a": {ReasonRole, "u:t:bob"}, "u:t:b": {ReasonRemoved, "u:t:bob"}}}
	for name, c := range map[string]struct{ first, second, want Causes }{
		"a share after an update":    {update, share, Causes{All: update.All, Of: share.Of, LastModified: 5}},
		"an update after a share":    {share, update, update},
		"a deletion after an update": {update, deletion, deletion},
		"two changes of roles":       {share, other, other},
		"two changes of roles, the other way": {other, share,
			Causes{Of: map[principal.ID]Cause{"u:t:a": share.Of["u:t:a"], "u:t:b": other.Of["u:t:b"]}}},
		"a change that is not known": {share, Causes{}, share},
	} {
		t.Run(name, func(t *testing.T) {
			first := len(c.first.Of)
			if diff := cmp.Diff(c.want, c.first.then(c.second)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(c.first.Of) != first {
				t.Error("then changed the map of the first causes, which another walk may use")
			}
		})
	}
}

// TestCause_FitsTheRow: a snapshot may be of a later state than the change. If the cause does not
// fit that state, it is not written.
func TestCause_FitsTheRow(t *testing.T) {
	active, leaving := Member{Principal: "u:t:a", Seq: 1}, Member{Principal: "u:t:a", Seq: 1, Leaving: true}
	for _, c := range []struct {
		reason ChangeReason
		row    Member
		state  commit.State
		known  bool
	}{
		{ReasonShared, active, commit.Live, true}, {ReasonShared, leaving, commit.Live, false}, {ReasonShared, active, commit.Deleted, false},
		{ReasonUpdated, active, commit.Live, true}, {ReasonUpdated, leaving, commit.Live, false}, {ReasonRevised, active, commit.Deleted, false},
		{ReasonRemoved, leaving, commit.Live, true}, {ReasonRemoved, active, commit.Live, false}, {ReasonRemoved, leaving, commit.Deleted, false},
		{ReasonDeleted, active, commit.Deleted, true}, {ReasonDeleted, active, commit.Live, false},
		{ReasonDeleted, leaving, commit.Deleted, false},
		{ReasonExpired, active, commit.Deleted, true}, {ReasonExpired, leaving, commit.Deleted, false},
	} {
		e := &IndexUpdate{Header: &Header{State: commit.Live}, Causes: reasonForAll(c.reason)}
		if got := e.cause(&Header{State: c.state}, c.row); got.Reason == c.reason != c.known {
			t.Errorf("%s of a row %+v in state %d: %+v", c.reason, c.row, c.state, got)
		}
	}
}

func TestSharedBy_IsTheLatestSuccessfulShare(t *testing.T) {
	job := func(user principal.ID, named ...principal.ID) *shareJob {
		return &shareJob{contentChange: contentChange{v: &principal.Viewer{User: user}, named: named}}
	}
	refused := job("u:t:eve", "u:t:a")
	refused.err = context.Canceled
	batch := []*shareJob{job("u:t:ann", "u:t:a", "u:t:b"), job("u:t:bob", "u:t:a"), refused}
	for p, want := range map[principal.ID]principal.ID{"u:t:a": "u:t:bob", "u:t:b": "u:t:ann", "u:t:c": ""} {
		if got := sharedBy(batch, p); got != want {
			t.Errorf("the share with %s is attributed to %q, want %q", p, got, want)
		}
	}
}
