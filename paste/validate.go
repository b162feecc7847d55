package paste

import (
	"unicode/utf8"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
)

const (
	// MaxTitle is how many characters a title may have.
	MaxTitle = 1000
	// MaxBody is how many bytes a body may have.
	MaxBody = 512 << 10
	// inlineBody is the size in bytes up to which a body is stored in the row. So a page of
	// twenty rows has at most 80 KiB of bodies.
	inlineBody = 4 << 10
)

// Create is the input of Service.Create.
type Create struct {
	Title          *string
	Body           string
	IsPrivate      bool
	ExpiresAt      *clock.Instant
	IdempotencyKey *string
}

// Update is the input of Service.Update. A field that is not Set does not change.
type Update struct {
	ID     string
	Secret string
	// Title is removed by null.
	Title input.Optional[*string]
	Body  input.Optional[*string]
	// IsPrivate is false if it is null.
	IsPrivate input.Optional[*bool]
	// ExpiresAt is removed by null, or by ClearExpiry. Only one of the two may be given.
	ExpiresAt       input.Optional[*clock.Instant]
	ClearExpiry     bool
	ExpectedVersion *int
}

// Delete is the input of Service.Delete.
type Delete struct {
	ID     string
	Secret string
}

// check returns the faults of the input except for the idempotency key.
func (in *Create) check(now clock.Instant) fault.List {
	var faults fault.List
	if in.Title != nil {
		faults.Add(checkTitle(*in.Title), "title")
	}
	faults.Add(checkBody(in.Body), "body")
	if in.IdempotencyKey == nil { // a repetition may arrive after the paste has expired
		faults.Add(checkExpiry(in.ExpiresAt, now), "expiresAt")
	}
	return faults
}

// check returns the id and the faults of the input.
func (in *Update) check(now clock.Instant) (ID, fault.List) {
	var faults fault.List
	id, err := ParseID(in.ID)
	faults.Add(err, "id")
	if in.Title.Set && in.Title.Value != nil {
		faults.Add(checkTitle(*in.Title.Value), "title")
	}
	if in.Body.Set {
		faults.Add(input.Required(in.Body.Value, "body", checkBody), "body")
	}
	if in.ExpiresAt.Set {
		if in.ClearExpiry {
			faults = append(faults, fault.NotApplicablef([]string{"clearExpiry"}, "expiresAt and clearExpiry exclude each other"))
		}
		faults.Add(checkExpiry(in.ExpiresAt.Value, now), "expiresAt")
	}
	if !in.Title.Set && !in.Body.Set && !in.IsPrivate.Set && !in.ExpiresAt.Set && !in.ClearExpiry {
		faults = append(faults, fault.Emptyf(nil, "name at least one field to change"))
	}
	return id, faults
}

func checkTitle(s string) error { return input.CheckText(s, "title", MaxTitle, "") }

func checkBody(s string) error {
	switch {
	case s == "":
		return fault.Emptyf(nil, "body needs at least one character")
	case len(s) > MaxBody:
		return fault.TooLongf(nil, "body has at most %d bytes; this one has %d", MaxBody, len(s))
	case !utf8.ValidString(s):
		return fault.Invalidf(nil, "body must be valid UTF-8")
	}
	return nil
}

func checkExpiry(at *clock.Instant, now clock.Instant) error {
	if at != nil && *at <= now {
		return fault.OutOfRangef(nil, "expiresAt must be in the future")
	}
	return nil
}
