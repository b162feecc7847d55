package repair_test

import (
	"strings"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/library"
	"carrel/principal"
)

// scrubEverything has the scrubber check everything once.
func scrubEverything(t *testing.T, svc *domain.Services) (finished, mismatches int) {
	t.Helper()
	finished, mismatches, err := svc.Repair.ScrubAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return finished, mismatches
}

// named is a fixture with ann and bob and an item with a URL.
func named(t *testing.T) *domaintest.Fixture {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	name, url := "one", "https://acme.example/one"
	if _, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
		Name: &name, Kind: library.Note, Title: name, Visibility: principal.Public, URL: &url}); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	return h
}

// dropAllClaims drops all claims, as somebody may do by hand.
func dropAllClaims(t *testing.T, h *domaintest.Fixture) {
	t.Helper()
	all, err := h.Store.Claims.ScanClaims(t.Context(), claim.Key{}, 100)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d claims, %v", len(all), err)
	}
	for _, c := range all {
		if err := h.Store.Claims.DropClaim(t.Context(), c.Key, c.Record, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A copied store has no claims until DeriveAll makes them. The scrubber and RebuildAll make lost ones
// again, and the audit reports them.
func TestNames_WithoutClaimsGetThem(t *testing.T) {
	for name, repairAll := range map[string]func(t *testing.T, s *domain.Services) int{
		"scrubbing": func(t *testing.T, s *domain.Services) int { _, n := scrubEverything(t, s); return n },
		"rebuilding": func(t *testing.T, s *domain.Services) int {
			r, err := s.Repair.RebuildAll(t.Context(), func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			return r.Repaired
		},
		"deriving": func(t *testing.T, s *domain.Services) int {
			if err := s.Repair.DeriveAll(t.Context(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			return 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := named(t)
			dropAllClaims(t, h)
			r, err := h.Repair.Audit(t.Context())
			if err != nil || r.Mismatches != 3 || r.Claims != 0 {
				t.Fatalf("the audit found %+v, %v", r, err)
			}
			if n := repairAll(t, h.Services); n != 3 {
				t.Errorf("%d claims were made, want 3", n)
			}
			h.WantClean()
			if n := repairAll(t, h.Services); name != "deriving" && n != 0 {
				t.Errorf("%d claims were made again", n)
			}
		})
	}
}

// TestNames_SharedAddressesAreReported: two users share an address after a row was written by hand.
// The first one checked gets the claim, the audit reports the other one, and neither loses the
// address.
func TestNames_SharedAddressesAreReported(t *testing.T) {
	h := named(t)
	dropAllClaims(t, h)
	bob := h.Header("u:acme:bob")
	after := bob
	after.Email, after.Seq = domaintest.EmailOf("u:acme:ann"), bob.Seq+1
	if v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:bob", Base: bob.Seq,
		Header: after}); err != nil || !v.Applied {
		t.Fatal(v, err)
	}
	scrubEverything(t, h.Services)
	r, err := h.Repair.Audit(t.Context())
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

// TestNames_StaleClaimsAreRemoved: the claim of an interrupted change is kept until it expires;
// then the scrubber removes it. Claims whose records own their keys are kept.
func TestNames_StaleClaimsAreRemoved(t *testing.T) {
	h := named(t)
	claims := claim.New(h.Store.Claims, h.Runtime, nil)
	key := claim.URL("acme", "https://acme.example/two")
	if err := claims.Take(t.Context(), key, "c:acme:one", claims.Until()); err != nil {
		t.Fatal(err)
	}
	late := h.After(claim.TakenWithin + time.Second)
	for _, step := range []struct {
		svc             *domain.Services
		stale, finished int
	}{{h.Services, 0, 0}, {late, 1, 1}, {late, 0, 0}} {
		if r, err := step.svc.Repair.Audit(t.Context()); err != nil || r.StaleClaims != step.stale || !r.Clean() {
			t.Errorf("the audit found %+v, %v, want %d stale claims", r, err, step.stale)
		}
		if finished, mismatches := scrubEverything(t, step.svc); finished != step.finished || mismatches != 0 {
			t.Errorf("the scrubber finished %d and repaired %d, want %d and 0", finished, mismatches, step.finished)
		}
	}
	if c, err := h.Store.Claims.ReadClaim(t.Context(), key, true); err != nil || c != (claim.Claim{}) {
		t.Errorf("the claim stays: %+v, %v", c, err)
	}
	h.WantClean()
}

// TestNames_LeasesWithoutClaimsGetThem: lost claims are made again, for confirmed leases and
// for pending ones. The audit reports the former.
func TestNames_LeasesWithoutClaimsGetThem(t *testing.T) {
	for name, repairAll := range map[string]func(t *testing.T, s *domain.Services){
		"scrubbing": func(t *testing.T, s *domain.Services) {
			if _, n := scrubEverything(t, s); n != 3 {
				t.Errorf("%d claims were made, want 3", n)
			}
		},
		"rebuilding": func(t *testing.T, s *domain.Services) {
			r, err := s.Repair.RebuildAll(t.Context(), func(int, int) {})
			if err != nil || r.Repaired != 3 {
				t.Errorf("%+v, %v, want 3 claims", r, err)
			}
		},
		"deriving": func(t *testing.T, s *domain.Services) {
			if err := s.Repair.DeriveAll(t.Context(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := named(t)
			ctx := t.Context()
			acquire := func(keys ...string) lease.End {
				in := lease.Acquire{TTLMs: domaintest.Ptr(60_000)}
				for _, k := range keys {
					in.Documents = append(in.Documents, lease.Document{Key: k})
				}
				a, err := h.Leases.Acquire(ctx, domaintest.As("u:acme:ann"), in)
				if err != nil {
					t.Fatal(err)
				}
				return lease.End{ID: string(a.Lease.ID), Token: a.Token}
			}
			confirmed, pending, cancelled := acquire("a", "b"), acquire("c"), acquire("d")
			if _, err := h.Leases.Confirm(ctx, confirmed); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Leases.Cancel(ctx, cancelled); err != nil {
				t.Fatal(err)
			}
			for key, end := range map[string]lease.End{"a": confirmed, "b": confirmed, "c": pending, "d": cancelled} {
				if err := h.Store.Claims.DropClaim(ctx, claim.Leased("acme", key), end.ID, nil); err != nil {
					t.Fatal(err)
				}
			}
			r, err := h.Repair.Audit(ctx)
			if err != nil || r.Mismatches != 2 || r.Leases != 2 || !strings.Contains(r.Details[0], confirmed.ID+" has a key without a claim") {
				t.Errorf("the audit found %+v, %v, want the two claims of the confirmed lease missing", r, err)
			}
			repairAll(t, h.Services)
			for key, want := range map[string]string{"a": confirmed.ID, "b": confirmed.ID, "c": pending.ID, "d": ""} {
				if c, err := h.Store.Claims.ReadClaim(ctx, claim.Leased("acme", key), true); err != nil || c.Record != want {
					t.Errorf("the claim of %s: %+v, %v, want one of %q", key, c, err, want)
				}
			}
			h.WantClean()
		})
	}
}

// The scrubber sweeps leases whose reminders were lost, and no others. The claim of a lease whose
// deadline has passed is stale, so that the lease expires with it.
func TestScrub_SweepsLeasesWithoutReminders(t *testing.T) {
	for _, claimed := range []bool{true, false} {
		h := named(t)
		ctx := t.Context()
		a, err := h.Leases.Acquire(ctx, domaintest.As("u:acme:ann"), lease.Acquire{Documents: []lease.Document{{Key: "a"}}})
		if err != nil {
			t.Fatal(err)
		}
		want := map[time.Duration]int64{0: 1, 90 * time.Second: 2, 3 * time.Minute: 2, 23 * time.Hour: 2, 25 * time.Hour: 0}
		if !claimed {
			want[90*time.Second] = 1
		}
		for _, at := range []time.Duration{0, 90 * time.Second, 3 * time.Minute, 23 * time.Hour, 25 * time.Hour} {
			if !claimed {
				if err := h.Store.Claims.DropClaim(ctx, claim.Leased("acme", "a"), string(a.Lease.ID), nil); err != nil {
					t.Fatal(err)
				}
			}
			scrubEverything(t, h.After(at))
			row, err := h.Store.Leases.ReadRow(ctx, a.Lease.ID)
			if err != nil || row.Seq != want[at] {
				t.Errorf("claimed %t: after %s the lease has state %d, %v, want %d", claimed, at, row.Seq, err, want[at])
			}
			c, err := h.Store.Claims.ReadClaim(ctx, claim.Leased("acme", "a"), true)
			if held := c.Record != ""; err != nil || held != (at == 0) {
				t.Errorf("claimed %t: after %s the claim is %+v, %v", claimed, at, c, err)
			}
		}
	}
}
