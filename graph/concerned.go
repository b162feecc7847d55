package graph

import (
	"carrel/lease"
	"carrel/library"
)

// A mutation's payload tells how many libraries or keys the change concerned, by which
// the edge bills it; 0 where nothing was changed.

func concerned(f *library.FanOut) int {
	if f == nil {
		return 0
	}
	return f.Libraries
}

// ConcernedLibraries are the libraries that the new item went to.
func (p *CreateContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries are the libraries that hold the item.
func (p *UpdateContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries are the libraries that were given it.
func (p *ShareContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries are the libraries that it came to, left or moved in.
func (p *SetContentMembersPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries are the library that lost it.
func (p *RemoveFromLibraryPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedLibraries are the libraries that held it.
func (p *DeleteContentPayload) ConcernedLibraries() int { return concerned(p.FanOut) }

// ConcernedKeys are the keys that were asked for. Each costs a conditional write, whether
// it was free or not.
func (p *AcquireLeasePayload) ConcernedKeys() int { return p.Asked }

// ConcernedKeys are the keys that were given up.
func (p *CancelLeasePayload) ConcernedKeys() int { return keysOf(p.Lease) }

func keysOf(l *lease.Lease) int {
	if l == nil {
		return 0
	}
	return len(l.Documents)
}

// WrongSecrets is 1 where the secret was wrong, which the edge bills.
func (p *UpdatePastePayload) WrongSecrets() int { return wrongSecrets(p.UserErrors) }

// WrongSecrets is 1 where the secret was wrong, which the edge bills.
func (p *DeletePastePayload) WrongSecrets() int { return wrongSecrets(p.UserErrors) }

func wrongSecrets(errs []UserError) int {
	for _, e := range errs {
		if e.Code == CodeWrongSecret {
			return 1
		}
	}
	return 0
}
