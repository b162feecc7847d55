package nemesis

import (
	"testing"

	"carrel/principal"
)

// TestWhoIsAcknowledgedAsAMemberIsOne: a process decides that somebody joins a
// group, and does not get to what is derived from that. From the first answer that
// acknowledges it on, be it another process's to the same key, the member must be
// one, though nobody has finished yet what was left.
func TestWhoIsAcknowledgedAsAMemberIsOne(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	defer r.whole.close(t)
	for _, c := range []struct {
		name, group string
		step        step
		fault       faultKind
	}{
		{"the process dies after it has decided", "g:acme:died", stepDecide, dieAfter},
		{"too few nodes for what is derived", "g:acme:few", stepEnforce, refuseAll},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := createGroup(t.Context(), r.whole.service, c.group, nil); err != nil {
				t.Fatal(err)
			}
			p := newProxy(t, r.host)
			d := openDoor(t, r.options(p.address), 0, everyRule)
			p.arm(groups.table, c.step, c.fault)
			join := func(d *door) error {
				key := c.group
				return setMember(t.Context(), d.service, c.group, second, principal.GroupMember, &key)
			}
			err := join(d)
			t.Logf("the first answer: %v", err)
			if p.disarm() == 0 && c.fault != dieAfter {
				t.Error("no statement met the fault")
			}
			if err != nil {
				d.close(t)
				if err := join(r.whole); err != nil {
					t.Fatal(err)
				}
			} else {
				defer d.close(t)
			}
			role, err := r.whole.service.GroupRoleOf(t.Context(), &principal.Viewer{User: second}, principal.ID(c.group))
			if err != nil || role != principal.GroupMember {
				t.Errorf("the member is acknowledged, and its role is %d, %v", role, err)
			}
		})
	}
}
