package heap

import (
	"math"
	"testing"
)

func TestFiles_AreDivided(t *testing.T) {
	for limit, want := range map[uint64][2]int{
		0: {0, 0}, 100: {50, 50}, 1024: {512, 512}, 2_200: {1_100, 1_100}, 1 << 20: {1<<20 - 1_100, 1_100},
		math.MaxUint64: {math.MaxInt32 - 1_100, 1_100},
	} {
		if connections, own := files(limit); connections != want[0] || own != want[1] {
			t.Errorf("of %d: %d for connections and %d for the process, want %v", limit, connections, own, want)
		}
	}
	if connections, own := Files(); connections <= 0 || own <= 0 {
		t.Errorf("of this process: %d and %d", connections, own)
	}
}
