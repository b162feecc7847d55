package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"carrel/core/clock"
)

// tally is a fingerprint of the rows of a store, for comparing it with another one in constant
// memory: the number of rows of each chapter, and the sum of their hashes, which does not depend on
// their order. Rows that expire have a separate sum for each hour of expiry, so that expired rows
// can be ignored.
type tally struct {
	counts map[Chapter]int64
	sums   map[tallyKey]tallySum
}

type tallyKey struct {
	chapter Chapter
	hour    clock.Instant // the end of the hour; 0 for rows that do not expire
}

type tallySum struct {
	rows int64
	low  uint64
	high uint64
}

func newTally() *tally {
	return &tally{counts: map[Chapter]int64{}, sums: map[tallyKey]tallySum{}}
}

func (t *tally) add(c Chapter, r *Row) error {
	// Every row consists of numbers, strings and bytes, so it can be encoded.
	text, err := json.Marshal(plainRow(r))
	if err != nil {
		return fmt.Errorf("hashing a row: %w", err)
	}
	hash := sha256.Sum256(text)
	key := tallyKey{chapter: c}
	if until := expiryOf(r); until != 0 {
		hour := clock.Instant(time.Hour.Microseconds())
		key.hour = (until/hour + 1) * hour
	}
	sum := t.sums[key]
	sum.rows++
	sum.low += binary.BigEndian.Uint64(hash[:8])
	sum.high += binary.BigEndian.Uint64(hash[8:16])
	t.sums[key] = sum
	t.counts[c]++
	return nil
}

// plainRow returns a row in which empty lists are nil, because stores do not preserve the
// difference.
func plainRow(r *Row) *Row {
	plain := *r
	switch {
	case r.Content != nil:
		h := *r.Content
		h.Unsettled, h.Writers = orNone(h.Unsettled), orNone(h.Writers)
		plain.Content = &h
	case r.Principal != nil:
		h := *r.Principal
		h.Writers = orNone(h.Writers)
		plain.Principal = &h
	case r.Request != nil:
		q := *r.Request
		q.Answer = orNone(q.Answer)
		plain.Request = &q
	}
	return &plain
}

func orNone[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}

// expiryOf returns when a row expires, or 0 if it does not.
func expiryOf(r *Row) clock.Instant {
	switch {
	case r.Request != nil:
		return r.Request.Until
	case r.Creation != nil:
		return r.Creation.Until
	}
	return 0
}

func (t *tally) total() int64 {
	n := int64(0)
	for _, c := range allChapters {
		n += t.counts[c]
	}
	return n
}

// rows returns the number of rows by the name of the chapter.
func (t *tally) rows() map[string]int64 {
	rows := map[string]int64{}
	for _, c := range allChapters {
		rows[c.String()] = t.counts[c]
	}
	return rows
}

// differsFrom returns the names of the chapters in which two stores differ, ignoring expired rows. It
// returns "" if they are equal.
func (t *tally) differsFrom(o *tally, now clock.Instant) string {
	differ := map[Chapter]bool{}
	compare := func(a, b *tally) {
		for key, sum := range a.sums { // in any order: the result is sorted below
			if (key.hour == 0 || key.hour > now.Add(time.Hour)) && b.sums[key] != sum {
				differ[key.chapter] = true
			}
		}
	}
	compare(t, o)
	compare(o, t)
	var names []string
	for _, c := range allChapters {
		if differ[c] {
			names = append(names, c.String())
		}
	}
	return strings.Join(names, ", ")
}
