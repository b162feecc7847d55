package library_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// counter is the row that the changes of these tests increment.
var counter = library.RowKey{Kind: 200, Key: "counter"}

// counted returns the change that increments the row of an item. Its answer is the new value.
func counted(id library.ContentID, change func(e *library.Edit)) library.ItemChange {
	return library.ItemChange{
		ID: id, Path: "contentId", Editors: true,
		Rows: func(h *library.Header) []library.RowKey {
			// The guess for an empty header is wrong on purpose.
			return []library.RowKey{{Kind: counter.Kind, Key: counter.Key + string(h.ID)}, counter}
		},
		Plan: func(_ context.Context, t *library.ItemReading) (*library.Edit, error) {
			n := 0
			if v := t.Rows[1].Value; v != nil {
				var err error
				if n, err = strconv.Atoi(string(v)); err != nil {
					return nil, err
				}
			}
			next := []byte(strconv.Itoa(n + 1))
			e := &library.Edit{Page: next, Rows: []library.Row{{RowKey: counter, Value: next}}, Answer: next}
			if change != nil {
				change(e)
			}
			return e, nil
		},
	}
}

// changeItem makes a change of an item as a mutation of a viewer. If key is not "", it is the
// idempotency key.
func changeItem(ctx context.Context, svc *domain.Services, v *principal.Viewer, key string,
	in library.ItemChange) (*library.ContentOutcome, error) {
	var input struct{ Key *string }
	if key != "" {
		input.Key = &key
	}
	var err error
	in.Mutation, err = svc.People.BeginAsActor(v, in.ID.Tenant(), commit.Call{Name: "count", Input: &input, Key: &input.Key})
	if err != nil {
		return nil, err
	}
	return svc.Library.ChangeItem(ctx, v, in)
}

func visibly(title *string) func(*library.Edit) {
	return func(e *library.Edit) { e.Visible, e.Title = true, title }
}

func TestChangeItem_MovesTheItemIfReadersSeeIt(t *testing.T) {
	h := domaintest.Staff(t, nil)
	id := h.Note("n", principal.Public)
	before := h.Content(id)
	out, err := changeItem(t.Context(), h.Services, domaintest.Ann(), "", counted(id, nil))
	if err != nil || string(out.Answer) != "1" {
		t.Fatalf("answer %q, %v", out.Answer, err)
	}
	quiet := h.Content(id)
	if quiet.Version != before.Version || quiet.LastModified != before.LastModified || quiet.Position != before.Position ||
		string(quiet.Page) != "1" {
		t.Errorf("nobody sees the change, and the item went from %+v to %+v", before, quiet)
	}
	out, err = changeItem(t.Context(), h.Services, domaintest.Ann(), "", counted(id, visibly(domaintest.Ptr("other"))))
	if err != nil || string(out.Answer) != "2" || out.FanOut.Libraries != 1 {
		t.Fatalf("answer %q, fan-out %+v, %v", out.Answer, out.FanOut, err)
	}
	seen := h.Content(id)
	if seen.Version != before.Version+1 || seen.LastModified <= before.LastModified || seen.Position != seen.LastModified ||
		seen.Title != "other" {
		t.Errorf("readers see the change, and the item went from %+v to %+v", quiet, seen)
	}
	// The page and the row are removed, because the audit knows only those of package note.
	if _, err := changeItem(t.Context(), h.Services, domaintest.Ann(), "",
		counted(id, func(e *library.Edit) { e.Page, e.Rows[0].Value = nil, nil })); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	h.WantTitles(domaintest.Ann(), "u:acme:ann", "other")
	h.WantClean()
}

func TestChangeItem_ChecksTheRightsOfTheViewer(t *testing.T) {
	h := domaintest.Staff(t, nil)
	id := h.Note("n", principal.Private, "u:acme:bob=VIEWER")
	change := counted(id, nil)
	_, err := changeItem(t.Context(), h.Services, domaintest.Bob(), "", change)
	domaintest.WantFaults(t, err, "FORBIDDEN contentId")
	change.Editors = false
	if _, err := changeItem(t.Context(), h.Services, domaintest.Bob(), "", change); err != nil {
		t.Errorf("a change that needs no editor: %v", err)
	}
	h.User("u:acme:eve", principal.Public)
	_, err = changeItem(t.Context(), h.Services, domaintest.As("u:acme:eve"), "", change)
	domaintest.WantFaults(t, err, "NOT_FOUND contentId")
	_, err = changeItem(t.Context(), h.Services, domaintest.Anonymous(), "", change)
	domaintest.WantReason(t, err, fault.Unauthenticated, "")
}

// A repetition is answered with the first outcome, and writes nothing.
func TestChangeItem_RepetitionHasTheFirstOutcome(t *testing.T) {
	h := domaintest.Staff(t, nil)
	id := h.Note("n", principal.Public)
	change := counted(id, nil)
	for range 2 {
		out, err := changeItem(t.Context(), h.Services, domaintest.Ann(), "key", change)
		if err != nil || string(out.Answer) != "1" {
			t.Fatalf("answer %q, %v", out.Answer, err)
		}
	}
	nothing := change
	nothing.Plan = func(context.Context, *library.ItemReading) (*library.Edit, error) { return nil, nil }
	before := h.Content(id)
	if _, err := changeItem(t.Context(), h.Services, domaintest.Ann(), "", nothing); err != nil {
		t.Fatal(err)
	}
	if after := h.Content(id); after.Seq != before.Seq {
		t.Errorf("nothing was to be changed, and the state is %d after %d", after.Seq, before.Seq)
	}
}

// No change is lost if two processes change one item concurrently.
func TestChangeItem_ConcurrentChangesAreAllMade(t *testing.T) {
	h := domaintest.Staff(t, nil)
	id := h.Note("n", principal.Public)
	services := []*domain.Services{h.Services, h.After(0)}
	const each = 10
	answers := make(chan string, 2*each)
	var wg sync.WaitGroup
	for i := range 2 * each {
		wg.Go(func() {
			for {
				out, err := changeItem(t.Context(), services[i%2], domaintest.Ann(), "", counted(id, nil))
				if fault.ReasonOf(err) == fault.ReasonContention {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				answers <- string(out.Answer)
				return
			}
		})
	}
	wg.Wait()
	close(answers)
	got := map[string]bool{}
	for a := range answers {
		got[a] = true
	}
	for n := 1; n <= 2*each; n++ {
		if !got[strconv.Itoa(n)] {
			t.Errorf("nobody counted %d: %v", n, got)
		}
	}
}
