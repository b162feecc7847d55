package cassandra

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
	"carrel/principal"
)

// TestRepair_RestoresAllDerivedRows: everything is restored from the authoritative rows alone,
// however it was deleted.
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
		{"deleted", func(d *fixture) {
			for _, p := range []principal.ID{ann, bob, crew} {
				d.byHand("DELETE FROM library_by_principal WHERE principal_id = ?", string(p))
				d.byHand("DELETE FROM content_by_principal WHERE principal_id = ?", string(p))
				d.byHand("DELETE FROM groups_by_member WHERE member_id = ?", string(p))
				for shard := range directoryShards {
					for _, initial := range []string{"", p.Name()[:1]} {
						d.byHand("DELETE FROM principal_names WHERE tenant = 't' AND initial = ? AND shard = ?", initial, int8(shard))
					}
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := d.in(t)
			c.do(d)
			r, err := d.svc.RebuildAll(t.Context(), func(int, int) {})
			if err != nil || r.Repaired == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, p := range []principal.ID{ann, bob, crew} {
				built, err := d.store.Built(t.Context(), p)
				d.ok(err)
				recorded, err := d.store.Recorded(t.Context(), p)
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

// TestReaders_RemoveWrongRows: the repair that a reader requests removes the wrong row that it
// found, whatever the row's timestamp is.
func TestReaders_RemoveWrongRows(t *testing.T) {
	d := newFixture(t)
	d.seed(3)
	d.byHand(`INSERT INTO library_by_principal (principal_id, bucket, position, content_id, mts, role) VALUES (?, 1, 17, 'c:t:000', 5, 1)`, string(bob))
	e := library.BucketEntry{Bucket: principal.Private, Entry: library.Entry{Position: 17, Content: "c:t:000", MTS: 5, Role: library.Viewing}}
	d.ok(d.svc.RepairEntry(t.Context(), bob, e))
	d.wantClean()
}
