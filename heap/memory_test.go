package heap

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestMemory_IsTheSmallestLimit(t *testing.T) {
	const none = math.MaxInt64
	known := func(n uint64) memlimit.Provider { return memlimit.Limit(n) }
	unknown := func() (uint64, error) { return 0, errors.New("unknown") }
	for name, c := range map[string]struct {
		limit            int64
		container, whole memlimit.Provider
		want             int64
	}{
		"nothing is known":             {none, unknown, unknown, 0},
		"nothing but zeros":            {none, known(0), known(0), 0},
		"GOMEMLIMIT alone":             {5 << 20, unknown, unknown, 5 << 20},
		"the machine":                  {none, unknown, known(2 << 20), 2 << 20},
		"GOMEMLIMIT below the machine": {1 << 20, unknown, known(2 << 20), 1 << 20},
		"a container":                  {none, known(1_000_000), known(2 << 20), 1_000_000},
		"a limit above the machine":    {none, known(math.MaxUint64), known(2 << 20), 2 << 20},
	} {
		if got := leastOf(c.limit, c.container, c.whole); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	if Memory() <= 0 {
		t.Error("the memory of this machine is not known")
	}
}

func TestLimitMemory_KeepsALimitThatIsSet(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	t.Setenv("GOMEMLIMIT", "off")
	LimitMemory(1 << 30)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("a limit that is off became %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	LimitMemory(0)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("unknown memory became a limit of %d", got)
	}
	LimitMemory(1000 << 20)
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("got %d, want nine tenths of the memory", got)
	}
	LimitMemory(2000 << 20)
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("a limit of 900 MiB became %d", got)
	}
}
