package library_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// keyedCall is one keyed mutation of principals, with two inputs.
type keyedCall struct {
	name string
	call func(h *house, v *principal.Viewer, key string, other bool) (shown bool, err error)
	id   string // of the partition that it writes
}

func keyedCalls() []keyedCall {
	pick := func(other bool, a, b string) string {
		if other {
			return b
		}
		return a
	}
	return []keyedCall{
		{"createUser", func(h *house, v *principal.Viewer, key string, other bool) (bool, error) {
			u, err := h.svc.CreateUser(h.t.Context(), v, principal.CreateUser{Tenant: "acme", Name: "new", DisplayName: pick(other, "N", "M"), Email: "n@example.com", Visibility: principal.Public, IdempotencyKey: &key})
			return u != nil, err
		}, "u:acme:new"},
		{"updateUser", func(h *house, v *principal.Viewer, key string, other bool) (bool, error) {
			u, err := h.svc.UpdateUser(h.t.Context(), v, principal.UpdateUser{ID: "u:acme:bob", DisplayName: input.Some(ptr(pick(other, "N", "M"))), IdempotencyKey: &key})
			return u != nil, err
		}, "u:acme:bob"},
		{"createGroup", func(h *house, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.svc.CreateGroup(h.t.Context(), v, principal.CreateGroup{Tenant: "acme", Name: "new", DisplayName: pick(other, "N", "M"), Visibility: principal.Public, IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:new"},
		{"updateGroup", func(h *house, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.svc.UpdateGroup(h.t.Context(), v, principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some(ptr(pick(other, "N", "M"))), IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:staff"},
		{"setGroupMembers", func(h *house, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.svc.SetGroupMembers(h.t.Context(), v, principal.SetGroupMembers{Group: "g:acme:staff", Members: []principal.GroupMemberChange{memberChange("u:acme:dan=" + pick(other, "MEMBER", "MANAGER"))}, IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:staff"},
	}
}

func TestRepetitions(t *testing.T) {
	for _, c := range keyedCalls() {
		t.Run(c.name, func(t *testing.T) {
			h := staffHouse(t, nil)
			h.user("u:acme:adm", principal.Public)
			who := func() *principal.Viewer { return admin("u:acme:adm") }
			shown, err := c.call(h, who(), "key", false)
			if wantTold(t, err); !shown {
				t.Fatal("nothing is answered")
			}
			first := h.header(c.id)
			for range 2 {
				shown, err = c.call(h, who(), "key", false)
				if wantTold(t, err); !shown {
					t.Fatal("nothing is answered to the repetition")
				}
			}
			if diff := cmp.Diff(first, h.header(c.id)); diff != "" {
				t.Errorf("the repetition changed:\n%s", diff)
			}
			_, err = c.call(h, who(), "key", true)
			wantTold(t, err, "IDEMPOTENCY_MISMATCH")
			if diff := cmp.Diff(first, h.header(c.id)); diff != "" {
				t.Errorf("the mismatch changed:\n%s", diff)
			}
			// Another viewer's key is another key, and so is another key.
			if c.name == "createUser" || c.name == "createGroup" {
				_, err = c.call(h, who(), "key2", true)
				wantTold(t, err, "TAKEN name")
				_, err = c.call(h, global("u:acme:ann"), "key", true)
				wantTold(t, err, "TAKEN name")
				return
			}
			_, err = c.call(h, global("u:acme:ann"), "key", true)
			wantTold(t, err)
			_, err = c.call(h, who(), "key2", false)
			wantTold(t, err)
			if got := h.header(c.id).Seq; got != first.Seq+2 {
				t.Errorf("two further requests led from seq %d to %d", first.Seq, got)
			}
		})
	}
}

// TestRepetitionAfterRights sees that a repetition has the first outcome though
// the actor may do it no more, but no sight of what is out of its sight.
func TestRepetitionAfterRights(t *testing.T) {
	h := staffHouse(t, nil)
	leave := principal.SetGroupMembers{Group: "g:acme:secret", Members: []principal.GroupMemberChange{memberChange("u:acme:dan="), memberChange("u:acme:cat=MANAGER")}, IdempotencyKey: ptr("k")}
	for n := range 2 {
		got, err := h.svc.SetGroupMembers(t.Context(), as("u:acme:dan"), leave)
		if err != nil || got != nil {
			t.Fatalf("call %d: answered %+v, %v", n, got, err)
		}
	}
	in := principal.CreateUser{Tenant: "acme", Name: "new", DisplayName: "N", Email: "n@example.com", Visibility: principal.Private, IdempotencyKey: ptr("k")}
	if got, err := h.svc.CreateUser(t.Context(), admin("u:acme:bob"), in); err != nil || got == nil {
		t.Fatalf("answered %+v, %v", got, err)
	}
	if got, err := h.svc.CreateUser(t.Context(), as("u:acme:bob"), in); err != nil || got != nil {
		t.Fatalf("once no administrator any more: answered %+v, %v", got, err)
	}
}

// TestKeyedWithoutChange sees that a request that changes nothing is
// remembered all the same.
func TestKeyedWithoutChange(t *testing.T) {
	h := staffHouse(t, nil)
	before := h.header("g:acme:staff")
	in := principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some(ptr(before.DisplayName)), IdempotencyKey: ptr("k")}
	if _, err := h.svc.UpdateGroup(t.Context(), as("u:acme:ann"), in); err != nil {
		t.Fatal(err)
	}
	after := h.header("g:acme:staff")
	if after.Seq != before.Seq+1 || after.MTS <= before.MTS || after.DisplayName != before.DisplayName || after.Members != before.Members {
		t.Errorf("from %+v to %+v", before, after)
	}
	if _, err := h.svc.UpdateGroup(t.Context(), as("u:acme:ann"), principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some(ptr("x"))}); err != nil {
		t.Fatal(err)
	}
	got, err := h.svc.UpdateGroup(t.Context(), as("u:acme:ann"), in)
	if err != nil || got.DisplayName != "x" {
		t.Errorf("the repetition answered %+v, %v; want the group as it is now, untouched", got, err)
	}
}

// TestRefusalsAreNotKept sees that a key whose request was refused is free.
func TestRefusalsAreNotKept(t *testing.T) {
	h := staffHouse(t, nil)
	create := func(name string) error {
		_, err := h.svc.CreateGroup(t.Context(), as("u:acme:ann"), principal.CreateGroup{Tenant: "acme", Name: name, DisplayName: "x", Visibility: principal.Public, IdempotencyKey: ptr("k")})
		return err
	}
	wantTold(t, create("crew"), "TAKEN name")
	wantTold(t, create("crew"), "TAKEN name")
	wantTold(t, create("fresh"))
	wantTold(t, create("fresh"))
	wantTold(t, create("other"), "IDEMPOTENCY_MISMATCH")
	if got := h.header("g:acme:other").State; got != commit.Absent {
		t.Errorf("state of the refused group: %d", got)
	}

	set := func(change string) error {
		_, err := h.svc.SetGroupMembers(t.Context(), as("u:acme:ann"), principal.SetGroupMembers{Group: "g:acme:staff", Members: []principal.GroupMemberChange{memberChange(change)}, IdempotencyKey: ptr("l")})
		return err
	}
	wantTold(t, set("u:acme:ann="), "LAST_MANAGER members.0")
	wantTold(t, set("u:acme:dan=MEMBER"))
	wantTold(t, set("u:acme:ann="), "IDEMPOTENCY_MISMATCH")
}

// TestOneKeyForTwoKinds sees that a key is one request whatever it creates.
func TestOneKeyForTwoKinds(t *testing.T) {
	h := staffHouse(t, nil)
	if _, err := h.svc.CreateGroup(t.Context(), admin("u:acme:ann"), principal.CreateGroup{Tenant: "acme", Name: "new", DisplayName: "x", Visibility: principal.Public, IdempotencyKey: ptr("k")}); err != nil {
		t.Fatal(err)
	}
	_, err := h.svc.CreateUser(t.Context(), admin("u:acme:ann"), principal.CreateUser{Tenant: "acme", Name: "new", DisplayName: "x", Email: "x@example.com", Visibility: principal.Public, IdempotencyKey: ptr("k")})
	wantTold(t, err, "IDEMPOTENCY_MISMATCH")
	_, err = h.svc.CreateContent(t.Context(), admin("u:acme:ann"), library.CreateContent{Kind: library.Note, Title: "x", Visibility: principal.Public, IdempotencyKey: ptr("k")})
	wantTold(t, err, "IDEMPOTENCY_MISMATCH")
}
