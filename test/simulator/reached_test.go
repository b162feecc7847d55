//go:build !race

package simulator

import (
	"testing"
)

// TestCopies_AreReached: pages are served from copies, and copies are refused.
func TestCopies_AreReached(t *testing.T) {
	m := NewMachine()
	defer m.Close()
	for seed := uint64(copiesFrom); seed < copiesFrom+sample; seed++ {
		for _, v := range m.Play(t.Context(), seed) {
			t.Fatal(v.Error())
		}
	}
	for what, least := range map[string]int{
		"copy served": 800, "copy refused": 200, "no copy": 1000, "updateTitle done": 400, "updateVisibility done": 300,
		"copy of a principal served": 3000, "copy of a principal refused": 400, "updateUser done": 300, "deleteUser done": 50,
		"setExpiry done": 100, "setMembers done": 200, "remove done": 50, "delete done": 100, "page with an expired item to hide": 5,
		"move of a hot item after another": 30, "walk descending forward": 600, "walk ascending forward": 300,
		"walk ascending forward by title": 200,
	} {
		if m.Reached[what] < least {
			t.Errorf("%s: %d times in %d schedules, want at least %d", what, m.Reached[what], sample, least)
		}
	}
	t.Log(m.Reached)
}

// TestWorld_IsReached: everything that the world is said to contain happens in it, often enough to
// find a bug in it.
func TestWorld_IsReached(t *testing.T) {
	m := NewMachine()
	defer m.Close()
	for seed := uint64(1); seed <= sample; seed++ {
		for _, v := range m.Play(t.Context(), seed) {
			t.Fatal(v.Error())
		}
	}
	for what, least := range map[string]int{
		"moveContent done":                  100,
		"updateEmail done":                  80,
		"deleteUser done":                   20,
		"acquireLease done":                 100,
		"confirmLease done":                 20,
		"cancelLease done":                  20,
		"lease done":                        20,
		"isKeyAvailable done":               20,
		"refused TAKEN":                     50,
		"saveRevision done":                 100,
		"publishRevision done":              10,
		"createBranch done":                 5,
		"setCurrentBranch done":             5,
		"suggestRevision done":              20,
		"decideSuggestion done":             10,
		"revision done":                     20,
		"refused REVISION_CONFLICT":         10,
		"refused EXPIRED":                   10,
		"refused CANCELLED":                 10,
		"refused CONFIRMED":                 10,
		"refused IDEMPOTENCY_MISMATCH":      2,
		"a call given up":                   20,
		"nested groups":                     100,
		"share with several done":           20,
		"share by a reader done":            20,
		"expectedVersion met":               5,
		"refused CONFLICT":                  20,
		"refused FORBIDDEN":                 100,
		"refused NOT_FOUND":                 20,
		"refused LAST_MANAGER":              1,
		"refused UNAVAILABLE":               20,
		"ann has ceased to manage an item":  10,
		"import done":                       10,
		"importMembers done":                10,
		"walk ascending forward":            50,
		"walk ascending backward":           30,
		"walk descending forward":           50,
		"walk descending backward":          30,
		"walk ascending forward by title":   25,
		"walk ascending backward by title":  25,
		"walk descending forward by title":  25,
		"walk descending backward by title": 25,
		"walk with a filter":                20,
		"walk with includeShared":           20,
		"walk with count":                   10,
		"walk of an administrator":          20,
		"walk that goes on after its end":   10,
		"page with an expired item to hide": 1,
		"copy":                              5,
		"move of a hot item after another":  10,
	} {
		if m.Reached[what] < least {
			t.Errorf("%s: %d times in %d schedules, want at least %d", what, m.Reached[what], sample, least)
		}
	}
	t.Log(m.Reached)
}
