package session

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is how a request ends at which the driver has panicked. It may have
// done so over the answer: what the cluster has made of the request is unknown.
var errPanic = errors.New("the driver has panicked")

// recoverPanic makes an error of a panic. It is for goroutines of this package, and for
// what others may run: above them is nobody who would keep a panic from ending the
// process, and with it the requests of everybody else.
func recoverPanic[T any](do func() (T, error)) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v at %s", errPanic, cause, debug.Stack())
		}
	}()
	return do()
}

// wrapPanic is fault for a panic, and leaves any other error as it is.
func wrapPanic(err error) error {
	if errors.Is(err, errPanic) {
		return WrapError("ask the cluster", err)
	}
	return err
}
