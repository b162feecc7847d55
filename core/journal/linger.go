package journal

import (
	"context"
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
)

// Copies of some rows have nothing to be compared with, so a change of such a row stays on the list
// after it has ended, until no process can have a copy of the state before (docs/write-protocol.md).
// A list that its owner has left is taken over with these entries, which begin to linger again: how
// long they have lingered is not stored, because clocks of different processes are not compared.

const (
	// maxEnded limits the ended changes on the list of one process, and maxEndedOfAll those on the
	// lists of all processes together. Beyond that, one entry stands for all partitions of a kind.
	maxEnded      = 2000
	maxEndedOfAll = 4000
)

// ended is a change that has ended and lingers.
type ended struct {
	kind  commit.Kind
	key   string        // empty: of all partitions
	until time.Duration // on the monotonic clock
}

// Linger has the entries of a kind that linger, and all those of other processes' lists, stay on
// the list for a time after their changes have ended.
func (j *Journal) Linger(kind commit.Kind, d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.linger[kind] = d
}

// keepEnded has a change of a partition that has ended linger from now on. The caller holds mu.
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

// appendEnded drops the changes that have lingered long enough, and appends the entries of all
// others. The caller holds mu.
func (j *Journal) appendEnded(entries []commit.Entry) []commit.Entry {
	now := j.rt.Elapsed()
	j.ended = slices.DeleteFunc(j.ended, func(x ended) bool { return x.until <= now })
	for _, x := range j.ended {
		entries = append(entries, commit.Entry{Kind: x.kind, Key: x.key, Base: -1, Decided: true, Ended: true})
	}
	return entries
}

// lingerOn has the entries of a list that is taken over linger on this process's list. It returns
// once a write with them was acknowledged.
func (j *Journal) lingerOn(ctx context.Context, entries []commit.Entry) error {
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
