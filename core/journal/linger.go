package journal

import (
	"context"
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
)

// Processes keep copies of some rows and cannot see from a copy whether its row has changed since.
// So a change of such a row stays on the list after it has ended, until no process can have a copy
// of the former state (docs/write-protocol.md). A process that takes over a list also takes over
// these entries, which then linger for the whole time again: how long they have lingered is not
// stored, because clocks of different processes are not compared.

const (
	// maxEnded limits the ended changes on the list of one process, and maxEndedOfAll those on the
	// lists of all processes together. Beyond that, one entry covers all partitions of a kind.
	maxEnded      = 2000
	maxEndedOfAll = 4000
)

// ended is a change that has ended and lingers.
type ended struct {
	kind  commit.Kind
	key   string        // empty: of all partitions
	until time.Duration // on the monotonic clock
}

// Linger keeps entries of a kind on the list for d after their changes have ended: those with
// Lingers set, and all that are taken over from other processes' lists.
func (j *Journal) Linger(kind commit.Kind, d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.linger[kind] = d
}

// keepEnded records that a change of a partition has ended, and lets it linger from now on. The
// caller holds mu.
func (j *Journal) keepEnded(kind commit.Kind, key string) {
	if j.linger[kind] == 0 {
		return
	}
	e := ended{kind, key, j.rt.Elapsed() + j.linger[kind]}
	j.ended = slices.DeleteFunc(j.ended, func(x ended) bool { return x.kind == kind && x.key == key })
	if len(j.ended) >= j.mostEnded() {
		j.ended = slices.DeleteFunc(j.ended, func(x ended) bool { return x.kind == kind })
		e.key = ""
	}
	j.ended = append(j.ended, e)
	j.dirty = true
}

// mostEnded returns how many ended changes the list may have. The caller holds mu.
func (j *Journal) mostEnded() int {
	return min(maxEnded, maxEndedOfAll/max(1, j.counts.InFlightLists))
}

// appendEnded drops the ended changes that have lingered long enough, and appends entries for the
// others. The caller holds mu.
func (j *Journal) appendEnded(entries []commit.Entry) []commit.Entry {
	now := j.rt.Elapsed()
	j.ended = slices.DeleteFunc(j.ended, func(x ended) bool { return x.until <= now })
	for _, x := range j.ended {
		entries = append(entries, commit.Entry{Kind: x.kind, Key: x.key, Base: -1, Decided: true, Ended: true})
	}
	return entries
}

// adoptEnded puts the entries of a list that is taken over on this process's list, as ended changes
// that linger. It returns once a write with them was acknowledged.
func (j *Journal) adoptEnded(ctx context.Context, entries []commit.Entry) error {
	j.mu.Lock()
	any := false
	for i := range entries {
		if e := &entries[i]; j.linger[e.Kind] > 0 {
			j.keepEnded(e.Kind, e.Key)
			any = true
		}
	}
	if !any {
		j.mu.Unlock()
		return nil
	}
	w := j.request()
	j.mu.Unlock()
	acknowledged, err := j.rt.Wait(ctx, w.done, listWait)
	switch {
	case err != nil:
		return err
	case !acknowledged:
		return fault.Unavailablef(nil, "the in-flight list could not be written in time")
	}
	return w.err
}
