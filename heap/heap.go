// Package heap prevents the garbage collector from running too often, and determines
// how much memory and how many file descriptors the process may use.
//
// The collector runs when the heap has doubled since its last run. The live heap of a
// gateway is a few megabytes, since its stores keep their data elsewhere, and it allocates
// as much in a tenth of a second. Each run scans the stacks of some thousand goroutines that
// wait for a cluster, and stops all of them briefly
// (docs/adr/0025-a-floor-for-the-heap.md).
//
// It must not know what the process does.
package heap

// size is the size of the ballast. It is far greater than the live heap of a small gateway. The
// garbage that accumulates because of it is small compared with the memory of the process.
const size = 16 << 20

// Ballast is unused memory. It is never written, so the system allocates no pages for it, but the
// collector counts it as live and waits until the heap has twice that size. A large heap is
// collected as before, only later by the size of the ballast. GOGC scales both. The caller must
// keep a reference to the ballast.
func Ballast() []byte { return make([]byte, size) }
