package heap

import (
	"math"
	"syscall"
)

// ownFiles is how many file descriptors are reserved for the store and the process itself: Pebble
// keeps 1,000 tables open, and 100 are for its logs and compactions, for listeners, operators,
// collectors, and the nodes of a cluster.
const ownFiles = 1_100

// Files returns how many file descriptors the process may use for connections of clients, and how
// many for its store and itself: 1,100, or half of a lower limit.
func Files() (connections, own int) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return files(math.MaxInt32)
	}
	return files(limit.Cur)
}

func files(limit uint64) (connections, own int) {
	own = int(min(limit/2, ownFiles))
	return int(min(limit, math.MaxInt32)) - own, own
}
