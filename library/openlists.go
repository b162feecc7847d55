package library

import (
	"context"
	"errors"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// unreadableFor is the minimum age of a state that the scrubber compares with derived rows while an
// in-flight list cannot be read. That list may contain any change. A live process finishes a
// change, or tries to, within the 5 minutes of the longest pause, so an older change was abandoned.
// Repairing it while its owner runs would be correct too, because states carry their own
// timestamps, but the scrubber would report a change in progress as a mismatch.
const unreadableFor = 10 * time.Minute

// OpenLists is one reading of the in-flight lists of all processes.
type OpenLists struct {
	Contents   map[ContentID]bool
	Principals map[principal.ID]bool
	Entries    []commit.Entry
	Unreadable []commit.ListID // lists that could not be read
}

// OpenLists reads the lists. Lists that cannot be read are no error: they are in Unreadable.
func (s *Service) OpenLists(ctx context.Context) (*OpenLists, error) {
	inFlightLists, err := commit.OpenLists(ctx, s.inFlightLists)
	var bad *commit.UnreadableLists
	if err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	l := &OpenLists{Contents: map[ContentID]bool{}, Principals: map[principal.ID]bool{}}
	if bad != nil {
		l.Unreadable = bad.IDs
	}
	for _, inFlightList := range inFlightLists {
		for _, e := range inFlightList.Entries {
			if e.Ended {
				continue // nothing is left to do
			}
			l.Entries = append(l.Entries, e)
			if e.Kind == commit.Principal {
				l.Principals[principal.ID(e.Key)] = true
			} else {
				l.Contents[ContentID(e.Key)] = true
			}
		}
	}
	return l, nil
}

// MayHold reports whether the change that led to an item's state of mts may be in flight.
func (l *OpenLists) MayHold(id ContentID, mts, now clock.Instant) bool {
	return l.Contents[id] || l.MayHide(mts, now)
}

// MayHoldPrincipal is MayHold for a user or a group.
func (l *OpenLists) MayHoldPrincipal(id principal.ID, mts, now clock.Instant) bool {
	return l.Principals[id] || l.MayHide(mts, now)
}

// MayHide reports whether a list that cannot be read may contain the change that led to a state
// of mts.
func (l *OpenLists) MayHide(mts, now clock.Instant) bool {
	return len(l.Unreadable) > 0 && mts > now.Add(-unreadableFor)
}

// fannedOut reports whether all libraries are up to date with the change that led to the state seq of an
// item. The entry of a change whose fan-out has ended stays on the stored list until its process writes
// it again, so fannedOut brings the libraries up to date itself if there is one. Other changes of the
// item do not matter. fannedOut returns false if a list cannot be read.
func (s *Service) fannedOut(ctx context.Context, id ContentID, seq int64) bool {
	lists, err := s.OpenLists(ctx)
	if err != nil || len(lists.Unreadable) > 0 {
		return false
	}
	bounded, cancel := s.rt.Deadline(ctx, s.tune.AnswerWithin)
	defer cancel()
	for _, entry := range lists.Entries {
		if entry.Kind != commit.Content || entry.Key != string(id) || !entry.MayInclude(seq) {
			continue
		}
		// Followers are notified, because the walk also removes the rows of members who have left. The process that
		// finishes the change may not know any more what has left the libraries.
		if err := (&walk{s: s, entry: inFlight{Entry: entry}, serial: true}).run(bounded); err != nil {
			return false
		}
	}
	return true
}
