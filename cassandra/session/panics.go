package session

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is the error of a request during which the driver panicked. It may have panicked while
// reading the answer, so the request may have been executed.
var errPanic = errors.New("the driver has panicked")

// recoverPanic converts a panic of do to an error. It is for functions that may run in goroutines
// of this package, in which a panic would end the process.
func recoverPanic[T any](do func() (T, error)) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v at %s", errPanic, cause, debug.Stack())
		}
	}()
	return do()
}

// wrapPanic is WrapError for a panic. It returns any other error unchanged.
func wrapPanic(err error) error {
	if errors.Is(err, errPanic) {
		return WrapError("ask the cluster", err)
	}
	return err
}
