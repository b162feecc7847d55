package session

import (
	"sync"
	"testing"
)

// deep calls itself in frames of about 600 bytes, as the driver's calls are nested.
//
//go:noinline
func deep(depth int) (sum byte) {
	var frame [512]byte
	for i := range frame {
		frame[i] = byte(depth + i)
	}
	if depth > 0 {
		sum = deep(depth - 1)
	}
	return sum + frame[depth]
}

// BenchmarkGrowStack starts the forty goroutines of a page, each of which needs 7 KiB
// of stack.
func BenchmarkGrowStack(b *testing.B) {
	for _, c := range []struct {
		name string
		grow func()
	}{{"at once", growStack}, {"by doubling", func() {}}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var tasks sync.WaitGroup
				for range 40 {
					tasks.Go(func() {
						c.grow()
						deep(11)
					})
				}
				tasks.Wait()
			}
		})
	}
}
