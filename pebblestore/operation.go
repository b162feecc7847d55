package pebblestore

import (
	"context"
	"time"
)

// Call is a call of the store that has ended.
type Call struct {
	Operation string // what it was for, from a fixed set
	Took      time.Duration
	Err       error
	// Refused reports that the condition of a write did not hold.
	Refused bool
}

// operation is a running call of the store.
type operation struct {
	store   *Store
	ctx     context.Context
	name    string
	began   time.Time // zero if nobody observes
	refused bool      // see Call
}

// enter starts a call. name says what it is for, in errors, metrics and spans. enter returns an error
// if the context has ended, the store is closed, or its log has failed. After a nil error the caller
// must call leave.
func (s *Store) enter(ctx context.Context, name string) (operation, error) {
	op := operation{store: s, ctx: ctx, name: name}
	if s.observe != nil {
		op.began = time.Now()
	}
	err := ctx.Err()
	if err != nil {
		err = contextFault(err)
		op.ended(err)
		return op, err
	}
	s.life.RLock()
	if err = s.failure(); s.closed {
		err = errClosed()
	}
	if err != nil {
		s.life.RUnlock()
		op.ended(err)
	}
	return op, err
}

// call makes a call of the store that does what do does. Its result is zero if it fails.
func call[T any](ctx context.Context, s *Store, name string, do func() (T, error)) (result T, err error) {
	op, err := s.enter(ctx, name)
	if err != nil {
		return result, err
	}
	defer op.leave(&err)
	got, err := do()
	if err != nil {
		return result, err
	}
	return got, nil
}

// leave ends a call, and turns its error into one of the domain.
func (o *operation) leave(err *error) {
	o.store.life.RUnlock()
	*err = wrapError(o.name, *err)
	o.ended(*err)
}

// ended passes the call to Options.Observe.
func (o *operation) ended(err error) {
	if o.store.observe != nil {
		o.store.observe(o.ctx, Call{Operation: o.name, Took: time.Since(o.began), Err: err, Refused: o.refused})
	}
}
