package library

import (
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// TestNextMember_MembershipBeginsAnew: a change reports in RemovedFrom only buckets in which the
// item was while its principal was a member.
func TestNextMember_MembershipBeginsAnew(t *testing.T) {
	// The item was PUBLIC for a while, up to 40, and is PRIVATE now.
	h := &Header{
		Content: Content{ID: "c:t:a", Visibility: principal.Private}, State: commit.Live, Seq: 5, MTS: 50, Position: 45,
		Widest:    principal.Private,
		Unsettled: []Superseded{{Position: 20, Widest: principal.Public}}, PublicUntil: 40, LoggedInUntil: 40,
	}
	all := Buckets(0).With(principal.Private).With(principal.LoggedIn).With(principal.Public)
	narrow := Buckets(0).With(principal.Private)
	for _, tc := range []struct {
		name        string
		before      Member
		role        ContentRole
		wantSince   clock.Instant
		wantRemoved Buckets
	}{
		{"was no member", Member{}, Viewing, 50, 0},
		{"was a member throughout", Member{Role: Viewing, Seq: 2, Since: 10}, Editing, 10, all &^ narrow},
		{"member since it was PRIVATE again", Member{Role: Viewing, Seq: 4, Since: 45}, Editing, 45, 0},
		{"removed before it was PUBLIC and is added again", Member{Role: Viewing, Leaving: true, Seq: 2, Since: 10, RemovedFrom: narrow},
			Viewing, 50, 0},
		{"removed while it was PUBLIC and is added again", Member{Role: Viewing, Leaving: true, Seq: 3, Since: 10, RemovedFrom: all},
			Viewing, 50, all &^ narrow},
		{"was a member throughout and leaves", Member{Role: Viewing, Seq: 2, Since: 10}, NoRole, 10, all},
		{"member since it was PRIVATE again, and leaves", Member{Role: Viewing, Seq: 4, Since: 45}, NoRole, 45, narrow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.before.Principal = "u:t:ben"
			row := h.nextMember(tc.before, tc.role)
			if row.Since != tc.wantSince {
				t.Errorf("a member since %d, want %d", row.Since, tc.wantSince)
			}
			if removed := h.RemovedFrom(row); removed != tc.wantRemoved {
				t.Errorf("the item was removed from %b, want %b", removed, tc.wantRemoved)
			}
			if row.Leaving != (tc.role == NoRole) || row.Seq != h.Seq {
				t.Errorf("the row: %+v", row)
			}
		})
	}
}
