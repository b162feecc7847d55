package nemesis

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

var (
	written0 = seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(owner)},
		Texts: []string{"0 before current working"}}
	written1 = seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(owner)},
		Texts: []string{"1 after working", "0 before current"}}
	notes = subject{table: "content", prefix: "c:acme:", make: createNote, look: (*fixture).lookAtNamed, before: written0}
	saved = subject{table: "content", prefix: "c:acme:", make: createSaved, look: (*fixture).lookAtNamed, before: written1}
)

// textOperations write revisions: one that only editors see, one that readers see at
// once, and one that readers see later.
var textOperations = []operation{
	{name: "save a revision", of: &notes, steps: []step{stepRead, stepText, stepDecide}, do: saveUnpublished,
		changes: func(s *seen) { s.Texts = written1.Texts }},
	{name: "save and publish a revision", of: &notes, steps: []step{stepRead, stepText, stepList, stepDecide, stepSnapshot,
		stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			return saveText(ctx, s, id, key, true)
		}, changes: func(s *seen) {
			s.Version, s.Title, s.Texts = 2, "after", []string{"1 after current working", "0 before"}
		}},
	{name: "publish a revision", of: &saved, steps: []step{stepRead, stepList, stepDecide, stepSnapshot, stepApply, stepCleanUp},
		do: publishSaved,
		changes: func(s *seen) {
			s.Version, s.Title, s.Texts = 2, "after", []string{"1 after current working", "0 before"}
		}},
}

func createNote(ctx context.Context, s *services, id string, key *string) error {
	name := library.ContentID(id).Name()
	_, err := s.Library.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note, Title: "before",
		Visibility: principal.Public, Body: &longText, IdempotencyKey: key})
	return err
}

func createSaved(ctx context.Context, s *services, id string, _ *string) error {
	if err := createNote(ctx, s, id, nil); err != nil {
		return err
	}
	return saveUnpublished(ctx, s, id, nil)
}

func saveUnpublished(ctx context.Context, s *services, id string, key *string) error {
	return saveText(ctx, s, id, key, false)
}

func saveText(ctx context.Context, s *services, id string, key *string, publish bool) error {
	_, err := s.pages.SaveRevision(ctx, ownerViewer(), note.SaveRevision{ContentID: id, Title: "after", Body: longText,
		Publish: publish, IdempotencyKey: key})
	return err
}

// publishSaved has no key: a repetition finds that the revision is already published.
func publishSaved(ctx context.Context, s *services, id string, _ *string) error {
	_, err := s.pages.PublishRevision(ctx, ownerViewer(), note.PublishRevision{ContentID: id, Branch: 1, Number: 1})
	return err
}

// texts lists the revisions of an item, newest first, each with its state.
func (r *fixture) texts(t *testing.T, id library.ContentID) (all []string) {
	t.Helper()
	s, v := r.healthy.service.pages, ownerViewer()
	branch, err := s.Branch(t.Context(), v, id, nil, false)
	if err != nil || branch == nil {
		t.Fatalf("%s has no branch: %v", id, err)
	}
	list, err := s.Revisions(t.Context(), branch, nil, cursor.PageArgs{})
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := s.Bodies(t.Context(), list.Nodes())
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range list.Nodes() {
		text := fmt.Sprint(n.Number, " ", n.Title)
		if n.IsCurrent {
			text += " current"
		}
		if n.IsWorking {
			text += " working"
		}
		if bodies[i] != longText {
			text += " without its text"
		}
		all = append(all, text)
	}
	return all
}
