package input

import "carrel/core/fault"

// Optional is an input field that may be omitted. For fields that can be null, T is a pointer.
type Optional[T any] struct {
	Set   bool
	Value T
}

// Some returns an input field with a value.
func Some[T any](v T) Optional[T] { return Optional[T]{true, v} }

// MaxList is how many ids, share targets or members one call may name. It is the length of
// the longest IN list in a statement of a store.
const MaxList = 100

// Required checks a field that must not be null.
func Required(value *string, what string, check func(string) error) error {
	if value == nil {
		return fault.Emptyf(nil, "%s cannot be null: leave it out to keep it", what)
	}
	return check(*value)
}

// Needed returns the value of an input field that must not be null. It returns nil if the
// field was omitted or is invalid.
func Needed[T any](faults *fault.List, field Optional[*T], check func(T) error, path string) *T {
	switch {
	case !field.Set:
		return nil
	case field.Value == nil:
		faults.Add(fault.Emptyf(nil, "%s cannot be null: leave it out to keep it as it is", path), path)
		return nil
	}
	if err := check(*field.Value); err != nil {
		faults.Add(err, path)
		return nil
	}
	return field.Value
}
