package page_test

import (
	"testing"

	"carrel/backend/backendtest"
	"carrel/core/input"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

// keyedChanges are the mutations of an item that take an idempotency key. other is another input.
func (h pagesEnv) keyedChanges(key string) map[string]func(id string, other bool) error {
	ctx, ann := h.T.Context(), backendtest.Admin("u:acme:ann")
	pick := func(other bool, a, b string) string {
		if other {
			return b
		}
		return a
	}
	return map[string]func(id string, other bool) error{
		"updateContent": func(id string, other bool) error {
			title := pick(other, "a", "b")
			_, err := h.Library.UpdateContent(ctx, ann, library.UpdateContent{ID: id, Title: input.Some(&title), IdempotencyKey: &key})
			return err
		},
		"moveContent": func(id string, other bool) error {
			url := "https://example.com/" + id + pick(other, "a", "b")
			_, err := h.Library.MoveContent(ctx, ann, library.MoveContent{ID: id, URL: input.Some(&url), IdempotencyKey: &key})
			return err
		},
		"shareContent": func(id string, other bool) error {
			_, err := h.Library.ShareContent(ctx, ann, library.ShareContent{
				Content: id, Principals: []string{pick(other, "u:acme:bob", "u:acme:dan")}, Role: library.Viewing, IdempotencyKey: &key})
			return err
		},
		"setContentMembers": func(id string, other bool) error {
			_, err := h.Library.SetContentMembers(ctx, ann, library.SetContentMembers{
				Content: id, Members: backendtest.MemberChanges(pick(other, "u:acme:bob=VIEWER", "u:acme:bob=EDITOR")), IdempotencyKey: &key})
			return err
		},
		"removeFromLibrary": func(id string, other bool) error {
			_, err := h.Library.RemoveFromLibrary(ctx, ann, library.RemoveFromLibrary{
				Content: id, Principal: pick(other, "u:acme:bob", "u:acme:dan"), IdempotencyKey: &key})
			return err
		},
		"deleteContent": func(id string, other bool) error {
			in := library.DeleteContent{ID: id, IdempotencyKey: &key}
			if other {
				in.ExpectedVersion = backendtest.Ptr(1)
			}
			_, err := h.Library.DeleteContent(ctx, ann, in)
			return err
		},
		"createBranch": func(id string, other bool) error {
			in := page.CreateBranch{ContentID: id, IdempotencyKey: &key}
			if other {
				in.CopyFrom = backendtest.Ptr(1)
			}
			_, err := h.pages.CreateBranch(ctx, ann, in)
			return err
		},
		"saveRevision": func(id string, other bool) error {
			_, err := h.pages.SaveRevision(ctx, ann, page.SaveRevision{ContentID: id, Title: pick(other, "a", "b"), IdempotencyKey: &key})
			return err
		},
		"suggestRevision": func(id string, other bool) error {
			_, err := h.pages.SuggestRevision(ctx, ann, page.SuggestRevision{ContentID: id, Title: pick(other, "a", "b"), IdempotencyKey: &key})
			return err
		},
	}
}

// The scope of an idempotency key is the viewer and the item: the same key with another item is another
// request, and with other input or another mutation of the same item it is refused.
func TestIdempotencyKey_ScopeIsTheViewerAndTheItem(t *testing.T) {
	for name := range (pagesEnv{Fixture: &backendtest.Fixture{T: t}}).keyedChanges("") {
		t.Run(name, func(t *testing.T) {
			h := newPagesEnv(t)
			one, two := h.Note("one", principal.Public, "u:acme:bob=VIEWER"), h.Note("two", principal.Public, "u:acme:bob=VIEWER")
			change := h.keyedChanges("key")[name]
			backendtest.WantFaults(t, change(string(one), false))
			first, second := h.Content(one), h.Content(two)
			backendtest.WantFaults(t, change(string(one), false))
			backendtest.WantFaults(t, change(string(one), true), "IDEMPOTENCY_MISMATCH")
			for other, call := range h.keyedChanges("key") {
				if other != name {
					backendtest.WantFaults(t, call(string(one), false), "IDEMPOTENCY_MISMATCH")
				}
			}
			if got := h.Content(one).Seq; got != first.Seq {
				t.Errorf("repetitions led from seq %d to %d", first.Seq, got)
			}
			backendtest.WantFaults(t, change(string(two), false))
			if got := h.Content(two).Seq; got <= second.Seq {
				t.Errorf("the request for another item has changed nothing")
			}
		})
	}
}
