package session

// driverStack is the stack that growStack reserves. A goroutine starts with
// 2 KiB and the driver needs up to 8: the runtime would double the stack twice, and
// copy all frames each time. A page starts forty such goroutines; see ADR 10 for what
// this saves.
const driverStack = 5 << 10

// growStack grows the stack of a new goroutine to what the driver needs, while it holds
// hardly any frames. If the stack is large enough, it costs one comparison.
func growStack() { largeFrame(false) }

// largeFrame has a frame of driverStack bytes. Clearing the frame would cost more than
// it saves, so the code that uses it never runs.
//
//go:noinline
func largeFrame(use bool) (last byte) {
	if use {
		var frame [driverStack]byte
		for i := range frame {
			frame[i] = last
			last++
		}
		return frame[last]
	}
	return 0
}
