package lease

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"

	"carrel/core/commit"
	"carrel/core/fault"
)

// End is the input of Service.Confirm and Service.Cancel.
type End struct {
	ID    string
	Token string
}

// Confirm makes the keys of a lease permanent. Anybody with the token may confirm.
//
// Errors: the faults of the input; NOT_FOUND; FORBIDDEN; EXPIRED, CONFIRMED and CANCELLED
// if the lease is no longer pending.
func (s *Service) Confirm(ctx context.Context, in End) (*Lease, error) {
	return s.end(ctx, "confirmLease", in, func(before *Lease) (*Lease, error) {
		switch {
		case before.overdue(s.Now()):
			return before.ended(Expired), nil
		case before.State != Pending:
			return before, before.notPending()
		}
		return s.confirmed(before), nil
	}, true)
}

// Cancel releases the keys of a lease. Anybody with the token may cancel. It does not change
// an expired lease.
//
// Errors: the faults of the input; NOT_FOUND; FORBIDDEN; CONFIRMED; CANCELLED.
func (s *Service) Cancel(ctx context.Context, in End) (*Lease, error) {
	return s.end(ctx, "cancelLease", in, func(before *Lease) (*Lease, error) {
		switch {
		case before.overdue(s.Now()):
			return before.ended(Expired), nil
		case before.State == Expired:
			return before, nil
		case before.State != Pending:
			return before, before.notPending()
		}
		return before.ended(Cancelled), nil
	}, false)
}

// end runs a mutation that ends a pending lease. With refuseExpired, a lease whose deadline has
// passed is the error EXPIRED. The lease expires in the store before the error is returned.
// Otherwise a gateway with a slower clock could still confirm it.
func (s *Service) end(ctx context.Context, name string, in End, plan func(before *Lease) (*Lease, error), refuseExpired bool) (*Lease, error) {
	var faults fault.List
	id, err := ParseID(in.ID)
	faults.Add(err, "id")
	if _, err := s.Begin("", commit.Call{Name: name, Input: &in, Faults: faults}); err != nil {
		return nil, err
	}
	l, err := s.change(ctx, id, func(before *Lease) (*Lease, error) {
		if !before.opens(in.Token) {
			return nil, fault.Forbiddenf([]string{"token"}, "this is not the token of the lease")
		}
		return plan(before)
	})
	if err == nil && refuseExpired && l.State == Expired {
		return nil, l.notPending()
	}
	return l, err
}

// change changes a lease. plan returns the next state, or before if nothing changes. If the
// change ends the lease, its claims are released in the background.
func (s *Service) change(ctx context.Context, id ID, plan func(before *Lease) (*Lease, error)) (*Lease, error) {
	var l *Lease
	_, changed, err := s.Decide(ctx, s.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case before == nil:
			return nil, noSuchLease()
		}
		l, err = plan(before)
		if err != nil || l == before {
			return commit.Nothing, err
		}
		return s.write(l), nil
	})
	if err != nil {
		return nil, err
	}
	if changed && l.Ended() {
		s.releaseLater(ctx, l)
	}
	return l, nil
}

// expireIfOverdue makes a lease expire if its deadline has passed, and returns the lease.
func (s *Service) expireIfOverdue(ctx context.Context, l *Lease) (*Lease, error) {
	if !l.overdue(s.Now()) {
		return l, nil
	}
	return s.change(ctx, l.ID, s.expires)
}

// expires plans the expiry of a lease whose deadline has passed.
func (s *Service) expires(before *Lease) (*Lease, error) {
	if !before.overdue(s.Now()) {
		return before, nil
	}
	return before.ended(Expired), nil
}

// confirmed returns the confirmed state of a lease.
func (s *Service) confirmed(l *Lease) *Lease {
	after := *l
	after.Seq, after.State = l.Seq+1, Confirmed
	after.Documents = make([]Document, len(l.Documents))
	for i, d := range l.Documents {
		var tag [16]byte
		s.rt.Random(tag[:])
		etag := hex.EncodeToString(tag[:])
		d.ETag = &etag
		after.Documents[i] = d
	}
	return &after
}

// opens reports whether a token is that of the lease, in constant time. A text of another length
// than a token is not compared.
func (l *Lease) opens(token string) bool {
	if len(token) != tokenLength {
		return false
	}
	hash := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(hash[:], l.Token[:]) == 1
}

// notPending returns the error of an operation that only a pending lease allows.
func (l *Lease) notPending() *fault.Error {
	refusal := func(r fault.Reason, msg string) *fault.Error {
		return &fault.Error{Code: fault.Conflict, Reason: r, Msg: msg}
	}
	switch l.State {
	case Confirmed:
		return refusal(fault.ReasonConfirmed, "the lease is confirmed; its keys are permanent")
	case Expired:
		return refusal(fault.ReasonExpired, "the lease has expired; acquire its keys again")
	}
	return refusal(fault.ReasonCancelled, "the lease was cancelled; acquire its keys again")
}

func noSuchLease() *fault.Error {
	return fault.NotFoundf([]string{"id"}, "there is no such lease; a lease that has ended is forgotten after a day")
}
