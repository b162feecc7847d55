// Package heap keeps the garbage collector from running all the time, and knows
// how much memory the process may use.
//
// The collector runs when the heap has doubled since it ran last. What a gateway
// keeps is a few megabytes, since its stores keep theirs elsewhere; and what it
// makes and forgets is as much in a tenth of a second. Each run looks at the stacks of
// some thousand goroutines that wait for a cluster, and stops all of them for
// moments (docs/adr/0025-a-floor-for-the-heap.md).
//
// It answers for that alone. It must not know what the process does.
package heap

// size is far above what a small gateway keeps, and what is resident more stays
// small beside what a process has anyway.
const size = 16 << 20

// Ballast is memory that nobody uses. It is never written, so the system gives
// none for it; but the collector counts it as kept, and waits until twice as
// much is in use. A large heap is collected as ever, that much later. Operators
// who set GOGC scale both. It works for as long as somebody holds it.
func Ballast() []byte { return make([]byte, size) }
