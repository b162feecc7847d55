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

// With the ballast, the collector waits until the heap has grown by the size of the ballast, and
// not only by the few megabytes that a small process keeps.
func TestBallast_SmallHeapIsRarelyCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // overrides GOGC
	runtime.GC()
	if before := goal(); before >= 2*size {
		t.Fatalf("the goal without the ballast is %d bytes", before)
	}
	held := Ballast()
	runtime.GC()
	if after := goal(); after < 2*size || after > 3*size {
		t.Errorf("the goal with a ballast of %d bytes is %d bytes", size, after)
	}
	runtime.KeepAlive(held)
}
