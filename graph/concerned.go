package graph

import (
	"carrel/lease"
	"carrel/library"
)

// A mutation's payload reports how many libraries the change concerned, or how many keys were
// requested or released. This determines the price of the mutation. The number of libraries is 0 if
// the mutation was refused.

func concerned(f *library.FanOut) int {
	if f == nil {
		return 0
	}
	return f.Libraries
}

// ConcernedLibraries counts the library of the user.
func (p *DeleteUserPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries counts the library of the group.
func (p *DeleteGroupPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries returns the number of libraries that the new item was added to.
func (p *CreateContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries returns the number of libraries that contain the item.
func (p *UpdateContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries returns the number of libraries that the item was added to.
func (p *ShareContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries returns the number of libraries that the item was added to, removed from or
// moved in.
func (p *SetContentMembersPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries counts the library that lost the item.
func (p *RemoveFromLibraryPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries returns the number of libraries that contained the item.
func (p *DeleteContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedKeys returns the number of requested keys. Each costs a conditional write, whether it
// was free or not.
func (p *AcquireLeasePayload) ConcernedKeys() int { return p.Requested }

// ConcernedKeys returns the number of released keys.
func (p *CancelLeasePayload) ConcernedKeys() int { return keysOf(p.Lease) }

func keysOf(l *lease.Lease) int {
	if l == nil {
		return 0
	}
	return len(l.Documents)
}

// WrongSecrets returns 1 if the secret was wrong, which the edge charges.
func (p *UpdatePastePayload) WrongSecrets() int { return wrongSecrets(p.UserErrors) }

// WrongSecrets returns 1 if the secret was wrong, which the edge charges.
func (p *DeletePastePayload) WrongSecrets() int { return wrongSecrets(p.UserErrors) }

func wrongSecrets(errs []UserError) int {
	for _, e := range errs {
		if e.Code == CodeWrongSecret {
			return 1
		}
	}
	return 0
}
