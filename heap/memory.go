package heap

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Memory returns how many bytes the process may use: the least of GOMEMLIMIT, the limit of its
// control group and the memory of the machine, or 0 if none of them is known.
func Memory() int64 {
	return leastOf(debug.SetMemoryLimit(-1), memlimit.FromCgroup, memlimit.FromSystem)
}

// leastOf returns the least of a limit and of what is known of others, or 0 if there is none.
func leastOf(limit int64, others ...memlimit.Provider) int64 {
	for _, read := range others {
		if n, err := read(); err == nil && n > 0 {
			limit = min(limit, int64(min(n, math.MaxInt64)))
		}
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// LimitMemory sets GOMEMLIMIT to nine tenths of memory, unless it is set or memory is 0: the garbage collector works
// harder before the process is killed.
func LimitMemory(memory int64) {
	if memory > 0 && os.Getenv("GOMEMLIMIT") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memory / 10 * 9)
	}
}
