package session

// A goroutine begins with a stack of 2 KiB. The driver needs up to 8: it would be
// doubled twice, each time with all its frames in it to be moved, and a page has
// forty such goroutines: an eighth of the CPU of its process.
const driverStack = 5 << 10

// growStack gives a new goroutine the stack that the driver will need, while
// there is next to nothing on it. Where it is large enough it costs a comparison.
func growStack() { haveRoom(false) }

// haveRoom has a frame of driverStack. Nothing is ever in it: the room would have
// to be cleared, so it is made on a way that is not taken.
//
//go:noinline
func haveRoom(use bool) (last byte) {
	if use {
		var room [driverStack]byte
		for i := range room {
			room[i] = last
			last++
		}
		return room[last]
	}
	return 0
}
