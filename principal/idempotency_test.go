package principal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// keyedCall is one keyed mutation of principals, with two inputs.
type keyedCall struct {
	name string
	call func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (shown bool, err error)
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
		{"createUser", func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (bool, error) {
			u, err := h.People.CreateUser(h.T.Context(), v, principal.CreateUser{Tenant: "acme", Name: "new",
				DisplayName: pick(other, "N", "M"), Email: "n@example.com", Visibility: principal.Public, IdempotencyKey: &key})
			return u != nil, err
		}, "u:acme:new"},
		{"updateUser", func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (bool, error) {
			u, err := h.People.UpdateUser(h.T.Context(), v, principal.UpdateUser{ID: "u:acme:bob",
				DisplayName: input.Some(domaintest.Ptr(pick(other, "N", "M"))), IdempotencyKey: &key})
			return u != nil, err
		}, "u:acme:bob"},
		{"createGroup", func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.People.CreateGroup(h.T.Context(), v, principal.CreateGroup{Tenant: "acme", Name: "new",
				DisplayName: pick(other, "N", "M"), Visibility: principal.Public, IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:new"},
		{"updateGroup", func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.People.UpdateGroup(h.T.Context(), v, principal.UpdateGroup{ID: "g:acme:staff",
				DisplayName: input.Some(domaintest.Ptr(pick(other, "N", "M"))), IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:staff"},
		{"setGroupMembers", func(h *domaintest.Fixture, v *principal.Viewer, key string, other bool) (bool, error) {
			g, err := h.People.SetGroupMembers(h.T.Context(), v, principal.SetGroupMembers{Group: "g:acme:staff",
				Members:        []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:dan=" + pick(other, "MEMBER", "MANAGER"))},
				IdempotencyKey: &key})
			return g != nil, err
		}, "g:acme:staff"},
	}
}

func TestIdempotencyKey_RepetitionHasTheFirstOutcome(t *testing.T) {
	for _, c := range keyedCalls() {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.Staff(t, nil)
			h.User("u:acme:adm", principal.Public)
			who := func() *principal.Viewer { return domaintest.Admin("u:acme:adm") }
			shown, err := c.call(h, who(), "key", false)
			if domaintest.WantFaults(t, err); !shown {
				t.Fatal("there is no answer")
			}
			first := h.Header(c.id)
			for range 2 {
				shown, err = c.call(h, who(), "key", false)
				if domaintest.WantFaults(t, err); !shown {
					t.Fatal("the repetition has no answer")
				}
			}
			if diff := cmp.Diff(first, h.Header(c.id)); diff != "" {
				t.Errorf("the repetition changed:\n%s", diff)
			}
			_, err = c.call(h, who(), "key", true)
			domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
			if diff := cmp.Diff(first, h.Header(c.id)); diff != "" {
				t.Errorf("the mismatch changed:\n%s", diff)
			}
			// The same key of another viewer, and another key, are different requests.
			if c.name == "createUser" || c.name == "createGroup" {
				_, err = c.call(h, who(), "key2", true)
				domaintest.WantFaults(t, err, "TAKEN name")
				_, err = c.call(h, domaintest.Global("u:acme:ann"), "key", true)
				domaintest.WantFaults(t, err, "TAKEN name")
				return
			}
			_, err = c.call(h, domaintest.Global("u:acme:ann"), "key", true)
			domaintest.WantFaults(t, err)
			_, err = c.call(h, who(), "key2", false)
			domaintest.WantFaults(t, err)
			if got := h.Header(c.id).Seq; got != first.Seq+2 {
				t.Errorf("two further requests led from seq %d to %d", first.Seq, got)
			}
		})
	}
}

// TestIdempotencyKey_RepetitionAfterLostRightsSucceeds checks that a repetition has the first
// outcome even if the actor may no longer do it, but shows nothing that the actor may not see.
func TestIdempotencyKey_RepetitionAfterLostRightsSucceeds(t *testing.T) {
	h := domaintest.Staff(t, nil)
	leave := principal.SetGroupMembers{Group: "g:acme:secret",
		Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:dan="),
			domaintest.GroupMemberChange("u:acme:cat=MANAGER")},
		IdempotencyKey: domaintest.Ptr("k")}
	for n := range 2 {
		got, err := h.People.SetGroupMembers(t.Context(), domaintest.As("u:acme:dan"), leave)
		if err != nil || got != nil {
			t.Fatalf("call %d: answered %+v, %v", n, got, err)
		}
	}
	in := principal.CreateUser{Tenant: "acme", Name: "new", DisplayName: "N", Email: "n@example.com",
		Visibility: principal.Private, IdempotencyKey: domaintest.Ptr("k")}
	if got, err := h.People.CreateUser(t.Context(), domaintest.Admin("u:acme:bob"), in); err != nil || got == nil {
		t.Fatalf("answered %+v, %v", got, err)
	}
	if got, err := h.People.CreateUser(t.Context(), domaintest.As("u:acme:bob"), in); err != nil || got != nil {
		t.Fatalf("after it ceased to be an administrator: answered %+v, %v", got, err)
	}
}

// TestIdempotencyKey_RequestWithoutAChangeIsKept checks that a request that changes nothing is
// remembered all the same.
func TestIdempotencyKey_RequestWithoutAChangeIsKept(t *testing.T) {
	h := domaintest.Staff(t, nil)
	before := h.Header("g:acme:staff")
	in := principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some(domaintest.Ptr(before.DisplayName)),
		IdempotencyKey: domaintest.Ptr("k")}
	if _, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:ann"), in); err != nil {
		t.Fatal(err)
	}
	after := h.Header("g:acme:staff")
	if after.Seq != before.Seq+1 || after.MTS <= before.MTS || after.DisplayName != before.DisplayName || after.Members != before.Members {
		t.Errorf("from %+v to %+v", before, after)
	}
	if _, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:ann"), principal.UpdateGroup{ID: "g:acme:staff",
		DisplayName: input.Some(domaintest.Ptr("x"))}); err != nil {
		t.Fatal(err)
	}
	got, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:ann"), in)
	if err != nil || got.DisplayName != "x" {
		t.Errorf("the repetition answered %+v, %v; want the group as it is now, untouched", got, err)
	}
}

// TestIdempotencyKey_RefusalIsNotKept checks that the key of a refused request is free.
func TestIdempotencyKey_RefusalIsNotKept(t *testing.T) {
	h := domaintest.Staff(t, nil)
	create := func(name string) error {
		_, err := h.People.CreateGroup(t.Context(), domaintest.As("u:acme:ann"), principal.CreateGroup{Tenant: "acme",
			Name: name, DisplayName: "x", Visibility: principal.Public, IdempotencyKey: domaintest.Ptr("k")})
		return err
	}
	domaintest.WantFaults(t, create("crew"), "TAKEN name")
	domaintest.WantFaults(t, create("crew"), "TAKEN name")
	domaintest.WantFaults(t, create("fresh"))
	domaintest.WantFaults(t, create("fresh"))
	domaintest.WantFaults(t, create("other"), "IDEMPOTENCY_MISMATCH")
	if got := h.Header("g:acme:other").State; got != commit.Absent {
		t.Errorf("state of the refused group: %d", got)
	}

	set := func(change string) error {
		_, err := h.People.SetGroupMembers(t.Context(), domaintest.As("u:acme:ann"), principal.SetGroupMembers{Group: "g:acme:staff",
			Members: []principal.GroupMemberChange{domaintest.GroupMemberChange(change)}, IdempotencyKey: domaintest.Ptr("l")})
		return err
	}
	domaintest.WantFaults(t, set("u:acme:ann="), "LAST_MANAGER members.0")
	domaintest.WantFaults(t, set("u:acme:dan=MEMBER"))
	domaintest.WantFaults(t, set("u:acme:ann="), "IDEMPOTENCY_MISMATCH")
}

// TestIdempotencyKey_IsSharedByAllKinds checks that a key is one request whatever it creates.
func TestIdempotencyKey_IsSharedByAllKinds(t *testing.T) {
	h := domaintest.Staff(t, nil)
	if _, err := h.People.CreateGroup(t.Context(), domaintest.Admin("u:acme:ann"), principal.CreateGroup{Tenant: "acme",
		Name: "new", DisplayName: "x", Visibility: principal.Public, IdempotencyKey: domaintest.Ptr("k")}); err != nil {
		t.Fatal(err)
	}
	_, err := h.People.CreateUser(t.Context(), domaintest.Admin("u:acme:ann"), principal.CreateUser{Tenant: "acme",
		Name: "new", DisplayName: "x", Email: "x@example.com", Visibility: principal.Public, IdempotencyKey: domaintest.Ptr("k")})
	domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
	_, err = h.Library.CreateContent(t.Context(), domaintest.Admin("u:acme:ann"),
		library.CreateContent{Kind: library.Note, Title: "x", Visibility: principal.Public, IdempotencyKey: domaintest.Ptr("k")})
	domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
}
