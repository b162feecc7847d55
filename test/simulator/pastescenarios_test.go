package simulator

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/feed"
)

const (
	// tidied is when a paste is tidied after a change of its body, or after a change of an expiry
	// in an hour.
	tidied = 70 * time.Minute
	// awhile is longer than a process takes to begin what is due.
	awhile = 2 * time.Second
	// soon is when pastes expire that do so while the process runs.
	soon = 3 * time.Second
)

// createPaste returns an operation that creates a paste.
func createPaste(c pasteCall) *Operation {
	return &Operation{kind: opPaste, viewer: ann, title: "first", paste: &c}
}

// editPaste returns an operation that changes the paste that was created before it.
func editPaste(c pasteCall) *Operation {
	return &Operation{kind: opEditPaste, viewer: bob, title: "second", paste: &c}
}

// deletePaste returns an operation that deletes the paste that was created before it.
func deletePaste() *Operation {
	return &Operation{kind: opDeletePaste, viewer: bob, paste: &pasteCall{}}
}

// pasteScenarios are all operations on pastes, in all forms in which they write differently.
func pasteScenarios() []Scenario {
	return slices.Concat(creationsOfPastes(), changesOfPastes(), endsOfPastes())
}

// creationsOfPastes are the scenarios of createPaste.
func creationsOfPastes() []Scenario {
	key := "key"
	keyed := func(c pasteCall) *Operation {
		o := createPaste(c)
		o.key = &key
		return o
	}
	return []Scenario{
		{Name: "createPaste", op: createPaste(pasteCall{})},
		{Name: "createPaste with a long body", op: createPaste(pasteCall{long: true})},
		{Name: "createPaste of a private one", op: createPaste(pasteCall{private: true})},
		{Name: "createPaste with a key", op: keyed(pasteCall{})},
		{Name: "createPaste with a key and a long body", op: keyed(pasteCall{long: true})},
		{Name: "createPaste repeated", before: []*Operation{keyed(pasteCall{})}, op: keyed(pasteCall{})},
	}
}

// changesOfPastes are the scenarios of updatePaste.
func changesOfPastes() []Scenario {
	other, present := 3, 1
	short, long := createPaste(pasteCall{}), createPaste(pasteCall{long: true})
	private, ending := createPaste(pasteCall{private: true}), createPaste(pasteCall{lasts: time.Hour})
	hide, show := editPaste(pasteCall{toggles: true, private: true}), editPaste(pasteCall{toggles: true})
	rewrite, lengthen := editPaste(pasteCall{rewrites: true}), editPaste(pasteCall{rewrites: true, long: true})
	ends := func(in time.Duration) *Operation { return editPaste(pasteCall{postpones: true, lasts: in}) }
	return []Scenario{
		{Name: "updatePaste retitles", before: []*Operation{short}, op: editPaste(pasteCall{retitles: true})},
		{Name: "updatePaste rewrites", before: []*Operation{short}, op: rewrite},
		{Name: "updatePaste lengthens the body", before: []*Operation{short}, op: lengthen},
		{Name: "updatePaste shortens the body", before: []*Operation{long}, op: rewrite, later: tidied, runFor: awhile},
		{Name: "updatePaste replaces a long body", before: []*Operation{long}, op: lengthen, later: tidied, runFor: awhile},
		{Name: "updatePaste hides", before: []*Operation{short}, op: hide},
		{Name: "updatePaste hides what is hidden", before: []*Operation{short, hide}, op: hide},
		{Name: "updatePaste shows", before: []*Operation{private}, op: show},
		{Name: "updatePaste shows again", before: []*Operation{short, hide}, op: show},
		{Name: "updatePaste hides again", before: []*Operation{short, hide, show}, op: hide},
		{Name: "updatePaste rewrites a private one", before: []*Operation{private}, op: lengthen},
		{Name: "updatePaste sets the expiry", before: []*Operation{short}, op: ends(time.Hour)},
		{Name: "updatePaste sets an expiry that comes", before: []*Operation{long}, op: ends(soon), runFor: 2 * soon},
		{Name: "updatePaste postpones the expiry", before: []*Operation{ending}, op: ends(100 * time.Minute),
			later: tidied, runFor: awhile},
		{Name: "updatePaste clears the expiry", before: []*Operation{ending}, op: ends(0), later: tidied, runFor: awhile},
		{Name: "updatePaste of the expected version", before: []*Operation{short},
			op: editPaste(pasteCall{toggles: true, private: true, version: &present})},
		{Name: "updatePaste of another version", before: []*Operation{short, hide},
			op: editPaste(pasteCall{toggles: true, version: &other}), refused: true},
		{Name: "updatePaste with another secret", before: []*Operation{short},
			op: editPaste(pasteCall{retitles: true, foreign: true}), refused: true},
	}
}

// endsOfPastes are the scenarios in which pastes are deleted or expire, and those of what remains
// of them.
func endsOfPastes() []Scenario {
	hide := editPaste(pasteCall{toggles: true, private: true})
	short, long := createPaste(pasteCall{}), createPaste(pasteCall{long: true})
	private, ending := createPaste(pasteCall{private: true}), createPaste(pasteCall{lasts: time.Hour})
	return []Scenario{
		{Name: "deletePaste", before: []*Operation{short}, op: deletePaste()},
		{Name: "deletePaste of a long one", before: []*Operation{long}, op: deletePaste()},
		{Name: "deletePaste of a private one", before: []*Operation{private}, op: deletePaste()},
		{Name: "deletePaste of a hidden one", before: []*Operation{long, hide}, op: deletePaste()},
		{Name: "deletePaste of what expires", before: []*Operation{ending}, op: deletePaste(), later: tidied, runFor: awhile},
		{Name: "deletePaste, and a day later", before: []*Operation{long}, op: deletePaste(), later: day + time.Minute,
			runFor: awhile},
		{Name: "createPaste and its expiry", op: createPaste(pasteCall{long: true, lasts: soon}), runFor: 2 * soon},
		{Name: "createPaste of a private one and its expiry", op: createPaste(pasteCall{private: true, lasts: soon}),
			runFor: 2 * soon},
		{Name: "latestPastes of a feed with a wrong entry", prepare: withWrongPaste,
			op: &Operation{kind: opLatest, viewer: bob, paste: &pasteCall{size: 2}}, runFor: awhile, after: readPastesAgain},
	}
}

// withWrongPaste puts an entry into the feed of pastes that no paste justifies.
func withWrongPaste(st *Store) {
	created := clock.Of(epoch)
	b := feed.Bucket{Day: feed.DayOf(created), Shards: 1}
	st.buckets = append(st.buckets, bucketRow{"pastes", b})
	cell := st.feedCell(feed.Change{
		Partition: feed.Partition{Feed: "pastes", Day: b.Day},
		Entry:     feed.Entry{Created: created, ID: string(neverPasted.id)},
	})
	cell.put(1)
}

// readPastesAgain reads the feed, and waits until what a reader finds wrong is repaired.
func readPastesAgain(ctx context.Context, p *process) error {
	if _, err := p.pastes.Latest(ctx, cursor.PageArgs{}); err != nil {
		return err
	}
	return p.j.DoDue(ctx, p.svc.Background())
}
