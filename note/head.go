package note

import (
	"encoding/binary"
	"errors"
	"math"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// None is the number that means no revision.
const None = -1

// Head is the part of an item's header about its page.
type Head struct {
	// Begun is whether there is a revision. If so, Locale is the item's own locale, that of its
	// first revision.
	Begun  bool
	Locale string
	// Last is the number of branches. Branches are numbered from 1, and none is removed.
	Last int
	// Current is the branch that visitors see, Working the one that editors work on.
	Current, Working int
	// Open is the number of OPEN suggestions.
	Open int
	// Shown are the current revisions of the current branch, ordered by locale, and Title is
	// the title of the one in the item's own locale. They let a page of a library show titles
	// without reading further rows.
	Shown []Shown
	Title string
}

// Shown is a revision that visitors see.
type Shown struct {
	Locale string
	Number int
}

// newHead is the head of an item without any text. Branch 1 exists from the start.
var newHead = Head{Last: 1, Current: 1, Working: 1}

// HasBranch reports whether the page has a branch of that number.
func (h *Head) HasBranch(n int) bool { return n >= 1 && n <= h.Last }

// branchRow is the row of a branch. Branch 1 has none, because it is as old as its item.
type branchRow struct {
	CreatedAt  clock.Instant
	By         principal.ID
	CopiedFrom int // 0 if the branch is not a copy
}

// LocaleRow is the row of a locale in a branch: the numbers of its revisions.
type LocaleRow struct {
	// Last is the greatest number, or None if the locale has no revision.
	Last int
	// Current is the revision that visitors see if the branch is current, or None if nothing
	// was published. Working is the revision that was saved last.
	Current, Working int
}

// noRevisions is the LocaleRow of a locale without revisions.
var noRevisions = LocaleRow{None, None, None}

// text is the body of a revision, a draft or a suggestion. A short body of a revision or a draft is
// in its row.
type text struct {
	ID   TextID // zero if the body is in Body
	Body string
	Size int // of the body, in bytes
}

// revisionRow is the row of a revision. It is never changed.
type revisionRow struct {
	Title     string
	Text      text
	Author    principal.ID
	CreatedAt clock.Instant
	// Base is the number of the revision that the text was made from, or None if unknown.
	Base int
	// Suggestion is the id of the suggestion that was accepted as this revision, or "".
	Suggestion string
}

// State is the state of a suggestion.
type State uint8

// The states of suggestions. All but Open are final.
const (
	Open      State = 1
	Accepted  State = 2
	Rejected  State = 3
	Withdrawn State = 4
)

// stateNames are the names of the states in the API contract.
var stateNames = [...]string{Open: "OPEN", Accepted: "ACCEPTED", Rejected: "REJECTED", Withdrawn: "WITHDRAWN"}

// String returns the name of the state in the API contract, or "" for no state.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return ""
}

// ParseState returns the state with a name. ok is false for any other text.
func ParseState(name string) (s State, ok bool) {
	for s := Open; s <= Withdrawn; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// suggestionRow is the row of a suggestion. Its text has the id of the suggestion.
type suggestionRow struct {
	Branch    int
	Locale    string
	Title     string
	Note      *string
	Size      int // of the text, in bytes
	Author    principal.ID
	CreatedAt clock.Instant
	Base      int // the current revision when the suggestion was made, or None
	State     State
	DecidedBy principal.ID // "" while OPEN
	// Revision is the number of the revision that the suggestion became, or None.
	Revision int
}

// errRow is the error of a row that cannot be decoded.
var errRow = errors.New("a row of a page is damaged, or of a later version of this program")

// rowVersion is the first byte of every value that this package stores in an item.
const rowVersion = 1

// Encode encodes the head for the header.
func (h Head) Encode() []byte {
	w := writer{rowVersion}
	w.flag(h.Begun)
	w.text(h.Locale)
	w.ints(h.Last, h.Current, h.Working, h.Open)
	w.text(h.Title)
	w.ints(len(h.Shown))
	for _, s := range h.Shown {
		w.text(s.Locale)
		w.ints(s.Number)
	}
	return w
}

// DecodeHead decodes the head of a page from the header of an item. b is nil if there was no text
// yet.
func DecodeHead(b []byte) (h Head, err error) {
	if b == nil {
		return newHead, nil
	}
	r := readRow(b)
	h.Begun, h.Locale = r.flag(), r.Text()
	r.ints(&h.Last, &h.Current, &h.Working, &h.Open)
	h.Title = r.Text()
	var n int
	if r.ints(&n); n < 0 || n > MaxLocales {
		return Head{}, errRow
	}
	if n > 0 {
		h.Shown = make([]Shown, n)
	}
	for i := range h.Shown {
		h.Shown[i].Locale = r.Text()
		r.ints(&h.Shown[i].Number)
	}
	if !h.HasBranch(h.Current) || !h.HasBranch(h.Working) || h.Open < 0 {
		return Head{}, errRow
	}
	return h, r.end()
}

func (b branchRow) encode() []byte {
	w := writer{rowVersion}
	w.instant(b.CreatedAt)
	w.text(string(b.By))
	w.ints(b.CopiedFrom)
	return w
}

func decodeBranch(b []byte) (row branchRow, err error) {
	r := readRow(b)
	row.CreatedAt, row.By = clock.Instant(r.Int()), principal.ID(r.Text())
	r.ints(&row.CopiedFrom)
	return row, r.end()
}

func (l LocaleRow) encode() []byte {
	w := writer{rowVersion}
	w.ints(l.Last, l.Current, l.Working)
	return w
}

// decodeLocaleRow decodes the row of a locale. b is nil if the locale has no revision.
func decodeLocaleRow(b []byte) (l LocaleRow, err error) {
	if b == nil {
		return noRevisions, nil
	}
	r := readRow(b)
	r.ints(&l.Last, &l.Current, &l.Working)
	if l.Last < 0 || l.Current < None || l.Current > l.Last || l.Working < None || l.Working > l.Last {
		return LocaleRow{}, errRow
	}
	return l, r.end()
}

func (row revisionRow) encode() []byte {
	w := writer{rowVersion}
	w.text(row.Title)
	w.body(row.Text)
	w.text(string(row.Author))
	w.instant(row.CreatedAt)
	w.ints(row.Base)
	w.text(row.Suggestion)
	return w
}

func decodeRevision(b []byte) (row revisionRow, err error) {
	r := readRow(b)
	row.Title, row.Text = r.Text(), r.body()
	row.Author, row.CreatedAt = principal.ID(r.Text()), clock.Instant(r.Int())
	r.ints(&row.Base)
	row.Suggestion = r.Text()
	return row, r.end()
}

func (row suggestionRow) encode() []byte {
	w := writer{rowVersion}
	w.ints(row.Branch)
	w.text(row.Locale)
	w.text(row.Title)
	w.flag(row.Note != nil)
	if row.Note != nil {
		w.text(*row.Note)
	}
	w.ints(row.Size)
	w.text(string(row.Author))
	w.instant(row.CreatedAt)
	w.ints(row.Base, int(row.State))
	w.text(string(row.DecidedBy))
	w.ints(row.Revision)
	return w
}

func decodeSuggestion(b []byte) (row suggestionRow, err error) {
	r := readRow(b)
	r.ints(&row.Branch)
	row.Locale, row.Title = r.Text(), r.Text()
	if r.flag() {
		note := r.Text()
		row.Note = &note
	}
	r.ints(&row.Size)
	row.Author, row.CreatedAt = principal.ID(r.Text()), clock.Instant(r.Int())
	var state int
	r.ints(&row.Base, &state)
	if state < int(Open) || state > int(Withdrawn) {
		return suggestionRow{}, errRow
	}
	row.State, row.DecidedBy = State(state), principal.ID(r.Text())
	r.ints(&row.Revision)
	return row, r.end()
}

// writer appends the fields of a row.
type writer []byte

func (w *writer) text(s string)           { *w = commit.AppendText(*w, s) }
func (w *writer) instant(t clock.Instant) { *w = binary.AppendVarint(*w, int64(t)) }

func (w *writer) ints(ns ...int) {
	for _, n := range ns {
		*w = binary.AppendVarint(*w, int64(n))
	}
}

func (w *writer) flag(set bool) {
	if set {
		*w = append(*w, 1)
	} else {
		*w = append(*w, 0)
	}
}

// reader decodes the fields of a row. end returns an error if any of them could not be decoded.
type reader struct{ commit.Reader }

func readRow(b []byte) *reader {
	r := &reader{commit.NewReader(b)}
	if r.Byte() != rowVersion {
		r.Fail()
	}
	return r
}

func (r *reader) ints(ns ...*int) {
	for _, n := range ns {
		v := r.Int()
		if v < None || v > math.MaxInt32 {
			r.Fail()
			v = 0
		}
		*n = int(v)
	}
}

func (r *reader) flag() bool {
	b := r.Byte()
	if b > 1 {
		r.Fail()
	}
	return b == 1
}

// body appends a text: the id of a long one, or a short one itself.
func (w *writer) body(t text) {
	w.flag(t.ID != TextID{})
	if t.ID != (TextID{}) {
		*w = append(*w, t.ID[:]...)
		w.ints(t.Size)
	} else {
		w.text(t.Body)
	}
}

func (r *reader) body() (t text) {
	if r.flag() {
		t.ID = r.textID()
		r.ints(&t.Size)
	} else {
		t.Body = r.Text()
		t.Size = len(t.Body)
	}
	return t
}

func (r *reader) textID() (id TextID) {
	r.Fill(id[:])
	return id
}

func (r *reader) end() error {
	if !r.End() {
		return errRow
	}
	return nil
}
