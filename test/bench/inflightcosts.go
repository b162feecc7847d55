package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"carrel/core/commit"
	"carrel/library"
)

// listCosts are the CPU costs of a node for the in-flight lists.
type listCosts struct {
	read  time.Duration // a read, without the costs below
	row   time.Duration // each list in it
	kib   time.Duration // each KiB of lists in it
	write time.Duration // a write of a list
}

// measuredCosts are the costs measured by `-cluster -only scale`, rounded (docs/scale.md
// says when and where).
var measuredCosts = listCosts{
	read: 100 * time.Microsecond, row: 5 * time.Microsecond, kib: 2 * time.Microsecond, write: 100 * time.Microsecond,
}

// A readCost is the cost of one read for a node.
type readCost struct {
	lists, entries int // lists, and entries in each
	cpu            time.Duration
}

// fitListCosts returns the costs that fit three points: few and many lists of the same
// length, and long lists.
func fitListCosts(few, many, long readCost) listCosts {
	rowWithBytes := float64(many.cpu-few.cpu) / float64(many.lists-few.lists)
	short := float64(few.cpu) + rowWithBytes*float64(long.lists-few.lists) // as many lists as in long
	more := float64(long.lists*(listBytes(long.entries)-listBytes(few.entries))) / 1024
	kib := max(0, (float64(long.cpu)-short)/more)
	row := rowWithBytes - kib*float64(listBytes(few.entries))/1024
	return listCosts{
		read: time.Duration(float64(few.cpu) - rowWithBytes*float64(few.lists)),
		row:  time.Duration(row), kib: time.Duration(kib),
	}
}

// readOf returns the cost of a read for a node.
func (c *listCosts) readOf(lists int, bytesEach float64) time.Duration {
	return c.read + time.Duration(float64(lists)*(float64(c.row)+float64(c.kib)*bytesEach/1024))
}

// usualEntry returns a typical entry: a change that concerns all members of an item.
func usualEntry(n int) commit.Entry {
	var id commit.EntryID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	change := library.InFlight{ID: id, Content: itemID(mediumOwner, n), Base: 7, Scope: commit.ScopeAll, Decided: true}
	return change.Entry()
}

// usualList returns a list as a gateway writes it.
func usualList(entries int) []byte {
	all := make([]commit.Entry, entries)
	for i := range all {
		all[i] = usualEntry(i)
	}
	block, err := commit.Encode(all)
	if err != nil {
		panic(fmt.Sprintf("a list of %d entries: %v", entries, err))
	}
	return block
}

func listBytes(entries int) int { return len(usualList(entries)) }

// The load of the simulated gateways. A change takes a compare-and-set, the read of a
// snapshot, and the writes to a few libraries.
const (
	changeLasts  = 30 * time.Millisecond
	listWrite    = 3 * time.Millisecond
	networkRead  = 2 * time.Millisecond // a read, without the node's CPU
	pagesEach    = 500                  // a second that need the set, of each gateway
	rowBytes     = 60                   // of a list in a response, without its entries
	replicas     = 3
	quorum       = 2
	manyParts    = 16 // partitions of a set that is split
	simulatedFor = 2 * time.Minute
)

var (
	gatewayCounts = []int{10, 100, 200, 1000}
	changeRates   = []float64{1, 10, 100} // a second, of each gateway
)

// An inFlightTotal is the total load of equal gateways on the partition of their lists.
type inFlightTotal struct {
	gateways  int
	bytesList float64 // of one list
	bytesRead float64 // of all of them in an answer
	paced     readTotal
	atOnce    readTotal // if each read starts when the previous one ends
	split     float64   // cores of all replicas for atOnce, if the lists were in manyParts partitions
	writing   float64   // cores of each replica
}

// A readTotal is the total cost of reads.
type readTotal struct {
	listUse
	all   float64 // reads a second, of all gateways
	cores float64 // of each replica
}

func (c *listCosts) readTotal(gateways int, cpu time.Duration, l listLoad) readTotal {
	t := readTotal{listUse: simulateInFlight(l, simulatedFor, 1)}
	t.all = t.reads * float64(gateways)
	t.cores = t.all * cpu.Seconds() * quorum / replicas
	return t
}

// totalInFlight simulates one of so many equal gateways, and adds up the load of all of
// them.
func totalInFlight(gateways int, changes float64, c *listCosts) inFlightTotal {
	l := listLoad{changes: changes, lasts: changeLasts, write: listWrite, pages: pagesEach, read: networkRead}
	entries := simulateInFlight(l, simulatedFor, 1).entries
	bytes := float64(listBytes(1)-1)*entries + 1
	cpu := c.readOf(gateways, bytes)
	l.read += cpu
	t := inFlightTotal{gateways: gateways, bytesList: bytes, bytesRead: (bytes + rowBytes) * float64(gateways)}
	t.atOnce = c.readTotal(gateways, cpu, l)
	l.interval = commit.ReadInterval(gateways)
	t.paced = c.readTotal(gateways, cpu, l)
	part := c.readOf(gateways/manyParts, bytes)
	t.split = t.atOnce.all * manyParts * part.Seconds() * quorum
	t.writing = t.paced.writes * float64(gateways) * c.write.Seconds()
	return t
}

// printInFlight prints the load of gateways on the partition of the in-flight lists.
func printInFlight(t *table, c *listCosts) {
	t.title("The in-flight lists in one partition, calculated: a change lasts %s, a write of a list %s, %d pages/s each",
		changeLasts, listWrite, pagesEach)
	t.figure("CPU of a node for a read, for each list in it, for each KiB",
		fmt.Sprintf("%s, %s, %s", micros(c.read), micros(c.row), micros(c.kib)))
	t.figure("CPU of a node for a write of a list", micros(c.write))
	for _, gateways := range gatewayCounts {
		for _, changes := range changeRates {
			f := totalInFlight(gateways, changes, c)
			t.figure(fmt.Sprintf("%d gateways with %g changes/s each", gateways, changes), "")
			f.print(t)
		}
	}
}

func (f *inFlightTotal) print(t *table) {
	t.figure("  lists written by each, by all (cells overwritten); cores of each of 3 replicas",
		fmt.Sprintf("%.1f/s, %.0f/s; %.2f", f.paced.writes, f.paced.writes*float64(f.gateways), f.writing))
	t.figure("  entries and bytes of a list, bytes of all",
		fmt.Sprintf("%.2f, %.0f, %.1f KiB", f.paced.entries, f.bytesList, f.bytesRead/1024))
	t.figure("  an item is listed for", millis(f.paced.listed))
	if interval := commit.ReadInterval(f.gateways); interval > commit.LongInterval {
		t.figure("  the lists are not read for pages: the interval would be", millis(interval))
	} else {
		f.paced.print(t, f.bytesRead)
	}
	t.figure("  one after the other: reads of each, of all", fmt.Sprintf("%.0f/s, %.0f/s", f.atOnce.reads, f.atOnce.all))
	t.figure(fmt.Sprintf("  cores of each of 3 replicas; of all, in %d partitions", manyParts),
		fmt.Sprintf("%.1f; %.1f, %.1f", f.atOnce.cores, f.atOnce.cores*replicas, f.split))
}

func (r *readTotal) print(t *table, bytes float64) {
	t.figure("  reads by each, by all; cores of each of 3 replicas", fmt.Sprintf("%.0f/s, %.0f/s; %.2f", r.reads, r.all, r.cores))
	t.figure("  pages that share a read, bytes read for a page; in all",
		fmt.Sprintf("%.1f, %.1f KiB; %.1f MiB/s", pagesEach/r.reads, bytes/1024*r.reads/pagesEach, r.all*bytes/(1<<20)))
	t.figure("  a page waits for its read", millis(r.waits))
}
