package input

import "carrel/core/fault"

// Optional tells an input field that was left out from one that was given. For
// fields that can be null, T is a pointer.
type Optional[T any] struct {
	Set   bool
	Value T
}

// Some is an input field that was given.
func Some[T any](v T) Optional[T] { return Optional[T]{true, v} }

// MaxList is the most ids, share targets or members that one call may name:
// the longest IN list that a store is asked for.
const MaxList = 100

// Required checks a field that takes no null.
func Required(value *string, what string, check func(string) error) error {
	if value == nil {
		return fault.Invalidf(nil, "%s cannot be null: leave it out to keep it", what)
	}
	return check(*value)
}

// Needed is the value of an input field that takes no null; nil where the
// field was left out or is at fault.
func Needed[T any](faults *fault.List, field Optional[*T], check func(T) error, path string) *T {
	switch {
	case !field.Set:
		return nil
	case field.Value == nil:
		faults.Add(fault.Invalidf(nil, "%s takes no null; leave it out to keep it as it is", path), path)
		return nil
	}
	if err := check(*field.Value); err != nil {
		faults.Add(err, path)
		return nil
	}
	return field.Value
}
