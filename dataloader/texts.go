package dataloader

import (
	"context"
	"sync"

	"carrel/library"
	"carrel/note"
)

// texts are the loaders of texts, one for each different query of an operation.
type texts struct {
	load func(q note.TextQuery) *Loader[library.ContentID, *note.Revision]

	mu       sync.Mutex
	expected []library.ContentID
	loaders  map[string]*Loader[library.ContentID, *note.Revision]
}

// Text loads the text of an item for a query. It returns nil if there is none that the viewer may
// see. The texts of all announced items are loaded with it.
func (l *Loaders) Text(ctx context.Context, id library.ContentID, q note.TextQuery) (*note.Revision, error) {
	return l.texts.of(q).Load(ctx, id)
}

func (t *texts) of(q note.TextQuery) *Loader[library.ContentID, *note.Revision] {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := q.Key()
	l := t.loaders[key]
	if l == nil {
		l = t.load(q)
		l.Expect(t.expected)
		if t.loaders == nil {
			t.loaders = map[string]*Loader[library.ContentID, *note.Revision]{}
		}
		t.loaders[key] = l
	}
	return l
}

// expect announces items whose texts may be loaded.
func (t *texts) expect(ids []library.ContentID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = append(t.expected, ids...)
	for _, l := range t.loaders {
		l.Expect(ids)
	}
}

func (t *texts) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected, t.loaders = nil, nil
}
