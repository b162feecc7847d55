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

// A refused mutation may answer a guess: whether a secret is that of a paste, or whether a name, a
// url or an e-mail address of the tenant is in use. Its payload reports how many of them it
// answered, which the edge charges.

// Guesses returns 1 if the secret was wrong.
func (p *UpdatePastePayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses returns 1 if the secret was wrong.
func (p *DeletePastePayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses counts a name and an e-mail address that are taken.
func (p *CreateUserPayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses returns 1 if the e-mail address is taken.
func (p *UpdateUserPayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses returns 1 if the name is taken.
func (p *CreateGroupPayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses counts a name and a url that are taken.
func (p *CreateContentPayload) Guesses() int { return guesses(p.UserErrors) }

// Guesses returns 1 if the url is taken.
func (p *MoveContentPayload) Guesses() int { return guesses(p.UserErrors) }

func guesses(errs []UserError) (n int) {
	for _, e := range errs {
		if e.Code == CodeWrongSecret || e.Code == CodeTaken {
			n++
		}
	}
	return n
}
