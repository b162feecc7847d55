package note

import (
	"slices"
	"strconv"
	"strings"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/principal"
)

// The limits of a page.
const (
	// MaxBranches is how many branches an item may have, MaxLocales how many locales a branch
	// may have. The current texts of all locales are copied in one write.
	MaxBranches = 1000
	MaxLocales  = 100
	// MaxOpen is how many OPEN suggestions an item may have.
	MaxOpen = 1000
)

// branchLocale is a locale in a branch.
type branchLocale struct {
	Branch int
	Locale string
}

func (p branchLocale) rowKey() library.RowKey { return localeKey(p.Branch, p.Locale) }

// edit is a change of a page that is being planned. Its methods change only the edit itself.
type edit struct {
	head    Head
	rows    []library.Row
	visible bool
	title   *string
}

func (e *edit) put(key library.RowKey, value []byte) {
	e.rows = append(e.rows, library.Row{RowKey: key, Value: value})
}

// libraryEdit returns the edit for package library, which decides it.
func (e *edit) libraryEdit(answer []byte) *library.Edit {
	return &library.Edit{Page: e.head.Encode(), Rows: e.rows, Visible: e.visible, Title: e.title, Answer: answer}
}

// show makes visitors see a revision, the current one of a branch and locale, if the branch is
// current. In the item's own locale, the title of the revision becomes that of the item.
func (e *edit) show(at branchLocale, number int, title string) {
	if at.Branch != e.head.Current {
		return
	}
	e.visible = true
	shown := slices.Clone(e.head.Shown)
	i, found := slices.BinarySearchFunc(shown, at.Locale, func(s Shown, locale string) int { return strings.Compare(s.Locale, locale) })
	if !found {
		shown = slices.Insert(shown, i, Shown{Locale: at.Locale})
	}
	shown[i].Number = number
	e.head.Shown = shown
	if at.Locale == e.head.Locale {
		e.title, e.head.Title = &title, title
	}
}

// checkBase returns an error if a text was made from another revision than the current one. If base
// is nil, it does not check that. field is the part of the input by which it can be saved all the same:
// baseRevision or force.
func checkBase(base *int, l LocaleRow, field string) error {
	if base == nil || *base == l.Current {
		return nil
	}
	msg := "there is no current revision any more; your text was made from one"
	if l.Current != None {
		msg = "revision " + strconv.Itoa(l.Current) + " is current, but this text was made from another one: compare them, and "
		if field == "force" {
			msg += "use force to publish it all the same"
		} else {
			msg += "save with " + field + " " + strconv.Itoa(l.Current)
		}
	}
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonRevision, Path: []string{field}, Msg: msg}
}

// save adds a revision to a branch and locale, whose row is l, and returns its number.
func (e *edit) save(at branchLocale, l LocaleRow, row revisionRow, publish bool) (int, error) {
	if l.Last >= urlname.MaxNumber {
		return 0, fault.TooManyf(nil, "a locale of a branch has at most %d revisions; begin another branch", urlname.MaxNumber)
	}
	n := l.Last + 1
	l.Last, l.Working = n, n
	if !e.head.Begun {
		e.head.Begun, e.head.Locale = true, at.Locale
	}
	if publish {
		l.Current = n
		e.show(at, n, row.Title)
	}
	e.put(at.rowKey(), l.encode())
	e.put(revisionKey(at.Branch, at.Locale, n), row.encode())
	return n, nil
}

// publish makes an existing revision the current one of its branch and locale. If it is current
// already, at most the title of the item changes: it becomes that of the revision again. title is
// the present one.
func (e *edit) publish(at branchLocale, l LocaleRow, number int, row revisionRow, title string) (changed bool) {
	own := at.Branch == e.head.Current && at.Locale == e.head.Locale
	if l.Current == number && !(own && row.Title != title) {
		return false
	}
	l.Current = number
	e.put(at.rowKey(), l.encode())
	e.show(at, number, row.Title)
	return true
}

// copied is the current text of a locale of a branch.
type copied struct {
	locale string
	row    revisionRow
}

// branch adds a branch with copies of the texts of another one, and returns its number.
func (e *edit) branch(row branchRow, texts []copied) (int, error) {
	if e.head.Last >= MaxBranches {
		return 0, fault.TooManyf(nil, "an item has at most %d branches", MaxBranches)
	}
	e.head.Last++
	n := e.head.Last
	e.put(branchKey(n), row.encode())
	for _, c := range texts {
		at := branchLocale{n, c.locale}
		c.row.Base, c.row.Suggestion, c.row.CreatedAt = None, "", row.CreatedAt
		e.put(at.rowKey(), LocaleRow{}.encode())
		e.put(revisionKey(n, c.locale, 0), c.row.encode())
	}
	return n, nil
}

// makeCurrent shows visitors another branch with the given locales. own is the current revision of
// the item's own locale in it, or nil if it has none.
func (e *edit) makeCurrent(branch int, localeRows []storedLocale, own *revisionRow) (changed bool) {
	if e.head.Current == branch {
		return false
	}
	e.head.Current = branch
	e.visible = true
	e.head.Shown, e.head.Title = nil, ""
	for _, l := range localeRows {
		if l.Current != None {
			e.head.Shown = append(e.head.Shown, Shown{l.locale, l.Current})
		}
	}
	if own != nil {
		e.title, e.head.Title = &own.Title, own.Title
	}
	return true
}

// suggest adds a suggestion.
func (e *edit) suggest(id TextID, row suggestionRow) error {
	if e.head.Open >= MaxOpen {
		return fault.TooManyf(nil, "an item has at most %d open suggestions; its editors must decide some of them first", MaxOpen)
	}
	e.head.Open++
	e.put(suggestionKey(id), row.encode())
	return nil
}

func decidedAlready(s State) error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonVersion, Path: []string{"id"},
		Msg: "this suggestion is " + s.String() + " already; a decision is final"}
}

// decide ends a suggestion. revision is the number of the revision that it became, or None.
func (e *edit) decide(id TextID, row suggestionRow, to State, by principal.ID, revision int) error {
	if row.State != Open {
		return decidedAlready(row.State)
	}
	e.head.Open--
	row.State, row.DecidedBy, row.Revision = to, by, revision
	e.put(suggestionKey(id), row.encode())
	return nil
}

// accept saves a suggestion as a revision by the editor who accepts it, and returns its number.
func (e *edit) accept(id TextID, row suggestionRow, l LocaleRow, by principal.ID, now clock.Instant, force bool) (int, error) {
	if row.State != Open {
		return 0, decidedAlready(row.State)
	}
	if !force {
		if err := checkBase(&row.Base, l, "force"); err != nil {
			return 0, err
		}
	}
	n, err := e.save(branchLocale{row.Branch, row.Locale}, l, revisionRow{
		Title: row.Title, Text: text{ID: id, Size: row.Size}, Author: by, CreatedAt: now, Base: row.Base, Suggestion: id.String(),
	}, true)
	if err != nil {
		return 0, err
	}
	return n, e.decide(id, row, Accepted, by, n)
}
