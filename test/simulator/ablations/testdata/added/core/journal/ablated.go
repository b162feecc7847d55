package journal

import (
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// ablatedStamp returns the stamp up to which a list is deleted.
func (j *Journal) ablatedStamp(stamp int64) int64 {
	if commit.Ablated("list-dropped-newer") {
		return max(stamp, int64(clock.Of(j.rt.Now()))) + 1
	}
	return stamp
}

// ablatedEntries returns the entries that are finished before a list is deleted.
func ablatedEntries(entries []commit.Entry) []commit.Entry {
	if commit.Ablated("take-over-first-entry") {
		return entries[:min(len(entries), 1)]
	}
	return entries
}

// ablatedNow returns the timestamp of a write.
func (j *Journal) ablatedNow(stamp int64) int64 {
	if commit.Ablated("coarse-list-clock") {
		return int64(clock.Of(j.rt.Now().Truncate(time.Second)))
	}
	return stamp
}

// ablatedName returns the name of a list.
func ablatedName(name string) string {
	if commit.Ablated("list-name-again") {
		return "00000000000000000000000000000000"
	}
	return name
}

// ablatedLinger is how long a change lingers.
func ablatedLinger(d time.Duration) time.Duration {
	if commit.Ablated("linger-too-short") {
		return d / 8
	}
	return d
}

// ablatedList returns the entries that are written as the list.
func (j *Journal) ablatedList(entries []commit.Entry) []commit.Entry {
	if !commit.Ablated("deferred-unlisted") {
		return entries
	}
	listed := make([]commit.Entry, 0, len(entries))
	for i, e := range j.entries {
		if !e.deferred {
			listed = append(listed, entries[i])
		}
	}
	return listed
}
