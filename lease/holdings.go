package lease

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// The leases of a user that hold keys are on a list, so that their keys can be limited, and that they can
// be ended when the user is deleted. A lease is put on the list before its owner gets it, and again before
// it is confirmed, and is taken off it after it has ended. The list is a row of the table of leases.

const (
	// DefaultConfirmedKeys is how many keys a user may hold by default, confirmed or not.
	DefaultConfirmedKeys = 1000
	// holdingsPrefix begins the ids of lists. It is followed by the id of the user.
	holdingsPrefix = "h:"
	// holdingsQueue is how many changes of one list may wait in this process.
	holdingsQueue = 256
)

// holdings is the list of a user.
type holdings struct {
	closed bool // the user was deleted: no lease is added any more
	leases []holding
}

// holding is a lease on a list, with the number of its keys.
type holding struct {
	id   ID
	keys int64
	// until is the deadline of a lease that is not confirmed, which counts until then; 0 if it is confirmed.
	until clock.Instant
}

func holdingsOf(owner principal.ID) ID { return ID(holdingsPrefix + owner) }

func isHoldings(id ID) bool { return strings.HasPrefix(string(id), holdingsPrefix) }

// row encodes the list.
func (h *holdings) row(id ID, seq int64) Row {
	b := []byte{rowVersion, 0}
	if h.closed {
		b[1] = 1
	}
	for _, l := range h.leases {
		b = binary.AppendVarint(commit.AppendText(b, l.id), l.keys)
		b = binary.AppendVarint(b, int64(l.until))
	}
	return Row{ID: id, Seq: seq, Data: b}
}

// readHoldings decodes a list. For the zero Row it returns an empty list.
func readHoldings(r Row) (*holdings, error) {
	h := &holdings{}
	if r.Seq == 0 {
		return h, nil
	}
	in := commit.NewReader(r.Data)
	version := in.Byte()
	h.closed = in.Byte() == 1
	for in.More() && in.OK() {
		h.leases = append(h.leases, holding{ID(in.Text()), in.Int(), clock.Instant(in.Int())})
	}
	if version != rowVersion || !in.OK() {
		return nil, fmt.Errorf("%s: %w", r.ID, errRow)
	}
	return h, nil
}

// find returns the position of a lease on the list, or -1.
func (h *holdings) find(id ID) int {
	return slices.IndexFunc(h.leases, func(l holding) bool { return l.id == id })
}

// enlist puts a lease on the list of its owner, until its deadline or, if until is 0, for good. path is
// that of TOO_MANY. The other errors are errOwnerGone, CONTENTION and those of the store.
func (s *Service) enlist(ctx context.Context, l *Lease, until clock.Instant, path string) error {
	_, err := s.changeHoldings(ctx, l.Owner, func(h *holdings) (bool, error) {
		mine, now := holding{l.ID, int64(len(l.Documents)), until}, s.engine.Now()
		if !h.closed && slices.Contains(h.leases, mine) {
			return false, nil
		}
		h.leases = slices.DeleteFunc(h.leases, func(o holding) bool { return o.id == l.ID || o.until != 0 && o.until <= now })
		switch {
		case h.closed:
			return false, errOwnerGone
		case h.keys()+mine.keys > int64(s.confirmedKeys):
			return false, fault.TooManyf([]string{path}, "a user holds at most %d keys, confirmed or not; %s has %d, and the lease has %d",
				s.confirmedKeys, l.Owner, h.keys(), mine.keys)
		}
		h.leases = append(h.leases, mine)
		return true, nil
	})
	return err
}

// keys returns the number of keys of all leases on the list.
func (h *holdings) keys() (n int64) {
	for _, l := range h.leases {
		n += l.keys
	}
	return n
}

// takeOffOrLater is takeOff, but if it fails, the lease is taken off the list when it is swept.
func (s *Service) takeOffOrLater(ctx context.Context, l *Lease) {
	if err := s.takeOff(ctx, l); err != nil {
		s.log.DebugContext(ctx, "a lease that has ended stays on the list of its owner until it is swept", "lease", l.ID, "error", err)
	}
}

// takeOff takes a lease that has ended off the list of its owner.
func (s *Service) takeOff(ctx context.Context, l *Lease) error {
	if l.Owner == "" {
		return nil // it never had keys
	}
	_, err := s.changeHoldings(ctx, l.Owner, func(h *holdings) (bool, error) {
		at := h.find(l.ID)
		if at >= 0 {
			h.leases = slices.Delete(h.leases, at, at+1)
		}
		return at >= 0, nil
	})
	return err
}

// EndOwned ends the leases of a deleted user. Those that are pending hold no keys from its deletion on.
func (s *Service) EndOwned(ctx context.Context, owner *principal.Header) error {
	if !owner.ID.IsUser() {
		return nil
	}
	h, err := s.changeHoldings(ctx, owner.ID, func(h *holdings) (bool, error) {
		before := h.closed
		h.closed = true
		return !before, nil
	})
	if err != nil {
		return err
	}
	for _, l := range h.leases {
		ended, err := s.change(ctx, l.id, s.revoke)
		if fault.CodeOf(err) != fault.NotFound && err != nil {
			return fmt.Errorf("ending %s: %w", l.id, err)
		}
		if ended == nil {
			ended = &Lease{ID: l.id, Owner: owner.ID}
		}
		if err := s.takeOff(ctx, ended); err != nil {
			return err
		}
	}
	return nil
}

// changeHoldings changes the list of a user, by compare-and-set, and returns it. change may run several
// times; it changes the list that it gets, and reports whether it has.
func (s *Service) changeHoldings(ctx context.Context, owner principal.ID, change func(*holdings) (bool, error)) (*holdings, error) {
	id := holdingsOf(owner)
	unlock, err := s.rt.Lock(ctx, string(id), holdingsQueue)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for n := range commit.MaxTries {
		if n > 0 {
			if err := s.pause(ctx); err != nil {
				return nil, err
			}
		}
		before, err := s.store.ReadRow(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("reading the leases of a user: %w", err)
		}
		h, err := readHoldings(before)
		if err != nil {
			return nil, err
		}
		if changed, err := change(h); err != nil || !changed {
			return h, err
		}
		after := h.row(id, before.Seq+1)
		stored, err := s.store.CommitRow(ctx, after)
		switch {
		case err == nil && stored.Seq == after.Seq && string(stored.Data) == string(after.Data):
			return h, nil
		case err != nil && !fault.MayHaveCommitted(err):
			return nil, fmt.Errorf("changing the leases of a user: %w", err)
		}
		// The next read tells whether it was applied, which change finds out.
	}
	return nil, contention()
}
