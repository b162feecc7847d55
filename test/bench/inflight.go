package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// A listLoad is the load of one gateway on the in-flight lists: it writes its own list,
// and reads the lists of all gateways for pages that are served from copies.
type listLoad struct {
	changes float64       // of items, per second
	lasts   time.Duration // a change, from the acknowledged list to the end of its fan-out
	write   time.Duration // one write of the list
	pages   float64       // that need the set of in-flight changes, per second
	read    time.Duration // one read of the set, which is in the lists of all gateways
	// interval is the shortest time from the start of a read to the start of the next.
	interval time.Duration
}

// A listUse is the result of a load.
type listUse struct {
	writes  float64       // of the list, per second
	entries float64       // in a list that is written, in the mean
	listed  time.Duration // an item is in the acknowledged list, in the mean
	reads   float64       // of the set, per second
	waits   time.Duration // a page waits for its set, in the mean
}

// listHeartbeat is how often a list that is not empty is written again.
const listHeartbeat = time.Second

// simulateInFlight simulates a gateway for a time: the rules by which core/journal writes the
// list and by which commit.InFlightReader reads the set, with changes and pages that come
// independently of each other. The same seed gives the same figures.
func simulateInFlight(l listLoad, lasting time.Duration, seed uint64) listUse {
	var use listUse
	w := simulatedWriter{load: l, random: rand.New(rand.NewPCG(seed, 1))}
	w.run(lasting)
	use.writes = float64(w.written) / lasting.Seconds()
	if w.written > 0 {
		use.entries = float64(w.sum) / float64(w.written)
	}
	if w.removed > 0 {
		use.listed = w.listed / time.Duration(w.removed)
	}
	use.reads, use.waits = simulateReads(l, lasting, rand.New(rand.NewPCG(seed, 2)))
	return use
}

// next returns the time of the next event. Events are independent of each other, and perSecond of
// them happen per second on average.
func next(random *rand.Rand, now time.Duration, perSecond float64) time.Duration {
	return now + time.Duration(random.ExpFloat64()/perSecond*float64(time.Second))
}

// simulatedEvent is something that happens to the list.
type simulatedEvent struct {
	at   time.Duration
	kind byte // one of the following
	id   int  // of the change
}

const (
	changeBegins byte = iota
	changeEnds
	writeEnds
	beat
)

type simulatedEvents []simulatedEvent

func (e simulatedEvents) Len() int           { return len(e) }
func (e simulatedEvents) Less(i, j int) bool { return e[i].at < e[j].at }
func (e simulatedEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *simulatedEvents) Push(x any)        { *e = append(*e, x.(simulatedEvent)) }
func (e *simulatedEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulatedWriter writes the list as core/journal does: one write at a time, shared by
// all changes that arrived while the previous write was in flight.
type simulatedWriter struct {
	load   listLoad
	random *rand.Rand
	events simulatedEvents

	list    []int // ids of the changes on it
	copied  []int // the list that is being written
	acked   map[int]time.Duration
	writing bool
	wanted  bool // a change waits for another write
	dirty   bool // changes were removed since the last write

	written, sum, removed int
	listed                time.Duration
}

func (w *simulatedWriter) run(lasting time.Duration) {
	w.acked = map[int]time.Duration{}
	w.add(next(w.random, 0, w.load.changes), changeBegins, 0)
	w.add(listHeartbeat, beat, 0)
	for w.events.Len() > 0 {
		e := heap.Pop(&w.events).(simulatedEvent)
		if e.at > lasting {
			return
		}
		w.step(e)
	}
}

func (w *simulatedWriter) add(at time.Duration, kind byte, id int) {
	heap.Push(&w.events, simulatedEvent{at, kind, id})
}

func (w *simulatedWriter) step(e simulatedEvent) {
	switch e.kind {
	case changeBegins:
		w.list = append(w.list, e.id)
		w.wanted = true
		w.add(next(w.random, e.at, w.load.changes), changeBegins, e.id+1)
	case changeEnds:
		w.list = slices.DeleteFunc(w.list, func(id int) bool { return id == e.id })
		w.dirty = true
	case writeEnds:
		w.writing = false
		w.acknowledge(e.at)
	case beat:
		w.wanted = w.wanted || w.dirty || len(w.list) > 0
		w.add(e.at+listHeartbeat, beat, 0)
	}
	if w.wanted && !w.writing {
		w.writing, w.wanted, w.dirty = true, false, false
		w.copied = slices.Clone(w.list)
		w.written++
		w.sum += len(w.copied)
		w.add(e.at+w.load.write, writeEnds, 0)
	}
}

// acknowledge records what readers see from now on. Changes that are in this write for the first
// time may now be decided. Changes that it no longer contains are off the list.
func (w *simulatedWriter) acknowledge(now time.Duration) {
	for _, id := range w.copied {
		if _, known := w.acked[id]; !known {
			w.acked[id] = now
			w.add(now+w.load.lasts, changeEnds, id)
		}
	}
	for id, since := range w.acked { // the order does not matter
		if !slices.Contains(w.copied, id) {
			w.removed++
			w.listed += now - since
			delete(w.acked, id)
		}
	}
}

// simulateReads reads the set as commit.InFlightReader does: one read at a time, shared
// by pages that arrived before it was sent, and at most one per interval.
func simulateReads(l listLoad, lasting time.Duration, random *rand.Rand) (perSecond float64, waits time.Duration) {
	reads, pages := 0, 0
	var waited time.Duration
	arrival := next(random, 0, l.pages)
	for free, earliest := time.Duration(0), time.Duration(0); arrival < lasting; {
		sent := max(free, arrival, earliest)
		free, earliest = sent+l.read, sent+l.interval
		reads++
		for ; arrival <= sent && arrival < lasting; arrival = next(random, arrival, l.pages) {
			pages++
			waited += free - arrival
		}
	}
	if pages > 0 {
		waits = waited / time.Duration(pages)
	}
	return float64(reads) / lasting.Seconds(), waits
}
