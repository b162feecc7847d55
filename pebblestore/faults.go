package pebblestore

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/fault"
	"carrel/pebblestore/files"
)

// wrapError returns a domain error for a failure, and nil for nil. doing names the operation.
func wrapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	var e *fault.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, errRow), errors.Is(err, errKey), errors.Is(err, errLostRow):
		return &fault.Error{Code: fault.Internal, Msg: doing + ": a row of the store cannot be read", Err: err}
	case pebble.IsCorruptionError(err):
		return fault.Unavailablef(files.Opaque(err), "%s: %s of the store is damaged", doing, files.Kind(err))
	}
	return fault.Unavailablef(files.Opaque(err), "%s: the store failed", doing)
}

// errClosed returns the error of a call of a closed store.
func errClosed() error {
	return &fault.Error{Code: fault.Unavailable, Msg: "the store is closed", RetryAfter: 1}
}

// contextFault returns the error for a call whose deadline has passed or whose context was canceled
// before anything was done.
func contextFault(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonTimeout, Msg: "the time for this request has run out",
			Err: err, RetryAfter: 1}
	}
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonTimeout, Msg: "the request was canceled", Err: err, RetryAfter: 1}
}
