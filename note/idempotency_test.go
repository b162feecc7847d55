package note_test

import (
	"testing"

	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// keyedChanges are the mutations of an item that take an idempotency key. other is another input.
func (h pagesEnv) keyedChanges(key string) map[string]func(id string, other bool) error {
	ctx, ann := h.T.Context(), domaintest.Admin("u:acme:ann")
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
				Content: id, Members: domaintest.MemberChanges(pick(other, "u:acme:bob=VIEWER", "u:acme:bob=EDITOR")), IdempotencyKey: &key})
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
				in.ExpectedVersion = domaintest.Ptr(1)
			}
			_, err := h.Library.DeleteContent(ctx, ann, in)
			return err
		},
		"createBranch": func(id string, other bool) error {
			in := note.CreateBranch{ContentID: id, IdempotencyKey: &key}
			if other {
				in.CopyFrom = domaintest.Ptr(1)
			}
			_, err := h.pages.CreateBranch(ctx, ann, in)
			return err
		},
		"saveRevision": func(id string, other bool) error {
			_, err := h.pages.SaveRevision(ctx, ann, note.SaveRevision{ContentID: id, Title: pick(other, "a", "b"), IdempotencyKey: &key})
			return err
		},
		"suggestRevision": func(id string, other bool) error {
			_, err := h.pages.SuggestRevision(ctx, ann, note.SuggestRevision{ContentID: id, Title: pick(other, "a", "b"), IdempotencyKey: &key})
			return err
		},
	}
}

// The scope of an idempotency key is the viewer and the item: the same key with another item is another
// request, and with other input or another mutation of the same item it is refused.
func TestIdempotencyKey_ScopeIsTheViewerAndTheItem(t *testing.T) {
	for name := range (pagesEnv{Fixture: &domaintest.Fixture{T: t}}).keyedChanges("") {
		t.Run(name, func(t *testing.T) {
			h := newPagesEnv(t)
			one, two := h.Note("one", principal.Public, "u:acme:bob=VIEWER"), h.Note("two", principal.Public, "u:acme:bob=VIEWER")
			change := h.keyedChanges("key")[name]
			domaintest.WantFaults(t, change(string(one), false))
			first, second := h.Content(one), h.Content(two)
			domaintest.WantFaults(t, change(string(one), false))
			domaintest.WantFaults(t, change(string(one), true), "IDEMPOTENCY_MISMATCH")
			for other, call := range h.keyedChanges("key") {
				if other != name {
					domaintest.WantFaults(t, call(string(one), false), "IDEMPOTENCY_MISMATCH")
				}
			}
			if got := h.Content(one).Seq; got != first.Seq {
				t.Errorf("repetitions led from seq %d to %d", first.Seq, got)
			}
			domaintest.WantFaults(t, change(string(two), false))
			if got := h.Content(two).Seq; got <= second.Seq {
				t.Errorf("the request for another item has changed nothing")
			}
		})
	}
}
