package commit

import "fmt"

// Check returns an error if this program cannot finish an entry: if its kind is of a
// later version, or its payload cannot be read.
func (e *Entry) Check() error {
	switch e.Kind {
	case Content, Principal, Paste:
		if _, err := DecodeReach(e.Payload); err != nil {
			return fmt.Errorf("the change %x of %s: %w", e.ID, e.Key, err)
		}
		return nil
	}
	return fmt.Errorf("the change %x of %s is of the unknown kind %q", e.ID, e.Key, e.Kind)
}
