package principal_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// createAt has a user create itself with an address.
func createAt(h *domaintest.Fixture, svc *domain.Services, id, email string) error {
	p := principal.ID(id)
	_, err := svc.People.CreateUser(h.T.Context(), domaintest.As(id), principal.CreateUser{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: p.Name(), Email: email, Visibility: principal.Public})
	return err
}

// changeTo has a user change its address.
func changeTo(h *domaintest.Fixture, id, email string) error {
	_, err := h.People.UpdateUser(h.T.Context(), domaintest.As(id), principal.UpdateUser{ID: id, Email: input.Some(&email)})
	return err
}

func TestEmail_BelongsToOneUserOfATenant(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, step := range []struct {
		what string
		err  error
		want []string
	}{
		{"the first", createAt(h, h.Services, "u:acme:ann", "A@example.com"), nil},
		{"another one with the address", createAt(h, h.Services, "u:acme:bob", " a@EXAMPLE.com"), []string{"TAKEN email"}},
		{"another one", createAt(h, h.Services, "u:acme:bob", "b@example.com"), nil},
		{"one of another tenant", createAt(h, h.Services, "u:other:ann", "a@example.com"), nil},
		{"the name and the address again", createAt(h, h.Services, "u:acme:bob", "a@example.com"), []string{"TAKEN name", "TAKEN email"}},
		{"the name and its own address again", createAt(h, h.Services, "u:acme:bob", "b@example.com"), []string{"TAKEN name"}},
		{"the name and a free address", createAt(h, h.Services, "u:acme:bob", "c@example.com"), []string{"TAKEN name"}},
		{"a change to what it is", changeTo(h, "u:acme:bob", "b@example.com"), nil},
		{"a change to the address of another", changeTo(h, "u:acme:bob", "a@example.com"), []string{"TAKEN email"}},
		{"a change to a free address", changeTo(h, "u:acme:ann", "c@example.com"), nil},
		{"a change to the address that was given up", changeTo(h, "u:acme:bob", "a@example.com"), nil},
		{"a creation with the address that was given up", createAt(h, h.Services, "u:acme:cat", "b@example.com"), nil},
	} {
		t.Run(step.what, func(t *testing.T) { domaintest.WantFaults(t, step.err, step.want...) })
	}
	if email := h.Header("u:acme:bob").Email; email != "a@example.com" {
		t.Errorf("bob has the address %q", email)
	}
	h.Quiet()
	h.WantClean()
}

// TestEmail_AbandonedClaimLapses checks that a claim whose user was never created reserves the
// address for half a minute.
func TestEmail_AbandonedClaimLapses(t *testing.T) {
	h := domaintest.New(t, nil)
	claims := claim.New(h.Store.Claims, h.Runtime, nil)
	key := claim.Email("acme", "a@example.com")
	if err := claims.Take(t.Context(), key, "u:acme:gone", claims.Until()); err != nil {
		t.Fatal(err)
	}
	early, late := h.After(claim.TakenWithin-time.Second), h.After(claim.TakenWithin+time.Second)
	domaintest.WantFaults(t, createAt(h, early, "u:acme:ann", "a@example.com"), "TAKEN email")
	domaintest.WantFaults(t, createAt(h, late, "u:acme:ann", "a@example.com"))
	// The user whose claim was fenced can still be created, with another address.
	domaintest.WantFaults(t, createAt(h, h.Services, "u:acme:gone", "a@example.com"), "TAKEN email")
	domaintest.WantFaults(t, createAt(h, h.Services, "u:acme:gone", "g@example.com"))
	h.Quiet()
	h.WantClean()
}

func TestEmail_OneOfManyGetsIt(t *testing.T) {
	h := domaintest.New(t, nil)
	const many = 10
	errs := make([]error, many)
	var all sync.WaitGroup
	for n := range many {
		id := fmt.Sprintf("u:acme:u%d", n)
		if n%2 == 1 {
			h.User(id, principal.Public)
		}
		all.Go(func() {
			if n%2 == 1 {
				errs[n] = changeTo(h, id, "wanted@example.com")
			} else {
				errs[n] = createAt(h, h.Services, id, "wanted@example.com")
			}
		})
	}
	all.Wait()
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
			continue
		}
		domaintest.WantFaults(t, err, "TAKEN email")
	}
	if winners != 1 {
		t.Errorf("%d users have got the address", winners)
	}
	h.Quiet()
	h.WantClean()
}
