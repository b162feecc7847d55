package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// goal is the size of the heap at which the collector runs next.
func goal() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// The collector waits for what a page makes some hundred times over, not for the
// few megabytes that a small process keeps.
func TestBallast_SmallHeapIsRarelyCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever GOGC says
	runtime.GC()
	if before := goal(); before >= 2*size {
		t.Fatalf("without it the goal is %d bytes already", before)
	}
	held := Ballast()
	runtime.GC()
	if after := goal(); after < 2*size || after > 3*size {
		t.Errorf("the goal is %d bytes, with %d held", after, size)
	}
	runtime.KeepAlive(held)
}
