package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"carrel/core/input"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

const (
	// textBytes is the length of the saved texts.
	textBytes = 10 << 10
	// manyRevisions is the number of revisions of the note with many revisions.
	manyRevisions = 10_000
)

// savedText is the text that is saved.
var savedText = strings.Repeat("0123456789abcde\n", textBytes/16)

// The required figures for notes, as ratios within one run.
const (
	wantedOfTexts  = 1.6
	wantedOfLookup = 2
	wantedOfSave   = 1.3
	wantedOfMany   = 1.2
)

// writer is the user whose notes are measured.
const writer principal.ID = "u:bench:writer"

// measureTexts compares reading and saving texts of notes with the same operations
// without texts.
func measureTexts(ctx context.Context, o *options, t *table) error {
	// No note is changed so often that its moves are deferred, so all changes cost the
	// same.
	g, err := o.fresh(ctx, filepath.Join(o.dir, "texts"), library.Tuning{HotMoves: 1 << 20})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.writeNotes(ctx); err != nil {
		return err
	}
	if err := g.measureTextReads(ctx, t); err != nil {
		return err
	}
	return g.measureSaves(ctx, t, manyRevisions, cpu, "in one process (CPU a save)")
}

// asWriter is the viewer whose notes are measured.
func asWriter() *principal.Viewer { return &principal.Viewer{User: writer, Admin: true} }

func noteURL(n int) string { return fmt.Sprintf("https://bench.example/notes/%d", n) }

func noteID(n int) string { return fmt.Sprintf("c:bench:note%d", n) }

// writeNotes creates a page of notes, each with a short text and a URL.
func (g *gateway) writeNotes(ctx context.Context) error {
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	for n := range pageSize {
		if err := g.writeNote(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// newNotes creates further notes.
func (g *gateway) newNotes(ctx context.Context, n int) error {
	return parallel(n, func(i int) error { return g.writeNote(ctx, pageSize+i) })
}

func (g *gateway) writeNote(ctx context.Context, n int) error {
	name, url, body, locale := fmt.Sprintf("note%d", n), noteURL(n), "a text", "en"
	_, err := g.service.Library.CreateContent(ctx, asWriter(), library.CreateContent{
		Name: &name, Kind: library.Note, Title: "A note", Visibility: principal.Public, URL: &url, Body: &body, Locale: &locale})
	return err
}

const notesQuery = `{ user(id: "u:bench:writer") { library(first: 20) {
	edges { cursor node { id title link visibility lastModified createdBy { id displayName } %s } }
	pageInfo { hasNextPage endCursor } } } }`

func (g *gateway) measureTextReads(ctx context.Context, t *table) error {
	var subjects []subject
	for _, s := range []struct{ name, query, want string }{
		{"page", fmt.Sprintf(notesQuery, ""), `"displayName"`},
		{"page with texts", fmt.Sprintf(notesQuery, "revision { title }"), `"revision":{"title":"A note"}`},
		{"content(id)", fmt.Sprintf(`{ content(id: %q) { id title } }`, noteID(3)), `"A note"`},
		{"contentByUrl", fmt.Sprintf(`{ contentByUrl(url: %q) { id title } }`, noteURL(3)), `"A note"`},
		{"byKey", fmt.Sprintf(`{ byKey(key: %q) { ... on Content { id title } } }`, noteURL(3)), `"A note"`},
	} {
		once, err := g.viaQuery(ctx, s.query, s.want)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{s.name, once})
	}
	costs, err := compare(subjects...)
	if err != nil {
		return err
	}
	t.title("Reading notes through the package edge (CPU a request)")
	t.figure("a page of 20 notes with creator", micros(costs[0].cpu))
	t.ratio("the same with revision { title }", micros(costs[1].cpu), ratio(costs[1], costs[0]), wantedOfTexts)
	t.figure("content(id)", micros(costs[2].cpu))
	t.ratio("contentByUrl", micros(costs[3].cpu), ratio(costs[3], costs[2]), wantedOfLookup)
	t.ratio("byKey with a URL", micros(costs[4].cpu), ratio(costs[4], costs[2]), wantedOfLookup)
	return nil
}

// viaQuery sends a query through the package edge as the writer; the response must contain want.
func (g *gateway) viaQuery(ctx context.Context, query, want string) (func() error, error) {
	return g.viaQueryOf(ctx, writer, query, want)
}

// viaQueryOf is viaQuery for another viewer.
func (g *gateway) viaQueryOf(ctx context.Context, viewer principal.ID, query, want string) (func() error, error) {
	h, token, err := g.handler(viewer)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(map[string]any{"query": query})
	if err != nil {
		return nil, err
	}
	body, w := string(b), newSink()
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, body)
		if err != nil {
			return err
		}
		w.reset()
		h.ServeHTTP(w, r)
		if got := w.body.Bytes(); w.status != http.StatusOK || !bytes.Contains(got, []byte(want)) || bytes.Contains(got, []byte(`"errors"`)) {
			return fmt.Errorf("status %d, not %s: %.300s", w.status, want, got)
		}
		return nil
	}, nil
}

const (
	// freshNotes is the number of notes with few revisions, and savesOfFresh how often
	// each is saved in a row.
	freshNotes   = 200
	savesOfFresh = 20
)

// save saves a text of a note, and publishes it.
func (g *gateway) save(ctx context.Context, note int) error {
	_, err := g.pages.SaveRevision(ctx, asWriter(), page.SaveRevision{ContentID: noteID(note), Title: "A note", Body: savedText, Publish: true})
	return err
}

// measureSaves compares saves of a text with updates of a title, and saves of a note with
// many revisions with those of a new one. of selects the cost that is compared.
func (g *gateway) measureSaves(ctx context.Context, t *table, revisions int, of func(cost) time.Duration, where string) error {
	title := 0
	update := func() error {
		title++
		changed := fmt.Sprintf("Title %d", title)
		_, err := g.service.Library.UpdateContent(ctx, asWriter(), library.UpdateContent{ID: noteID(0), Title: input.Some(&changed)})
		return err
	}
	many := func() error { return g.save(ctx, 1) }
	for range revisions {
		if err := many(); err != nil {
			return err
		}
	}
	// A note is saved several times in a row, as the one with many revisions is, before
	// the next one, so that none gets many.
	if err := g.newNotes(ctx, freshNotes); err != nil {
		return err
	}
	saves := 0
	few := func() error {
		saves++
		return g.save(ctx, pageSize+saves/savesOfFresh%freshNotes)
	}
	texts := 0
	store := func() error {
		texts++
		t := page.Text{Body: savedText, Item: library.ContentID(noteID(0))}
		binary.BigEndian.PutUint64(t.ID[8:], uint64(texts))
		if err := g.store.PutText(ctx, t); err != nil {
			return err
		}
		return update()
	}
	costs, err := compareBy(of,
		subject{"updateContent", update},
		subject{"saveRevision", few},
		subject{"saveRevision after many", many},
		subject{"updateContent and a text", store},
	)
	if err != nil {
		return err
	}
	times := func(a, b cost) float64 { return float64(of(a)) / float64(of(b)) }
	t.title("Saving a text of 10 KiB, %s", where)
	t.figure("updateContent, of a title", micros(of(costs[0])))
	t.figure("the same, compared with storing such a text", fmt.Sprintf("%s, %.2f x", micros(of(costs[3])), times(costs[3], costs[0])))
	t.ratio("saveRevision", micros(of(costs[1])), times(costs[1], costs[0]), wantedOfSave)
	t.ratio(fmt.Sprintf("saveRevision after %d revisions", revisions), micros(of(costs[2])), times(costs[2], costs[1]), wantedOfMany)
	return nil
}
