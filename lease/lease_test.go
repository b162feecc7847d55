package lease_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/principal"
)

// leases is a fixture with ann and bob, and the Service of leases with three clocks.
type leases struct {
	*domaintest.Fixture
	ann, bob *principal.Viewer
	// late is past the time when the claims of leases with the default ttl are released, and nextDay past
	// the time for which they are kept.
	late, nextDay *domain.Services
}

func newLeases(t *testing.T, wrap func(*domain.Store)) leases {
	h := domaintest.New(t, wrap)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	return leases{h, domaintest.As("u:acme:ann"), domaintest.As("u:acme:bob"), h.After(2 * time.Minute), h.After(25 * time.Hour)}
}

// documents returns documents with keys but without values.
func documents(keys ...string) []lease.Document {
	var all []lease.Document
	for _, k := range keys {
		all = append(all, lease.Document{Key: k})
	}
	return all
}

// hour is a ttl that ends after the clock of leases.late.
var hour = domaintest.Ptr(3_600_000)

// atOnce is the wait of an attempt that does not wait for taken keys.
var atOnce = domaintest.Ptr(0)

// acquire acquires keys for a user, and fails the test on error.
func (h leases) acquire(svc *lease.Service, v *principal.Viewer, ttl *int, keys ...string) *lease.Acquired {
	h.T.Helper()
	got, err := svc.Acquire(h.T.Context(), v, lease.Acquire{Documents: documents(keys...), WaitMs: atOnce, TTLMs: ttl})
	if err != nil {
		h.T.Fatalf("acquiring %q: %v", keys, err)
	}
	return got
}

// end returns the input for ending an acquired lease.
func end(a *lease.Acquired) lease.End { return lease.End{ID: string(a.Lease.ID), Token: a.Token} }

// wantAvailable compares which keys could be leased according to the clock of svc.
func (h leases) wantAvailable(svc *lease.Service, want map[string]bool) {
	h.T.Helper()
	for key, free := range want {
		got, err := svc.KeyAvailable(h.T.Context(), domaintest.Ann(), key)
		if err != nil || got != free {
			h.T.Errorf("the key %q is available: %t, %v, want %t", key, got, err, free)
		}
	}
}

// wantNoClaims waits for the releases, and checks that no claim of a lease remains.
func (h leases) wantNoClaims() {
	h.T.Helper()
	h.Runtime.Close() // waits for the releases
	all, err := h.Store.Claims.ScanClaims(h.T.Context(), claim.Key{}, 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, c := range all {
		if c.Record[0] == 'l' {
			h.T.Errorf("a claim remains: %+v", c)
		}
	}
}

// runDue handles the reminders that are due by the clock of svc.
func (h leases) runDue(svc *domain.Services) {
	h.T.Helper()
	ctx := h.T.Context()
	for {
		dues, err := h.Store.Journal.DueReminders(ctx, clock.Of(time.Now().Add(48*time.Hour)), 1000)
		if err != nil {
			h.T.Fatal(err)
		}
		done := 0
		for _, d := range dues {
			if d.At > svc.Engine.Now() {
				continue
			}
			gone, err := svc.Background().Expire(ctx, d)
			if err != nil {
				h.T.Fatalf("expiring %s: %v", d.Key, err)
			}
			if gone {
				done++
				if err := h.Store.Journal.DropReminder(ctx, d); err != nil {
					h.T.Fatal(err)
				}
			}
		}
		if done == 0 {
			return
		}
	}
}

func TestAcquire_RefusesMalformedInput(t *testing.T) {
	h := newLeases(t, nil)
	long := strings.Repeat("k", lease.MaxKey)
	big := strings.Repeat("v", lease.MaxValues/2)
	more := big + "v"
	many := make([]string, lease.MaxDocuments+1)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	for _, c := range []struct {
		what string
		in   lease.Acquire
		want []string
	}{
		{"no document", lease.Acquire{}, []string{"INVALID documents"}},
		{"the most documents that are allowed", lease.Acquire{Documents: documents(many[1:]...)}, nil},
		{"one document too many", lease.Acquire{Documents: documents(many...)}, []string{"TOO_MANY documents"}},
		{"the longest key", lease.Acquire{Documents: documents(long)}, nil},
		{"a key that is too long, an empty one, and one that is no UTF-8", lease.Acquire{Documents: documents(long+"k", "a", "", "\xff")},
			[]string{"INVALID documents.0.key", "INVALID documents.2.key", "INVALID documents.3.key"}},
		{"a key twice", lease.Acquire{Documents: documents("b", "c", "b")}, []string{"INVALID documents.2.key"}},
		{"the most bytes that are allowed", lease.Acquire{Documents: []lease.Document{{Key: "d", Value: &big}, {Key: "e", Value: &big}}}, nil},
		{"a byte too much", lease.Acquire{Documents: []lease.Document{{Key: "f", Value: &big}, {Key: "g", Value: &more}}},
			[]string{"INVALID documents"}},
		{"a value that is no UTF-8", lease.Acquire{Documents: []lease.Document{{Key: "f", Value: domaintest.Ptr("\xff")}}},
			[]string{"INVALID documents.0.value"}},
		{"no time", lease.Acquire{Documents: documents("h"), TTLMs: domaintest.Ptr(0)}, []string{"INVALID ttlMs"}},
		{"a negative time", lease.Acquire{Documents: documents("h"), TTLMs: domaintest.Ptr(-1)}, []string{"INVALID ttlMs"}},
		{"half a second", lease.Acquire{Documents: documents("h"), TTLMs: domaintest.Ptr(500)}, []string{"INVALID ttlMs"}},
		{"just too short", lease.Acquire{Documents: documents("h"), TTLMs: domaintest.Ptr(999)}, []string{"INVALID ttlMs"}},
		{"a second", lease.Acquire{Documents: documents("h"), TTLMs: domaintest.Ptr(1000)}, nil},
		{"an hour", lease.Acquire{Documents: documents("i"), TTLMs: hour}, nil},
		{"more than an hour", lease.Acquire{Documents: documents("j"), TTLMs: domaintest.Ptr(3_600_001)}, []string{"INVALID ttlMs"}},
		{"more than a duration holds", lease.Acquire{Documents: documents("j"), TTLMs: domaintest.Ptr(int(1) << 62)}, []string{"INVALID ttlMs"}},
		{"everything at once", lease.Acquire{Documents: documents("", "k", "k"), TTLMs: domaintest.Ptr(0), IdempotencyKey: domaintest.Ptr("")},
			[]string{"INVALID documents.0.key", "INVALID documents.2.key", "INVALID ttlMs", "INVALID idempotencyKey"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := h.Leases.Acquire(t.Context(), h.ann, c.in)
			domaintest.WantFaults(t, err, c.want...)
		})
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "f": true, "j": true, "k": true, "h": false})
}

func TestAcquire_IsForStoredUsers(t *testing.T) {
	h := newLeases(t, nil)
	for v, want := range map[*principal.Viewer]string{
		domaintest.Anonymous():         "UNAUTHENTICATED",
		domaintest.As("u:acme:nobody"): "FORBIDDEN",
	} {
		_, err := h.Leases.Acquire(t.Context(), v, lease.Acquire{Documents: documents("a")})
		domaintest.WantFaults(t, err, want)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true})
}

func TestAcquire_TakesAllKeysOrNone(t *testing.T) {
	h := newLeases(t, nil)
	value := "v"
	first, err := h.Leases.Acquire(t.Context(), h.ann, lease.Acquire{Documents: []lease.Document{{Key: "b", Value: &value}, {Key: "d"}}})
	if err != nil {
		t.Fatal(err)
	}
	l := first.Lease
	if l.State != lease.Pending || l.ExpiresAt() == nil || *l.ExpiresAt() != l.CreatedAt.Add(lease.DefaultTTL) || len(first.Token) < 22 {
		t.Errorf("the lease is %+v", l)
	}
	if diff := cmp.Diff([]lease.Document{{Key: "b", Value: &value}, {Key: "d"}}, l.Documents); diff != "" {
		t.Errorf("its documents (-want +got):\n%s", diff)
	}
	_, err = h.Leases.Acquire(t.Context(), h.bob, lease.Acquire{Documents: documents("e", "d", "c", "b", "a")})
	domaintest.WantFaults(t, err, "TAKEN documents")
	if got := lease.CollidingKeys(err); !slices.Equal(got, []string{"d", "b"}) {
		t.Errorf("the colliding keys are %q, want d and b in the order of the input", got)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": false, "c": true, "d": false, "e": true, "f": true})
	h.acquire(h.Leases, h.bob, nil, "a", "c", "e")
	h.wantAvailable(h.Leases, map[string]bool{"a": false, "b": false, "c": false, "d": false, "e": false})
}

// The keys of a pending lease are free as soon as its deadline has passed, even if it was not
// swept, and the former holder of a key cannot affect the lease of the new one.
func TestLease_FormerHolderCannotTouchTheNewOne(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		for name, act := range map[string]func(h leases, former *lease.Acquired) error{
			"confirm": func(h leases, former *lease.Acquired) error {
				_, err := h.late.Leases.Confirm(h.T.Context(), end(former))
				domaintest.WantFaults(h.T, err, "EXPIRED")
				return nil
			},
			"confirm by a slower clock": func(h leases, former *lease.Acquired) error {
				_, err := h.Leases.Confirm(h.T.Context(), end(former))
				domaintest.WantFaults(h.T, err, "EXPIRED")
				return nil
			},
			"cancel": func(h leases, former *lease.Acquired) error {
				l, err := h.late.Leases.Cancel(h.T.Context(), end(former))
				if err == nil && l.State != lease.Expired {
					err = fmt.Errorf("the lease is %v", l.State)
				}
				return err
			},
		} {
			t.Run(fmt.Sprintf("%s, swept %t", name, sweep), func(t *testing.T) {
				h := newLeases(t, nil)
				former := h.acquire(h.Leases, h.ann, nil, "a", "b")
				if sweep {
					h.runDue(h.late)
				}
				h.wantAvailable(h.late.Leases, map[string]bool{"a": true, "b": true})
				owner := h.acquire(h.late.Leases, h.bob, hour, "a")
				if err := act(h, former); err != nil {
					t.Error(err)
				}
				h.runDue(h.late)
				h.wantAvailable(h.late.Leases, map[string]bool{"a": false, "b": true})
				l, err := h.late.Leases.Lease(t.Context(), string(owner.Lease.ID), owner.Token)
				if err != nil || l.State != lease.Pending {
					t.Errorf("the new lease is %+v, %v", l, err)
				}
				if _, err := h.late.Leases.Confirm(t.Context(), end(owner)); err != nil {
					t.Error(err)
				}
				h.wantAvailable(h.nextDay.Leases, map[string]bool{"a": false, "b": true})
				h.WantClean()
			})
		}
	}
}

// TestLease_EndsOnce tests all sequences of confirm and cancel.
func TestLease_EndsOnce(t *testing.T) {
	h := newLeases(t, nil)
	ctx := t.Context()
	confirm := func(s *lease.Service) func(a *lease.Acquired) (*lease.Lease, error) {
		return func(a *lease.Acquired) (*lease.Lease, error) { return s.Confirm(ctx, end(a)) }
	}
	cancel := func(s *lease.Service) func(a *lease.Acquired) (*lease.Lease, error) {
		return func(a *lease.Acquired) (*lease.Lease, error) { return s.Cancel(ctx, end(a)) }
	}
	for n, c := range []struct {
		what  string
		acts  []func(a *lease.Acquired) (*lease.Lease, error)
		wants []string
		state lease.State
	}{
		{"confirm, then both", acts(confirm(h.Leases), confirm(h.Leases), cancel(h.Leases)), []string{"", "CONFIRMED", "CONFIRMED"},
			lease.Confirmed},
		{"cancel, then both", acts(cancel(h.Leases), cancel(h.Leases), confirm(h.Leases)), []string{"", "CANCELLED", "CANCELLED"},
			lease.Cancelled},
		{"confirm too late, then both", acts(confirm(h.late.Leases), confirm(h.Leases), cancel(h.Leases)),
			[]string{"EXPIRED", "EXPIRED", ""}, lease.Expired},
		{"cancel too late, then both", acts(cancel(h.late.Leases), cancel(h.Leases), confirm(h.Leases)), []string{"", "", "EXPIRED"},
			lease.Expired},
		{"confirm, then both too late", acts(confirm(h.Leases), confirm(h.late.Leases), cancel(h.late.Leases)),
			[]string{"", "CONFIRMED", "CONFIRMED"}, lease.Confirmed},
		{"cancel, then both too late", acts(cancel(h.Leases), confirm(h.late.Leases), cancel(h.late.Leases)),
			[]string{"", "CANCELLED", "CANCELLED"}, lease.Cancelled},
	} {
		t.Run(c.what, func(t *testing.T) {
			key := fmt.Sprint("k", n)
			a := h.acquire(h.Leases, h.ann, nil, key)
			for i, act := range c.acts {
				var want []string
				if c.wants[i] != "" {
					want = []string{c.wants[i]}
				}
				_, err := act(a)
				domaintest.WantFaults(t, err, want...)
			}
			l, err := h.Leases.Lease(ctx, string(a.Lease.ID), a.Token)
			if err != nil || l.State != c.state {
				t.Fatalf("the lease is %+v, %v", l, err)
			}
			permanent := c.state == lease.Confirmed
			if (l.ExpiresAt() == nil) != (permanent || c.state == lease.Cancelled) || (l.Documents[0].ETag != nil) != permanent {
				t.Errorf("the lease is %+v", l)
			}
			h.wantAvailable(h.Leases, map[string]bool{key: !permanent})
			h.runDue(h.late)
			h.wantAvailable(h.nextDay.Leases, map[string]bool{key: !permanent})
		})
	}
	h.WantClean()
}

func acts(all ...func(a *lease.Acquired) (*lease.Lease, error)) []func(a *lease.Acquired) (*lease.Lease, error) {
	return all
}

func TestLease_NeedsItsToken(t *testing.T) {
	h := newLeases(t, nil)
	ctx := t.Context()
	a := h.acquire(h.Leases, h.ann, nil, "a")
	other := h.acquire(h.Leases, h.ann, nil, "b")
	id := string(a.Lease.ID)
	for _, token := range []string{"", other.Token, a.Token[:len(a.Token)-1], a.Token + "x"} {
		_, confirmed := h.Leases.Confirm(ctx, lease.End{ID: id, Token: token})
		_, cancelled := h.Leases.Cancel(ctx, lease.End{ID: id, Token: token})
		_, read := h.Leases.Lease(ctx, id, token)
		domaintest.WantFaults(t, confirmed, "FORBIDDEN token")
		domaintest.WantFaults(t, cancelled, "FORBIDDEN token")
		domaintest.WantFaults(t, read, "FORBIDDEN")
	}
	for _, c := range []struct{ id, mutation, query string }{
		{"l:0123456789abcdef0123456789abcdef", "NOT_FOUND id", ""},
		{"l:0123456789ABCDEF0123456789abcdef", "INVALID id", "BAD_USER_INPUT"},
		{"l:acme:ann", "INVALID id", "BAD_USER_INPUT"},
		{"u:acme:ann", "INVALID id", ""},
		{"", "INVALID id", "BAD_USER_INPUT"},
	} {
		_, confirmed := h.Leases.Confirm(ctx, lease.End{ID: c.id, Token: a.Token})
		_, cancelled := h.Leases.Cancel(ctx, lease.End{ID: c.id, Token: a.Token})
		l, read := h.Leases.Lease(ctx, c.id, a.Token)
		domaintest.WantFaults(t, confirmed, c.mutation)
		domaintest.WantFaults(t, cancelled, c.mutation)
		if c.query == "" && (l != nil || read != nil) || c.query != "" && string(fault.ReasonOf(read)) != c.query {
			t.Errorf("reading %q: %+v, %v", c.id, l, read)
		}
	}
	l, err := h.Leases.Confirm(ctx, end(a))
	if err != nil || l.State != lease.Confirmed {
		t.Errorf("with its token: %+v, %v", l, err)
	}
	if n, err := h.Library.Nodes(ctx, h.ann, []string{id}); err != nil || n[0] != nil {
		t.Errorf("the node of a lease is %v, %v", n, err)
	}
	for _, key := range []string{"", strings.Repeat("k", lease.MaxKey+1), "\xff"} {
		if _, err := h.Leases.KeyAvailable(ctx, h.ann, key); fault.ReasonOf(err) != fault.ReasonBadInput {
			t.Errorf("the key %q: %v", key, err)
		}
	}
}

// One of a concurrent confirm and cancel wins, and decides whether the keys are held.
func TestLease_OneOfConfirmAndCancelWins(t *testing.T) {
	h := newLeases(t, nil)
	for n := range 20 {
		key := fmt.Sprint("k", n)
		a := h.acquire(h.Leases, h.ann, nil, key)
		var confirmed, cancelled error
		together(
			func() { _, confirmed = h.Leases.Confirm(context.Background(), end(a)) },
			func() { _, cancelled = h.Leases.Cancel(context.Background(), end(a)) })
		if (confirmed == nil) == (cancelled == nil) {
			t.Fatalf("confirm: %v, cancel: %v", confirmed, cancelled)
		}
		h.wantAvailable(h.nextDay.Leases, map[string]bool{key: cancelled == nil})
	}
}

// together calls functions concurrently and waits for all.
func together(all ...func()) {
	done := make(chan struct{}, len(all))
	for _, f := range all {
		go func() { f(); done <- struct{}{} }()
	}
	for range all {
		<-done
	}
}

// The row of an ended lease is kept for a day, but none of its claims. The row of a confirmed
// lease is permanent.
func TestSweep_KeepsTheRowForADay(t *testing.T) {
	h := newLeases(t, nil)
	ctx := t.Context()
	expired := h.acquire(h.Leases, h.ann, nil, "a", "b")
	confirmed := h.acquire(h.Leases, h.ann, nil, "c")
	cancelled := h.acquire(h.Leases, h.ann, nil, "d")
	if _, err := h.Leases.Confirm(ctx, end(confirmed)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Leases.Cancel(ctx, end(cancelled)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		svc  *domain.Services
		want map[*lease.Acquired]lease.State
	}{
		{h.After(0), map[*lease.Acquired]lease.State{expired: lease.Pending, confirmed: lease.Confirmed, cancelled: lease.Cancelled}},
		{h.late, map[*lease.Acquired]lease.State{expired: lease.Expired, confirmed: lease.Confirmed, cancelled: lease.Cancelled}},
		{h.nextDay, map[*lease.Acquired]lease.State{expired: 0, confirmed: lease.Confirmed, cancelled: 0}},
	} {
		h.runDue(step.svc)
		for a, want := range step.want {
			l, err := h.Leases.Lease(ctx, string(a.Lease.ID), a.Token)
			got := lease.State(0)
			if l != nil {
				got = l.State
			}
			if err != nil || got != want {
				t.Errorf("the lease of %q is %v, %v, want %v", a.Lease.Documents[0].Key, got, err, want)
			}
		}
	}
	_, err := h.Leases.Confirm(ctx, end(expired))
	domaintest.WantFaults(t, err, "NOT_FOUND id")
	if _, err := h.Leases.Confirm(ctx, end(confirmed)); fault.ReasonOf(err) != fault.ReasonConfirmed {
		t.Errorf("the confirmed lease: %v", err)
	}
	dues, err := h.Store.Journal.DueReminders(ctx, clock.Of(time.Now().Add(100*time.Hour)), 100)
	if err != nil || len(dues) != 0 {
		t.Errorf("reminders remain: %v, %v", dues, err)
	}
	h.wantAvailable(h.nextDay.Leases, map[string]bool{"a": true, "b": true, "c": false, "d": true})
	h.WantClean()
}
