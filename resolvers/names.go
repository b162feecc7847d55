package resolvers

import (
	"context"

	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/urlname"
	"carrel/graph"
	"carrel/library"
	"carrel/note"
)

// ContentByURL returns the item with a URL.
func (q queries) ContentByURL(ctx context.Context, url string, tenant *string) (*library.Content, error) {
	item, err := q.Library.ContentByURL(ctx, viewer(ctx), url, tenant)
	if err != nil || item == nil {
		return nil, err
	}
	loaders(ctx).Items(item)
	return item, nil
}

// CanonicalURL returns the canonical form of a URL.
func (q queries) CanonicalURL(_ context.Context, url string) (string, error) {
	canonical, err := urlname.Canonical(url)
	if err != nil {
		return "", fault.BadInputf("%s", err)
	}
	return canonical, nil
}

// ParseKey parses a key.
func (q queries) ParseKey(_ context.Context, key string) (*graph.ParsedKey, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	return &graph.ParsedKey{Key: parsed}, nil
}

// ByKey returns the object that a key identifies.
func (q queries) ByKey(ctx context.Context, key string, tenant *string) (graph.KeyedObject, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	item, err := q.keyedContent(ctx, parsed, tenant)
	if err != nil || item == nil {
		return nil, err
	}
	v := viewer(ctx)
	switch parsed.Kind {
	case urlname.Branch:
		return keyed(q.Notes.Branch(ctx, v, item.ID, &parsed.Branch, false))
	case urlname.Revision:
		return keyed(q.Notes.Revision(ctx, v, item.ID, note.RevisionKey{Branch: parsed.Branch, Locale: parsed.Locale, Number: parsed.Revision}))
	case urlname.Draft:
		if string(v.User) != parsed.User {
			return nil, nil
		}
		return keyed(q.Notes.Draft(ctx, v, item.ID, parsed.Branch, parsed.Locale))
	case urlname.Suggestion:
		return keyed(q.suggestionOf(ctx, item, parsed))
	}
	return item, nil
}

// keyed converts a result to the union type, so that nil has no type.
func keyed[T any](found *T, err error) (graph.KeyedObject, error) {
	if err != nil || found == nil {
		return nil, err
	}
	return found, nil
}

// suggestionOf returns the suggestion of a key, if its other parts match.
func (q queries) suggestionOf(ctx context.Context, item *library.Content, k urlname.Key) (*note.Suggestion, error) {
	s, err := q.Notes.Suggestion(ctx, viewer(ctx), k.Suggestion)
	if err != nil || s == nil || s.Content.ID != item.ID || s.Branch != k.Branch || s.Locale != k.Locale {
		return nil, err
	}
	return s, nil
}

// keyedContent returns the item of a key, by its URL or its id.
func (q queries) keyedContent(ctx context.Context, k urlname.Key, tenant *string) (*library.Content, error) {
	if k.IsID() {
		return q.Content(ctx, k.Content)
	}
	return q.ContentByURL(ctx, k.Content, tenant)
}

// parseKey parses a key and checks the ids in it.
func parseKey(key string) (urlname.Key, error) {
	k, err := urlname.ParseKey(key)
	switch {
	case err != nil:
		return k, fault.BadInputf("%s", err)
	case k.IsID() && id.KindOf(k.Content) != id.Content:
		return k, fault.BadInputf("the key starts with neither a URL nor the id of a content, c:<tenant>:<name>")
	case k.Kind == urlname.Draft && id.KindOf(k.User) != id.User:
		return k, fault.BadInputf("the key of a draft names a user: #user/u:<tenant>:<name>/1")
	}
	return k, nil
}
