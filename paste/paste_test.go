package paste_test

import (
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/paste"
	"carrel/principal"
)

// long is a body that is stored in a row of its own.
var long = strings.Repeat("0123456789abcdef", 1024)

func TestCreate_ReturnsWhatIsRead(t *testing.T) {
	h := newPastes(t)
	for _, body := range []string{"x", strings.Repeat("y", 4096), strings.Repeat("z", 4097), long, "\x1b[31mred\x00",
		strings.Repeat("m", paste.MaxBody)} {
		made := h.create(paste.Create{Body: body})
		if p := made.Paste; p.Title != nil || p.IsPrivate || p.ExpiresAt != nil || p.Version != 1 || p.CreatedAt != p.ModifiedAt ||
			len(made.Secret) < 22 {
			t.Errorf("created %+v with a secret of %d characters", p, len(made.Secret))
		}
		h.wantBody(h.Pastes, made.Paste.ID, body)
	}
	h.WantNothingInFlight()
}

func TestCreate_RefusesBadInput(t *testing.T) {
	h := newPastes(t)
	past, now := clock.Of(h.Runtime.Now().Add(-time.Millisecond)), h.Runtime.Now()
	for _, c := range []struct {
		in   paste.Create
		want []string
	}{
		{paste.Create{}, []string{"INVALID body"}},
		{paste.Create{Body: strings.Repeat("x", paste.MaxBody+1)}, []string{"INVALID body"}},
		{paste.Create{Body: "\xff"}, []string{"INVALID body"}},
		{paste.Create{Body: "x", Title: domaintest.Ptr(strings.Repeat("ü", paste.MaxTitle+1))}, []string{"INVALID title"}},
		{paste.Create{Body: "x", Title: domaintest.Ptr("a\nb")}, []string{"INVALID title"}},
		{paste.Create{Body: "x", ExpiresAt: &past}, []string{"INVALID expiresAt"}},
		{paste.Create{Title: domaintest.Ptr("\x00"), ExpiresAt: &past}, []string{"INVALID title", "INVALID body", "INVALID expiresAt"}},
		{paste.Create{Body: "x", IdempotencyKey: domaintest.Ptr("k")}, []string{"INVALID idempotencyKey"}},
		{paste.Create{Body: "x", Title: domaintest.Ptr(strings.Repeat("ü", paste.MaxTitle))}, nil},
		{paste.Create{Body: "x", Title: domaintest.Ptr("")}, nil},
		{paste.Create{Body: "x", ExpiresAt: domaintest.Ptr(clock.Of(now.Add(time.Hour)))}, nil},
	} {
		_, err := h.Pastes.Create(t.Context(), h.anonymous, c.in)
		domaintest.WantFaults(t, err, c.want...)
	}
}

// A token for a deleted user creates nothing, although anonymous callers may create pastes.
func TestCreate_RefusesADeletedUser(t *testing.T) {
	h := newPastes(t)
	if _, err := h.People.DeleteUser(t.Context(), h.ann, principal.DeleteUser{ID: string(h.ann.User)}); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]*string{"without a key": nil, "with a key": domaintest.Ptr("k")} {
		in := paste.Create{Body: "text", IdempotencyKey: key}
		if made, err := h.Pastes.Create(t.Context(), domaintest.As("u:acme:ann"), in); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
	}
	// A user that does not exist yet, and nobody at all, may still do so.
	for _, v := range []*principal.Viewer{domaintest.As("u:acme:new"), {}} {
		if _, err := h.Pastes.Create(t.Context(), v, paste.Create{Body: "text"}); err != nil {
			t.Errorf("%q: %v", v.User, err)
		}
	}
}

func TestUpdate_RefusesBadInput(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a"))
	past, soon := clock.Of(h.Runtime.Now().Add(-time.Millisecond)), clock.Of(h.Runtime.Now().Add(time.Hour))
	for _, c := range []struct {
		what string
		in   paste.Update
		want []string
	}{
		{"nothing to change", paste.Update{}, []string{"INVALID"}},
		{"an empty body", paste.Update{Body: input.Some(domaintest.Ptr(""))}, []string{"INVALID body"}},
		{"the body null", paste.Update{Body: input.Some[*string](nil)}, []string{"INVALID body"}},
		{"a title of two lines", paste.Update{Title: input.Some(domaintest.Ptr("a\rb"))}, []string{"INVALID title"}},
		{"in the past", paste.Update{ExpiresAt: input.Some(&past)}, []string{"INVALID expiresAt"}},
		{"both", paste.Update{ExpiresAt: input.Some(&soon), ClearExpiry: true}, []string{"INVALID clearExpiry"}},
		{"both, one null", paste.Update{ExpiresAt: input.Some[*clock.Instant](nil), ClearExpiry: true}, []string{"INVALID clearExpiry"}},
		{"another version", paste.Update{ClearExpiry: true, ExpectedVersion: domaintest.Ptr(2)}, []string{"CONFLICT expectedVersion"}},
		{"another secret", paste.Update{ClearExpiry: true, Secret: made.Secret + "x"}, []string{"WRONG_SECRET secret"}},
		{"another id", paste.Update{ClearExpiry: true, ID: "p:00000000000000000000000000000000"}, []string{"NOT_FOUND id"}},
		{"no id", paste.Update{ClearExpiry: true, ID: "p:x"}, []string{"INVALID id"}},
		{"the id of a lease", paste.Update{ClearExpiry: true, ID: "l:00000000000000000000000000000000"}, []string{"INVALID id"}},
	} {
		if c.in.ID == "" {
			c.in.ID = string(made.Paste.ID)
		}
		if c.in.Secret == "" {
			c.in.Secret = made.Secret
		}
		_, err := h.Pastes.Update(t.Context(), c.in)
		domaintest.WantFaults(t, err, c.want...)
		if f := fault.ListOf(err)[0]; f.Version != nil != (c.what == "another version") || f.Version != nil && *f.Version != 1 {
			t.Errorf("%s: version %v is reported", c.what, f.Version)
		}
	}
	if p, err := h.Pastes.Paste(t.Context(), string(made.Paste.ID)); err != nil || p.Version != 1 {
		t.Errorf("after refusals: %+v, %v", p, err)
	}
}

func TestUpdate_ChangesOnlyGivenFields(t *testing.T) {
	h := newPastes(t)
	made := h.create(titled("a"))
	soon := clock.Of(h.Runtime.Now().Add(time.Hour))
	version, modified := 1, made.Paste.ModifiedAt
	for _, c := range []struct {
		what    string
		in      paste.Update
		changes bool
	}{
		{"the same title", paste.Update{Title: input.Some(domaintest.Ptr("a"))}, false},
		{"another title", paste.Update{Title: input.Some(domaintest.Ptr("b"))}, true},
		{"an empty title", paste.Update{Title: input.Some(domaintest.Ptr(""))}, true},
		{"no title", paste.Update{Title: input.Some[*string](nil)}, true},
		{"no title again", paste.Update{Title: input.Some[*string](nil)}, false},
		{"the same body", paste.Update{Body: input.Some(domaintest.Ptr("body of a"))}, false},
		{"a body of the same size", paste.Update{Body: input.Some(domaintest.Ptr("body of A"))}, true},
		{"a long body", paste.Update{Body: input.Some(&long)}, true},
		{"the same long body", paste.Update{Body: input.Some(&long)}, false},
		{"another long body", paste.Update{Body: input.Some(domaintest.Ptr(long[1:] + "x"))}, true},
		{"public", paste.Update{IsPrivate: input.Some[*bool](nil)}, false},
		{"private", paste.Update{IsPrivate: input.Some(domaintest.Ptr(true))}, true},
		{"an expiry", paste.Update{ExpiresAt: input.Some(&soon)}, true},
		{"the same expiry", paste.Update{ExpiresAt: input.Some(&soon)}, false},
		{"no expiry", paste.Update{ClearExpiry: true}, true},
		{"no expiry again", paste.Update{ExpiresAt: input.Some[*clock.Instant](nil)}, false},
		{"all at once", paste.Update{Title: input.Some(domaintest.Ptr("t")), Body: input.Some(domaintest.Ptr("short")),
			IsPrivate: input.Some(domaintest.Ptr(false))}, true},
	} {
		c.in.ID, c.in.Secret, c.in.ExpectedVersion = string(made.Paste.ID), made.Secret, &version
		p, err := h.Pastes.Update(t.Context(), c.in)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if c.changes {
			version++
			modified = p.ModifiedAt
		}
		if p.Version != version || p.ModifiedAt != modified || p.CreatedAt != made.Paste.CreatedAt {
			t.Errorf("%s: version %d, want %d; modified at %s, want %s", c.what, p.Version, version, p.ModifiedAt, modified)
		}
		if in := c.in.Body; in.Set {
			h.wantBody(h.Pastes, p.ID, *in.Value)
		}
	}
	h.wantLatest(h.Pastes, "t")
	early := paste.Update{ID: string(made.Paste.ID), Secret: made.Secret, Title: input.Some(domaintest.Ptr("by a clock that is behind"))}
	if p, err := h.at(modified-1).Pastes.Update(t.Context(), early); err != nil || p.ModifiedAt != modified {
		t.Errorf("modified at %+v, %v, want %s", p, err, modified)
	}
}

func TestDelete_IsFinal(t *testing.T) {
	h := newPastes(t)
	made := h.create(paste.Create{Body: long, Title: domaintest.Ptr("a")})
	id := string(made.Paste.ID)
	_, err := h.Pastes.Delete(t.Context(), paste.Delete{ID: id, Secret: "other"})
	domaintest.WantFaults(t, err, "WRONG_SECRET secret")
	h.wantLatest(h.Pastes, "a")
	hidden := h.create(paste.Create{Body: "x", IsPrivate: true})
	_, err = h.Pastes.Delete(t.Context(), paste.Delete{ID: string(hidden.Paste.ID), Secret: made.Secret})
	domaintest.WantFaults(t, err, "WRONG_SECRET secret")
	if got, err := h.Pastes.Delete(t.Context(), paste.Delete{ID: id, Secret: made.Secret}); err != nil || string(got) != id {
		t.Fatalf("deleting: %v, %v", got, err)
	}
	for _, secret := range []string{made.Secret, "other"} {
		_, err = h.Pastes.Delete(t.Context(), paste.Delete{ID: id, Secret: secret})
		domaintest.WantFaults(t, err, "NOT_FOUND id")
		_, err = h.Pastes.Update(t.Context(), paste.Update{ID: id, Secret: secret, Body: input.Some(&long)})
		domaintest.WantFaults(t, err, "NOT_FOUND id")
	}
	h.wantBody(h.Pastes, made.Paste.ID, "")
	h.wantLatest(h.Pastes)
	if es := h.entries(); len(es) != 0 {
		t.Errorf("the feed still has %v", es)
	}
	if bodies, err := h.Store.Pastes.ListBodies(t.Context(), made.Paste.ID); err != nil || len(bodies) != 0 {
		t.Errorf("bodies after the end: %v, %v", bodies, err)
	}
	h.WantNothingInFlight()
}

// While a paste is private it can only be read by its id. Afterwards it has its old position again.
func TestToggle_KeepsThePosition(t *testing.T) {
	h := newPastes(t)
	first, middle := h.create(titled("1")), h.create(titled("2"))
	h.create(titled("3"))
	born := titled("4")
	born.IsPrivate = true
	private := h.create(born)
	h.wantLatest(h.Pastes, "3", "2", "1")
	for _, c := range []struct {
		made    *paste.Created
		private bool
		want    []string
	}{
		{middle, true, []string{"3", "1"}},
		{first, true, []string{"3"}},
		{private, false, []string{"4", "3"}},
		{middle, false, []string{"4", "3", "2"}},
		{first, false, []string{"4", "3", "2", "1"}},
	} {
		if err := h.setPrivate(c.made, c.private); err != nil {
			t.Fatal(err)
		}
		h.wantLatest(h.Pastes, c.want...)
		h.wantBody(h.Pastes, c.made.Paste.ID, "body of "+*c.made.Paste.Title)
	}
}
