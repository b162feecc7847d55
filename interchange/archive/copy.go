package archive

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
)

// copyPage is the number of rows that are read and put at once. Storing the progress after them
// takes one sync.
const copyPage = 500

// textsPage is that number for texts and long bodies, each of which may take 512 KiB.
const textsPage = 32

// storeIdentity is the setting that identifies a store. It is not copied, because a copy is
// another store.
const storeIdentity = "identity"

// Source is a store that can be copied.
type Source struct {
	Store
	Journal   commit.JournalStore
	Registers commit.RegisterStore
}

// Progress is the progress of a step of a copy.
type Progress struct {
	Doing string // "counting", "copying" or "comparing"
	Rows  int64
	Of    int64 // 0 if not known yet
}

// copyNote is the progress of an unfinished copy, as the target stores it.
type copyNote struct {
	Source  string  `json:"source"`
	Chapter Chapter `json:"chapter"`
	After   []byte  `json:"after"`
	Rows    int64   `json:"rows"` // copied so far
	// Compared reports that all rows were copied and found equal.
	Compared bool `json:"compared"`
}

// copyJob is a running copy.
type copyJob struct {
	rt     sched.Runtime
	from   Source
	to     Store
	report func(Progress)
	note   copyNote
}

// hasPending reports whether a list has a change that has not ended, or cannot be read.
func hasPending(l commit.InFlightList) bool {
	entries, err := commit.Decode(l.Block)
	return err != nil || slices.ContainsFunc(entries, func(e commit.Entry) bool { return !e.Ended })
}

// Copy copies every authoritative row of one store to another, empty one, and compares both. The
// target stores the progress, so that an interrupted copy continues where it stopped, and another
// source is refused. Derived rows are not copied: DeriveAll writes them. Until Finish is called,
// the target cannot be used (RefuseHalfCopied). Copy returns the number of rows of each chapter in
// the target, or nil if an earlier call had already found them equal.
//
// No other process may use either store, and the source must have no pending changes. Copy stores
// an identity in the source, by which the target recognizes it.
func Copy(ctx context.Context, rt sched.Runtime, from Source, to Store, report func(Progress)) (map[string]int64, error) {
	inFlightLists, err := from.Journal.InFlightLists(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the changes in flight: %w", err)
	}
	if slices.ContainsFunc(inFlightLists, hasPending) {
		return nil, &fault.Error{Code: fault.Conflict,
			Msg: "the source has changes in flight, or a gateway serves it; stop its gateways, run carrel audit to finish " +
				"the changes, and copy again"}
	}
	j := &copyJob{rt: rt, from: from, to: to, report: report}
	if err := j.begin(ctx); err != nil || j.note.Compared {
		return nil, err
	}
	wanted, err := j.count(ctx, from, "counting", 0)
	if err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	if err := j.copyRows(ctx, wanted.total()); err != nil {
		return nil, err
	}
	got, err := j.count(ctx, to, "comparing", wanted.total())
	if err != nil {
		return nil, fmt.Errorf("reading the target: %w", err)
	}
	if differs := wanted.differsFrom(got, clock.Of(rt.Now())); differs != "" {
		return nil, &fault.Error{Code: fault.Conflict, Msg: "the target differs from the source in " + differs +
			": the source was changed since the copy began; remove the target and begin again"}
	}
	j.note.Compared = true
	return got.rows(), j.saveProgress(ctx)
}

// begin determines whether the copy is new or continues, and prepares it.
func (j *copyJob) begin(ctx context.Context) error {
	fresh := make([]byte, 16)
	j.rt.Random(fresh)
	identity, err := j.from.Registers.PutSettingIfAbsent(ctx, storeIdentity, fresh)
	if err != nil {
		return fmt.Errorf("storing the identity of the source: %w", err)
	}
	source := hex.EncodeToString(identity)
	text, err := j.to.CopyNote(ctx)
	if err != nil {
		return fmt.Errorf("reading the progress of the copy: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &j.note); err != nil {
			return fmt.Errorf("reading the progress of the copy: %w", err)
		}
		if j.note.Source != source {
			return &fault.Error{Code: fault.Conflict, Msg: "the target contains the unfinished copy of another store"}
		}
		return nil
	}
	for _, c := range allChapters {
		rows, _, err := j.to.ReadRows(ctx, c, nil, 1)
		if err != nil {
			return fmt.Errorf("reading the target: %w", err)
		}
		if len(rows) > 0 {
			return &fault.Error{Code: fault.Conflict, Msg: "the target is not empty: it has " + c.String() + "; a copy needs a new store"}
		}
	}
	j.note = copyNote{Source: source, Chapter: allChapters[0]}
	return j.saveProgress(ctx)
}

// saveProgress stores the progress durably in the target.
func (j *copyJob) saveProgress(ctx context.Context) error {
	text, err := json.Marshal(j.note)
	if err == nil {
		err = j.to.PutCopyNote(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("storing the progress of the copy: %w", err)
	}
	return nil
}

// eachRow calls see with each page of the rows of a store after a position.
func eachRow(ctx context.Context, a Store, from Chapter, after []byte, see func(c Chapter, rows []Row, next []byte) error) error {
	for _, c := range allChapters {
		if c < from {
			continue
		}
		limit := copyPage
		if c == ChapterTexts || c == ChapterBodies {
			limit = textsPage
		}
		for {
			rows, next, err := a.ReadRows(ctx, c, after, limit)
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			if err := see(c, copiedRows(rows), next); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			if after = next; next == nil {
				break
			}
		}
	}
	return nil
}

// copiedRows returns rows without the settings that are not copied: the identity of a store, and
// the time since which it has kept changes, because changes are derived.
func copiedRows(rows []Row) []Row {
	kept := rows[:0:len(rows)]
	for _, r := range rows {
		if r.Setting == nil || r.Setting.Name != storeIdentity && r.Setting.Name != library.ChangesSinceSetting {
			kept = append(kept, r)
		}
	}
	return kept
}

// count returns the tally of a store.
func (j *copyJob) count(ctx context.Context, a Store, doing string, of int64) (*tally, error) {
	t := newTally()
	err := eachRow(ctx, a, allChapters[0], nil, func(c Chapter, rows []Row, _ []byte) error {
		for i := range rows {
			if err := t.add(c, &rows[i]); err != nil {
				return err
			}
		}
		j.report(Progress{Doing: doing, Rows: t.total(), Of: of})
		return nil
	})
	return t, err
}

// copyRows copies the rows that the target does not have yet.
func (j *copyJob) copyRows(ctx context.Context, of int64) error {
	err := eachRow(ctx, j.from, j.note.Chapter, j.note.After, func(c Chapter, rows []Row, next []byte) error {
		if len(rows) > 0 {
			if err := j.to.PutRows(ctx, rows); err != nil {
				return err
			}
		}
		j.note.Rows += int64(len(rows))
		j.note.Chapter, j.note.After = c, next
		if next == nil {
			j.note.Chapter++
		}
		j.report(Progress{Doing: "copying", Rows: j.note.Rows, Of: of})
		return j.saveProgress(ctx)
	})
	if err != nil {
		return fmt.Errorf("copying %w", err)
	}
	return nil
}

// Finish completes the copy: from now on the target is a store like any other.
func Finish(ctx context.Context, to Store) error {
	if err := to.PutCopyNote(ctx, nil); err != nil {
		return fmt.Errorf("completing the copy: %w", err)
	}
	return nil
}

// errHalfCopied is the error for the target of an incomplete copy.
var errHalfCopied = errors.New("the store is the target of an incomplete copy; run the same carrel copy again, or remove the store")

// RefuseHalfCopied returns an error if a copy into the store is not complete.
func RefuseHalfCopied(ctx context.Context, a Store) error {
	note, err := a.CopyNote(ctx)
	if err == nil && note != nil {
		err = errHalfCopied
	}
	return err
}
