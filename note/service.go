package note

import (
	"context"
	"encoding/json"
	"errors"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/principal"
)

// Config is what the Service of pages needs.
type Config struct {
	Engine   *commit.Engine
	People   *principal.Service
	Library  *library.Service
	Contents library.ContentStore
	Store    Store
	Texts    *Texts
	Runtime  sched.Runtime
	Cursors  *cursor.Sealer
}

// Service implements the rules of pages. It is safe for concurrent use.
type Service struct {
	engine   *commit.Engine
	people   *principal.Service
	library  *library.Service
	contents library.ContentStore
	store    Store
	texts    *Texts
	Upkeep   Upkeep
	rt       sched.Runtime
	cursors  *cursor.Sealer
}

// Upkeep is what imports, repairs and exports do with texts and drafts, without a viewer.
type Upkeep struct{ s *Service }

// New returns the Service of pages.
func New(c Config) *Service {
	s := &Service{engine: c.Engine, people: c.People, library: c.Library, contents: c.Contents, store: c.Store,
		texts: c.Texts, rt: c.Runtime, cursors: c.Cursors}
	s.Upkeep = Upkeep{s}
	return s
}

// Texts writes and removes the texts that rows of items and drafts refer to. It implements library.Pages.
type Texts struct {
	engine *commit.Engine
	store  Store
	rt     sched.Runtime
}

// NewTexts returns the Texts of a store.
func NewTexts(engine *commit.Engine, store Store, rt sched.Runtime) *Texts {
	return &Texts{engine, store, rt}
}

// Kinds implements library.Pages.
func (s *Texts) Kinds() []library.RowKind {
	return []library.RowKind{branchKind, revisionKind, suggestionKind}
}

// Begin implements library.Pages: the first text is revision 0 of branch 1.
func (s *Texts) Begin(ctx context.Context, t library.FirstText) (*library.Edit, error) {
	at := branchLocale{1, t.Locale}
	body, err := s.putBody(ctx, t.ID, revisionKey(at.Branch, at.Locale, 0), t.Body)
	if err != nil {
		return nil, err
	}
	e := &edit{head: newHead}
	row := revisionRow{Title: t.Title, Text: body, Author: t.Author, CreatedAt: s.engine.Now(), Base: None}
	if _, err := e.save(at, noRevisions, row, true); err != nil {
		return nil, err
	}
	return e.libraryEdit(nil), nil
}

// Forget implements library.Pages: it removes the texts that rows refer to.
func (s *Texts) Forget(ctx context.Context, _ library.ContentID, rows []library.Row) error {
	var ids []TextID
	for _, r := range rows {
		switch r.Kind {
		case revisionKind:
			row, err := decodeRevision(r.Value)
			if err != nil {
				return err
			}
			if row.Text.ID != (TextID{}) {
				ids = append(ids, row.Text.ID)
			}
		case suggestionKind:
			id, ok := ParseTextID(r.Key)
			if !ok {
				return errRow
			}
			ids = append(ids, id)
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), MaxTexts)
		if err := s.store.DropTexts(ctx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// inline is the maximum size in bytes of a body that is stored in the row of its revision or draft.
const inline = 4 << 10

// putBody stores a body that a row will refer to.
func (s *Texts) putBody(ctx context.Context, item library.ContentID, row library.RowKey, body string) (text, error) {
	if len(body) <= inline {
		return text{Body: body, Size: len(body)}, nil
	}
	t := Text{ID: newTextID(s.engine.StoreNow(), s.rt.Random), Item: item, Row: row, Body: body}
	if err := s.putText(ctx, t); err != nil {
		return text{}, err
	}
	return text{ID: t.ID, Size: len(body)}, nil
}

func (s *Texts) putText(ctx context.Context, t Text) error {
	if err := s.store.PutText(ctx, t); err != nil {
		return fault.Unavailablef(err, "the store did not take the text; nothing was changed, try again")
	}
	return nil
}

// pending is the body of a mutation. It is stored once, unless a lost race changes the row that will
// refer to it. Texts are never changed, so another row gets another text.
type pending struct {
	s    *Texts
	item library.ContentID
	body string
	row  library.RowKey
	text text
}

func (p *pending) put(ctx context.Context, row library.RowKey) (text, error) {
	if p.row == row {
		return p.text, nil
	}
	put, err := p.s.putBody(ctx, p.item, row, p.body)
	if err != nil {
		return text{}, err
	}
	if old := p.text.ID; old != (TextID{}) {
		// If this fails, the scrubber removes it.
		_ = p.s.store.DropTexts(ctx, []TextID{old})
	}
	p.row, p.text = row, put
	return put, nil
}

// restore stores the body again.
func (p *pending) restore(ctx context.Context) error {
	if p.text.ID == (TextID{}) {
		return nil
	}
	return p.s.putText(ctx, Text{ID: p.text.ID, Item: p.item, Row: p.row, Body: p.body})
}

// answer is the stored result of a request, for its repetitions.
type answer struct {
	Branch int    `json:"branch"`
	Locale string `json:"locale,omitempty"`
	Number int    `json:"number,omitempty"`
	ID     string `json:"id,omitempty"` // of a suggestion
}

func (a answer) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return b
}

func decodeAnswer(b []byte) (a answer, err error) {
	if err := json.Unmarshal(b, &a); err != nil {
		return answer{}, &fault.Error{Code: fault.Internal, Msg: "the answer of an earlier request cannot be read", Err: err}
	}
	return a, nil
}

// headOf returns the head of an item that has a page. It returns an error for a LINK, which has none.
func headOf(h *library.Header) (Head, error) {
	if h.Kind != library.Note {
		return Head{}, fault.NotApplicablef([]string{"contentId"}, "a LINK has no text; only a NOTE has branches and revisions")
	}
	return DecodeHead(h.Page)
}

// guessHead is headOf for choosing which rows to read. If the head cannot be decoded it returns
// newHead, and the plan reports the error.
func guessHead(h *library.Header) Head {
	head, err := DecodeHead(h.Page)
	if err != nil {
		return newHead
	}
	return head
}

// branchOr returns the requested branch, by default the current one.
func (h *Head) branchOr(branch *int) int {
	if branch != nil {
		return *branch
	}
	return h.Current
}

// requireBranch returns NOT_FOUND if the page has no such branch.
func (h *Head) requireBranch(n int, path string) error {
	if h.HasBranch(n) {
		return nil
	}
	return fault.NotFoundf([]string{path}, "there is no branch %d; the branches of this item are 1 to %d", n, h.Last)
}

// checkLocale returns the stored form of a locale, or "" for none.
func checkLocale(faults *fault.List, locale *string) string {
	if locale == nil {
		return ""
	}
	known, err := urlname.Locale(*locale)
	if err != nil {
		*faults = append(*faults, fault.Invalidf([]string{"locale"}, "%s", err))
	}
	return known
}

// checkItem checks the id of the item that a mutation changes.
func checkItem(faults *fault.List, id string) library.ContentID {
	item, err := library.ParseContentID(id)
	faults.Add(err, "contentId")
	return item
}

// change is a running mutation of a page.
type change struct {
	commit.Mutation
	v  *principal.Viewer
	id library.ContentID
}

// begin begins a mutation of a page, each try of which calls CheckActor.
func (s *Service) begin(v *principal.Viewer, id library.ContentID, c commit.Call) (change, error) {
	m, err := s.people.BeginAsActor(v, id.Tenant(), c)
	return change{m, v, id}, err
}

// errGone is the error of reading an item that was deleted meanwhile.
var errGone = &fault.Error{Code: fault.NotFound, Msg: "the item was deleted meanwhile"}

// afterwards converts the error of a read that follows a change to an unknown outcome, because the
// change was made. It returns nil if the item was deleted meanwhile.
func afterwards(err error) error {
	if err == nil || err == error(errGone) {
		return nil
	}
	return commit.OutcomeUnknown(err)
}

// errNothing reports that a mutation changes nothing.
var errNothing = errors.New("page: nothing to change")
