package repair_test

import (
	"strings"
	"testing"
	"time"

	"carrel/backend/backendtest"
	"carrel/core/claim"
	"carrel/library"
	"carrel/library/repair"
	"carrel/principal"
)

// scrubEverything makes all steps of a scrubber until it begins again.
func scrubEverything(t *testing.T, svc *repair.Service) (settled, mismatches int) {
	t.Helper()
	var at repair.ScrubPlace
	for range 10_000 {
		r, err := svc.ScrubFrom(t.Context(), at, 3)
		if err != nil {
			t.Fatal(err)
		}
		settled, mismatches = settled+r.Settled, mismatches+r.Mismatches
		if at = r.Next; at == (repair.ScrubPlace{}) {
			return settled, mismatches
		}
	}
	t.Fatal("the scrubber does not come to an end")
	return 0, 0
}

// named is a fixture with ann and bob and an item with a URL.
func named(t *testing.T) *backendtest.Fixture {
	h := backendtest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	name, url := "one", "https://acme.example/one"
	if _, err := h.Service.CreateContent(t.Context(), backendtest.As("u:acme:ann"), library.CreateContent{
		Name: &name, Kind: library.Note, Title: name, Visibility: principal.Public, URL: &url}); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	return h
}

// dropAllClaims makes a store of an earlier version.
func dropAllClaims(t *testing.T, h *backendtest.Fixture) {
	t.Helper()
	all, err := h.Store.ScanClaims(t.Context(), claim.Key{}, 100)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d claims, %v", len(all), err)
	}
	for _, c := range all {
		if err := h.Store.DropClaim(t.Context(), c.Key, c.Record, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A store of an earlier version has no claims. The audit reports that; the scrubber, a
// rebuild, and the end of a copy make them.
func TestNames_WithoutClaimsGetThem(t *testing.T) {
	for name, mend := range map[string]func(t *testing.T, s *repair.Service) int{
		"scrubbing": func(t *testing.T, s *repair.Service) int { _, n := scrubEverything(t, s); return n },
		"rebuilding": func(t *testing.T, s *repair.Service) int {
			r, err := s.RebuildAll(t.Context(), func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			return r.Mended
		},
		"deriving": func(t *testing.T, s *repair.Service) int {
			if err := s.DeriveAll(t.Context(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			return 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := named(t)
			dropAllClaims(t, h)
			r, err := h.Service.Audit(t.Context())
			if err != nil || r.Mismatches != 3 || r.Claims != 0 {
				t.Fatalf("the audit found %+v, %v", r, err)
			}
			if n := mend(t, h.Service); n != 3 {
				t.Errorf("%d claims were made, want 3", n)
			}
			h.WantClean()
			if n := mend(t, h.Service); name != "deriving" && n != 0 {
				t.Errorf("%d claims were made again", n)
			}
		})
	}
}

// Two users of an earlier version share an address. The first to be seen has the claim, the
// audit reports the other one, and nothing takes the address from either.
func TestNames_SharedAddressesAreReported(t *testing.T) {
	h := named(t)
	dropAllClaims(t, h)
	bob := h.Header("u:acme:bob")
	after := bob
	after.Email, after.Seq = backendtest.EmailOf("u:acme:ann"), bob.Seq+1
	if v, err := h.Store.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:bob", Base: bob.Seq, Header: after}); err != nil || !v.Applied {
		t.Fatal(v, err)
	}
	scrubEverything(t, h.Service)
	r, err := h.Service.Audit(t.Context())
	if err != nil || r.Mismatches != 1 || !strings.Contains(r.Details[0], "u:acme:bob has an e-mail address, which u:acme:ann has too") {
		t.Errorf("the audit found %+v, %v", r, err)
	}
	if strings.Contains(r.Details[0], "@") {
		t.Errorf("the report spells out an address: %s", r.Details[0])
	}
	if email := h.Header("u:acme:bob").Email; email != after.Email {
		t.Errorf("bob has the address %q now", email)
	}
}

// The claim of an interrupted change stays until it lapses; then the scrubber removes it.
// Claims whose records hold their keys stay.
func TestNames_StaleClaimsAreRemoved(t *testing.T) {
	h := named(t)
	claims := claim.New(h.Store, h.Runtime)
	key := claim.URL("acme", "https://acme.example/two")
	if err := claims.Take(t.Context(), key, "c:acme:one", claims.Until()); err != nil {
		t.Fatal(err)
	}
	late := h.ServiceAfter(claim.TakenWithin + time.Second)
	for _, step := range []struct {
		svc           *repair.Service
		stale, settle int
	}{{h.Service, 0, 0}, {late, 1, 1}, {late, 0, 0}} {
		if r, err := step.svc.Audit(t.Context()); err != nil || r.StaleClaims != step.stale || !r.Clean() {
			t.Errorf("the audit found %+v, %v, want %d stale claims", r, err, step.stale)
		}
		if settled, mismatches := scrubEverything(t, step.svc); settled != step.settle || mismatches != 0 {
			t.Errorf("the scrubber settled %d and mended %d, want %d and 0", settled, mismatches, step.settle)
		}
	}
	if c, err := h.Store.ReadClaim(t.Context(), key, true); err != nil || c != (claim.Claim{}) {
		t.Errorf("the claim stays: %+v, %v", c, err)
	}
	h.WantClean()
}
