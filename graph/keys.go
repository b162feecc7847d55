package graph

import "carrel/core/urlname"

// KeyedObject is the object that a key identifies: *library.Content, or a *Branch, *Revision,
// *Draft or *Suggestion of package note.
type KeyedObject any

// ParsedKey is a parsed key.
type ParsedKey struct{ urlname.Key }

// Kind returns the kind of object that the key identifies.
func (k *ParsedKey) Kind() urlname.Kind { return k.Key.Kind }

// CanonicalKey returns the key in its canonical form.
func (k *ParsedKey) CanonicalKey() string { return k.Key.String() }

// URL returns the part that identifies the item: its URL, or its id if it has none.
func (k *ParsedKey) URL() string { return k.Content }

// BranchNumber returns the number of the branch, or nil in the key of a content.
func (k *ParsedKey) BranchNumber() *int { return setFor(k.Key.Branch, k.Key.Kind != urlname.Content) }

// RevisionNumber returns the number of the revision, or nil in keys of other kinds.
func (k *ParsedKey) RevisionNumber() *int {
	return setFor(k.Key.Revision, k.Key.Kind == urlname.Revision)
}

// LocaleOrNull returns the locale, or nil if the key has none.
func (k *ParsedKey) LocaleOrNull() *string { return setFor(k.Key.Locale, k.Key.Locale != "") }

// UserID returns the user of a draft, or nil in keys of other kinds.
func (k *ParsedKey) UserID() *string { return setFor(k.Key.User, k.Key.Kind == urlname.Draft) }

// SuggestionID returns the id of a suggestion, or nil in keys of other kinds.
func (k *ParsedKey) SuggestionID() *string {
	return setFor(k.Key.Suggestion, k.Key.Kind == urlname.Suggestion)
}

// setFor returns a pointer to a value, or nil if it is not set.
func setFor[T any](v T, set bool) *T {
	if !set {
		return nil
	}
	return &v
}
