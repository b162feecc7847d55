package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// closed is a store whose libraries cannot be written while shut is set.
type closed struct {
	library.ContentStore
	shut atomic.Bool
}

func (c *closed) ApplyIndex(ctx context.Context, u *library.IndexUpdate) error {
	if c.shut.Load() {
		return errors.New("the library is closed")
	}
	return c.ContentStore.ApplyIndex(ctx, u)
}

// newClosed returns a Fixture with some users on such a store, whose failed writes are tried again soon.
func newClosed(t *testing.T) (*closed, *domaintest.Fixture) {
	g := domaintest.NewGateways(t)
	c := &closed{ContentStore: g.Through.Contents}
	g.Through.Contents = c
	h, _ := g.Open(0, true)
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan"} {
		h.User(u, principal.Public)
	}
	return c, h
}

// The repetitions of a request say RUNNING while its own change has not reached all libraries, also after
// a later change that is finished together with it, and COMPLETE from then on, whatever happens to later
// changes of the item.
func TestIdempotencyKey_FanOutNeverGoesBackToRunning(t *testing.T) {
	ann, k := domaintest.As("u:acme:ann"), domaintest.Ptr("k")
	const id = "c:acme:n"
	complete := func(out *library.ContentOutcome, err error) (bool, error) {
		if err != nil {
			return false, err
		}
		return out.FanOut.Complete, nil
	}
	for name, do := range map[string]func(h *domaintest.Fixture) (bool, error){
		"createContent": func(h *domaintest.Fixture) (bool, error) {
			return complete(h.Library.CreateContent(t.Context(), ann, library.CreateContent{Name: domaintest.Ptr("n"),
				Kind: library.Note, Title: "n",
				Visibility: principal.Public, Members: domaintest.MemberChanges("u:acme:bob=EDITOR"), IdempotencyKey: k}))
		},
		"updateContent": func(h *domaintest.Fixture) (bool, error) {
			return complete(h.Library.UpdateContent(t.Context(), ann,
				library.UpdateContent{ID: id, Title: input.Some(domaintest.Ptr("t")), IdempotencyKey: k}))
		},
		"shareContent": func(h *domaintest.Fixture) (bool, error) {
			return complete(h.Library.ShareContent(t.Context(), ann,
				library.ShareContent{Content: id, Principals: []string{"u:acme:cat"}, Role: library.Viewing, IdempotencyKey: k}))
		},
		"setContentMembers": func(h *domaintest.Fixture) (bool, error) {
			return complete(h.Library.SetContentMembers(t.Context(), ann,
				library.SetContentMembers{Content: id, Members: domaintest.MemberChanges("u:acme:cat=VIEWER"), IdempotencyKey: k}))
		},
		"removeFromLibrary": func(h *domaintest.Fixture) (bool, error) {
			return complete(h.Library.RemoveFromLibrary(t.Context(), domaintest.Bob(),
				library.RemoveFromLibrary{Principal: "u:acme:bob", Content: id, IdempotencyKey: k}))
		},
	} {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s fails at first %t", name, fails), func(t *testing.T) {
				c, h := newClosed(t)
				if name != "createContent" {
					h.Note("n", principal.Public, "u:acme:bob=EDITOR")
				}
				h.Quiet()
				want := func(when string, want bool) {
					t.Helper()
					if err := h.Journal.Beat(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got, err := do(h); err != nil || got != want {
						t.Errorf("%s: complete %t, %v, want %t", when, got, err, want)
					}
				}
				c.shut.Store(fails)
				want("the request", !fails)
				want("its repetition", !fails)
				c.shut.Store(true)
				for _, title := range []string{"later", "later still"} {
					if out, err := h.Library.UpdateContent(t.Context(), ann, library.UpdateContent{ID: id, Title: input.Some(&title)}); err != nil ||
						out.FanOut.Complete {
						t.Fatalf("a later change: %+v, %v", out, err)
					}
				}
				want("later changes are not complete", !fails)
				c.shut.Store(false)
				h.Quiet()
				want("all is complete", true)
				c.shut.Store(true)
				title := "last"
				if out, err := h.Library.UpdateContent(t.Context(), ann, library.UpdateContent{ID: id, Title: input.Some(&title)}); err != nil ||
					out.FanOut.Complete {
					t.Fatalf("the last change: %+v, %v", out, err)
				}
				want("the last change is not complete", true)
			})
		}
	}
}

// The repetitions of the deletion of an item, a user or a group say RUNNING until everything is removed, and
// COMPLETE from then on.
func TestIdempotencyKey_DeletionNeverGoesBackToRunning(t *testing.T) {
	c, h := newClosed(t)
	h.Group("g:acme:crew", "u:acme:cat", principal.Public)
	h.Note("n", principal.Public, "u:acme:bob=EDITOR", "g:acme:crew=VIEWER")
	k := domaintest.Ptr("k")
	h.Note("gone", principal.Public, "u:acme:dan=VIEWER")
	for name, do := range map[string]func() (*principal.Deletion, error){
		"deleteContent": func() (*principal.Deletion, error) {
			out, err := h.Library.DeleteContent(t.Context(), domaintest.Ann(), library.DeleteContent{ID: "c:acme:gone", IdempotencyKey: k})
			if err != nil {
				return nil, err
			}
			return &principal.Deletion{Complete: out.FanOut.Complete}, nil
		},
		"deleteUser": func() (*principal.Deletion, error) {
			return h.People.DeleteUser(t.Context(), domaintest.Bob(), principal.DeleteUser{ID: "u:acme:bob", IdempotencyKey: k})
		},
		"deleteGroup": func() (*principal.Deletion, error) {
			return h.People.DeleteGroup(t.Context(), domaintest.As("u:acme:cat"), principal.DeleteGroup{ID: "g:acme:crew", IdempotencyKey: k})
		},
	} {
		c.shut.Store(true)
		for range 2 {
			if d, err := do(); err != nil || d.Complete {
				t.Errorf("%s while a library is closed: %+v, %v", name, d, err)
			}
		}
		c.shut.Store(false)
		h.Quiet()
		c.shut.Store(true)
		for range 2 {
			if d, err := do(); err != nil || !d.Complete {
				t.Errorf("%s when everything is removed: %+v, %v", name, d, err)
			}
		}
		c.shut.Store(false)
	}
}
