package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/core/commit"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// pageState is the page of an item in one state, read from its rows. The check reads them
// itself, and shares no code with package note.
type pageState struct {
	begun                        bool
	own                          string // the item's own locale
	last, current, working, open int
	copied                       []int // the branch that each branch from 2 on is a copy of
	// shown is what the head, the part of the page in the item's header, says about the revisions
	// that readers see.
	shown       string
	lines       []pageLine
	revisions   []pageRevision
	suggestions []pageSuggestion
}

type pageLine struct {
	branch                 int
	locale                 string
	last, current, working int
}

// pageText is a text with the title that it belongs to.
type pageText struct {
	title, body string
	id          note.TextID // zero: the body is in the row
}

type pageRevision struct {
	branch int
	locale string
	number int
	pageText
	author     principal.ID
	base       int
	suggestion string
}

type pageSuggestion struct {
	id     string
	branch int
	locale string
	pageText
	author   principal.ID
	base     int
	state    note.State
	by       principal.ID
	revision int
}

// errPageRow is the error of a row that the check cannot read.
var errPageRow = errors.New("a row of its page cannot be read")

// decodePage reads a page from its head and its rows, which are in order of kinds and keys.
func decodePage(head []byte, rows []library.Row) (*pageState, error) {
	s := &pageState{last: 1, current: 1, working: 1}
	if head != nil {
		in := commit.NewReader(head)
		in.Byte()
		s.begun, s.own = in.Byte() == 1, in.Text()
		s.last, s.current, s.working, s.open = int(in.Int()), int(in.Int()), int(in.Int()), int(in.Int())
		s.shown = fmt.Sprintf("%q", in.Text())
		for n := in.Int(); n > 0 && in.OK(); n-- {
			s.shown += fmt.Sprintf(" %q %d", in.Text(), in.Int())
		}
		if !in.OK() || in.More() {
			return nil, errPageRow
		}
	}
	for _, r := range rows {
		in := commit.NewReader(r.Value)
		in.Byte() // the version
		parts := strings.Split(r.Key, "/")
		branch, _ := strconv.Atoi(parts[0])
		switch {
		case r.Kind == library.FirstRowKind && len(parts) == 1:
			in.Int()
			in.Text()
			s.copied = append(s.copied, int(in.Int()))
		case r.Kind == library.FirstRowKind:
			s.lines = append(s.lines, pageLine{branch, parts[1], int(in.Int()), int(in.Int()), int(in.Int())})
		case r.Kind == library.FirstRowKind+1:
			number, _ := strconv.Atoi(parts[2])
			s.revisions = append(s.revisions, readRevision(&in, branch, parts[1], number))
		default:
			s.suggestions = append(s.suggestions, readSuggestion(&in, r.Key))
		}
		if !in.OK() || in.More() {
			return nil, errPageRow
		}
	}
	return s, nil
}

func readTextID(in *commit.Reader) (id note.TextID) {
	for i := range id {
		id[i] = in.Byte()
	}
	return id
}

func readRevision(in *commit.Reader, branch int, locale string, number int) pageRevision {
	v := pageRevision{branch: branch, locale: locale, number: number}
	v.title = in.Text()
	if in.Byte() == 1 {
		v.id = readTextID(in)
		in.Int()
	} else {
		v.body = in.Text()
	}
	v.author = principal.ID(in.Text())
	in.Int()
	v.base, v.suggestion = int(in.Int()), in.Text()
	return v
}

func readSuggestion(in *commit.Reader, key string) pageSuggestion {
	g := pageSuggestion{id: key, branch: int(in.Int()), locale: in.Text()}
	g.title = in.Text()
	if in.Byte() == 1 {
		in.Text() // the note
	}
	in.Int()
	g.author = principal.ID(in.Text())
	in.Int()
	g.base, g.state, g.by, g.revision = int(in.Int()), note.State(in.Int()), principal.ID(in.Text()), int(in.Int())
	g.pageText.id, _ = note.ParseTextID(key)
	return g
}

// mustShow returns what the head must say about the revisions that readers see: the title of
// the one in the item's own locale, and all numbers in order of their locales.
func (s *pageState) mustShow() string {
	title, shown := "", ""
	for _, l := range s.lines { // which are in order of their locales
		if l.branch != s.current || l.current == note.None {
			continue
		}
		shown += fmt.Sprintf(" %q %d", l.locale, l.current)
		if v := s.revision(l.branch, l.locale, l.current); v != nil && l.locale == s.own {
			title = v.title
		}
	}
	return fmt.Sprintf("%q", title) + shown
}

// texts returns the texts that rows refer to.
func (s *pageState) texts() (all []pageText) {
	for _, v := range s.revisions {
		all = append(all, v.pageText)
	}
	for _, g := range s.suggestions {
		all = append(all, g.pageText)
	}
	return all
}

// line returns the line of a locale, which is empty if it has no revision.
func (s *pageState) line(branch int, locale string) pageLine {
	if l := first(s.lines, func(l pageLine) bool { return l.branch == branch && l.locale == locale }); l != nil {
		return *l
	}
	return pageLine{branch, locale, note.None, note.None, note.None}
}

// put stores a line, and replaces that of its locale.
func (s *pageState) put(l pageLine) {
	i := slices.IndexFunc(s.lines, func(current pageLine) bool { return current.branch == l.branch && current.locale == l.locale })
	s.lines = putAt(s.lines, i, l)
}

// revision returns a revision, or nil.
func (s *pageState) revision(branch int, locale string, number int) *pageRevision {
	return first(s.revisions, func(v pageRevision) bool { return v.branch == branch && v.locale == locale && v.number == number })
}

// first returns the first value of a list that is as wanted, or nil.
func first[T any](list []T, wanted func(T) bool) *T {
	if i := slices.IndexFunc(list, wanted); i >= 0 {
		return &list[i]
	}
	return nil
}

// suggestion returns a suggestion, or nil.
func (s *pageState) suggestion(id string) *pageSuggestion {
	return first(s.suggestions, func(g pageSuggestion) bool { return g.id == id })
}

// clone returns a page that shares nothing with s.
func (s *pageState) clone() *pageState {
	c := *s
	c.copied, c.lines = slices.Clone(s.copied), slices.Clone(s.lines)
	c.revisions, c.suggestions = slices.Clone(s.revisions), slices.Clone(s.suggestions)
	return &c
}

// pageNow returns the page of an item as it was last decided; ok is false if the item does not
// exist.
func (h *History) pageNow(id library.ContentID) (now *pageState, ok bool) {
	states := h.of(id).states
	if len(states) == 0 || states[len(states)-1].header.State != commit.Live {
		return nil, false
	}
	now, err := states[len(states)-1].page()
	return now, err == nil
}

// page returns the page of a state.
func (s *contentState) page() (*pageState, error) { return decodePage(s.header.Page, s.rows) }
