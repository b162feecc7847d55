package library

import (
	"testing"

	"carrel/principal"
)

// TestCauses_KnowWhoMakesTheChange: index updates are accounted to the actor, also of fan-outs that run together.
func TestCauses_KnowWhoMakesTheChange(t *testing.T) {
	by := func(user principal.ID, c Causes) Causes {
		c.madeBy(user, func(principal.ID) principal.ID { return user })
		return c
	}
	update := by("u:acme:ann", reasonForAll(ReasonUpdated))
	share := by("u:acme:bob", Causes{Of: map[principal.ID]Cause{"u:acme:cat": {Reason: ReasonShared}}})
	for name, c := range map[string]struct {
		causes Causes
		want   principal.ID
	}{
		"one": {update, "u:acme:ann"}, "a share later": {update.then(share), "u:acme:bob"}, "an update later": {share.then(update), "u:acme:ann"},
		"a change without causes later": {update.then(Causes{By: "u:acme:dan"}), "u:acme:dan"}, "nobody": {reasonForAll(ReasonExpired), ""},
	} {
		if c.causes.By != c.want {
			t.Errorf("%s: %q, want %q", name, c.causes.By, c.want)
		}
	}
}
