package cassandra

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
	"carrel/principal"
)

// TestRepair_RestoresAllDerivedRows: everything that was truncated is restored from the authoritative
// rows alone, and so are libraries and records of what was shared that were deleted.
func TestRepair_RestoresAllDerivedRows(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.seed(9)
	before := d.everything()
	for _, c := range []struct {
		name string
		do   func(d *fixture)
	}{
		{"truncated", func(d *fixture) {
			for _, table := range []string{"library_by_principal", "content_by_principal", "groups_by_member", "principal_names"} {
				d.byHand("TRUNCATE " + table)
			}
		}},
		{"libraries and records deleted", func(d *fixture) {
			for _, p := range []principal.ID{ann, bob, crew} {
				d.byHand("DELETE FROM library_by_principal WHERE principal_id = ?", string(p))
				d.byHand("DELETE FROM content_by_principal WHERE principal_id = ?", string(p))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := d.in(t)
			c.do(d)
			r, err := d.svc.Repair.RebuildAll(t.Context(), func(int, int) {})
			if err != nil || r.Repaired == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, p := range []principal.ID{ann, bob, crew} {
				built, err := d.store.Libraries.Built(t.Context(), p, library.ByChange)
				d.ok(err)
				recorded, err := d.store.Libraries.Recorded(t.Context(), p)
				d.ok(err)
				if !built || !recorded {
					t.Errorf("%s: built %v, recorded %v", p, built, recorded)
				}
			}
			d.wantClean()
			if diff := cmp.Diff(before, d.everything()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}
