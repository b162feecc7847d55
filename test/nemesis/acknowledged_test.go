package nemesis

import (
	"testing"

	"carrel/principal"
)

// TestMembership_AcknowledgedIsEffective stops a process after it has decided that a user joins a
// group, before it updates what is derived from the membership. From the first acknowledgement on,
// even one that another process gives to the same idempotency key, the user must be a member,
// although nobody has finished the change.
func TestMembership_AcknowledgedIsEffective(t *testing.T) {
	t.Parallel()
	r := newFixture(t)
	defer r.healthy.close(t)
	for _, c := range []struct {
		name, group string
		step        step
		fault       faultKind
	}{
		{"the process dies after it has decided", "g:acme:died", stepDecide, dieAfter},
		{"too few nodes for what is derived", "g:acme:few", stepApply, refuseAll},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := createGroup(t.Context(), r.healthy.service, c.group, nil); err != nil {
				t.Fatal(err)
			}
			p := newProxy(t, r.host)
			d := openInstance(t, r.options(p.address), 0, everyRule)
			p.arm(groups.table, c.step, c.fault)
			join := func(d *instance) error {
				key := c.group
				return setMember(t.Context(), d.service, c.group, second, principal.GroupMember, &key)
			}
			err := join(d)
			t.Logf("the first answer: %v", err)
			if p.disarm() == 0 && c.fault != dieAfter {
				t.Error("the fault hit no statement")
			}
			if err != nil {
				d.close(t)
				if err := join(r.healthy); err != nil {
					t.Fatal(err)
				}
			} else {
				defer d.close(t)
			}
			role, err := r.healthy.service.People.GroupRoleOf(t.Context(), &principal.Viewer{User: second}, principal.ID(c.group))
			if err != nil || role != principal.GroupMember {
				t.Errorf("the member was acknowledged, but its role is %d (error: %v)", role, err)
			}
		})
	}
}
