package library

import "testing"

// TestGrants_FormerMembersHaveNoRole: a former member that gets back the role in its row is granted it.
func TestGrants_FormerMembersHaveNoRole(t *testing.T) {
	for name, c := range map[string]struct {
		before Member
		to     ContentRole
		grants bool
	}{
		"a new member":            {Member{}, Viewing, true},
		"a former member":         {Member{Role: Manages, Seq: 1, Leaving: true}, Viewing, true},
		"a former member, absent": {Member{Role: Manages, Seq: 1, Leaving: true}, NoRole, false},
		"stronger":                {Member{Role: Viewing, Seq: 1}, Editing, true},
		"the same":                {Member{Role: Viewing, Seq: 1}, Viewing, false},
		"weaker":                  {Member{Role: Manages, Seq: 1}, Viewing, false},
		"removed":                 {Member{Role: Manages, Seq: 1}, NoRole, false},
	} {
		others := []Member{{Role: Manages, Seq: 1}, c.before, {Role: Manages, Seq: 1}}
		if got := grants(others, []ContentRole{NoRole, c.to, Viewing}); got != c.grants {
			t.Errorf("%s: %t", name, got)
		}
	}
}
