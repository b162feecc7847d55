package lease

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// End is the input of Service.Confirm and Service.Cancel.
type End struct {
	ID string
	// Token is empty for an administrator of the lease's tenant, who may cancel it without its token.
	Token string
}

// Confirm makes the keys of a lease permanent. Anybody with the token may confirm.
//
// Errors: the faults of the input; NOT_FOUND; FORBIDDEN; EXPIRED, CONFIRMED and CANCELLED
// if the lease is no longer pending; TOO_MANY if its owner would hold too many keys.
func (s *Service) Confirm(ctx context.Context, in End) (*Lease, error) {
	listed := false
	var last *Lease // as it was read last
	l, err := s.end(ctx, "confirmLease", in, func(ctx context.Context, before *Lease) (*Lease, error) {
		last = before
		switch {
		case !before.opens(in.Token):
			return nil, notTheToken()
		case before.overdue(s.engine.Now()):
			return before.ended(Expired), nil
		case before.State != Pending:
			return before, before.notPending()
		}
		gone, err := s.ownerGone(ctx, before)
		if err == nil && !gone {
			err = s.enlist(ctx, before, 0, "id")
		}
		switch {
		case gone || errors.Is(err, errOwnerGone):
			return before.ended(Cancelled), nil
		case err != nil:
			return nil, err
		}
		listed = true
		return s.confirmed(before), nil
	})
	if listed && (last.Ended() || l != nil && l.Ended()) {
		s.takeOffOrLater(ctx, last)
	}
	if err == nil && l.State != Confirmed {
		err = l.notPending()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Cancel is CancelAs for a caller with the token.
func (s *Service) Cancel(ctx context.Context, in End) (*Lease, error) {
	return s.CancelAs(ctx, &principal.Viewer{}, in)
}

// CancelAs releases the keys of a lease. Anybody with the token may cancel a lease that is pending. It
// does not change an expired lease. An administrator of the lease's tenant gives no token, and may
// cancel a confirmed lease too.
//
// Errors: the faults of the input; NOT_FOUND; FORBIDDEN; CONFIRMED; CANCELLED.
func (s *Service) CancelAs(ctx context.Context, v *principal.Viewer, in End) (*Lease, error) {
	l, err := s.end(ctx, "cancelLease", in, func(_ context.Context, before *Lease) (*Lease, error) {
		byAdmin := in.Token == "" && before.Owner != "" && v.Administers(before.Tenant())
		switch {
		case !byAdmin && !before.opens(in.Token):
			return nil, notTheToken()
		case before.overdue(s.engine.Now()):
			return before.ended(Expired), nil
		case before.State == Expired:
			return before, nil
		case byAdmin && before.State == Confirmed:
			return s.revoke(before)
		case before.State != Pending:
			return before, before.notPending()
		}
		return before.ended(Cancelled), nil
	})
	if err == nil {
		s.takeOffOrLater(ctx, l)
	}
	return l, err
}

// end runs a mutation that ends a pending lease. A lease whose deadline has passed expires in the store
// before an error is returned. Otherwise a gateway with a slower clock could still confirm it.
func (s *Service) end(ctx context.Context, name string, in End, plan func(ctx context.Context, before *Lease) (*Lease, error)) (*Lease,
	error) {
	var faults fault.List
	id, err := ParseID(in.ID)
	faults.Add(err, "id")
	if _, err := s.engine.Begin("", commit.Call{Name: name, Input: &in, Faults: faults}); err != nil {
		return nil, err
	}
	return s.changeWith(ctx, id, plan)
}

// change is changeWith for plans that need no reads.
func (s *Service) change(ctx context.Context, id ID, plan func(before *Lease) (*Lease, error)) (*Lease, error) {
	return s.changeWith(ctx, id, func(_ context.Context, before *Lease) (*Lease, error) { return plan(before) })
}

// changeWith changes a lease. plan returns the next state, or before if nothing changes. The claims of
// an ended lease stay until it is swept: they have the fencing numbers that the next owners of its keys
// must exceed.
func (s *Service) changeWith(ctx context.Context, id ID, plan func(ctx context.Context, before *Lease) (*Lease, error)) (*Lease, error) {
	var l *Lease
	_, _, err := s.engine.Decide(ctx, s.engine.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case before == nil:
			return nil, noSuchLease()
		}
		l, err = plan(ctx, before)
		if err != nil || l == before {
			return commit.Nothing, err
		}
		if before.State == Confirmed {
			if err := s.putReminder(ctx, l, l.releaseAt()); err != nil {
				return nil, fault.Unavailablef(err, "the store did not take the change; nothing was changed, try again")
			}
		}
		return s.write(l), nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// revoke plans the end of a lease that holds its keys, permanently or not.
func (s *Service) revoke(before *Lease) (*Lease, error) {
	if before.Ended() {
		return before, nil
	}
	after := before.ended(Cancelled)
	if before.State == Confirmed {
		after.Deadline = max(s.engine.Now(), before.Deadline) // it is kept for a day from now
	}
	return after, nil
}

// expireIfOverdue makes a lease expire if its deadline has passed, and returns the lease.
func (s *Service) expireIfOverdue(ctx context.Context, l *Lease) (*Lease, error) {
	if !l.overdue(s.engine.Now()) {
		return l, nil
	}
	return s.change(ctx, l.ID, s.expires)
}

// expires plans the expiry of a lease whose deadline has passed.
func (s *Service) expires(before *Lease) (*Lease, error) {
	if !before.overdue(s.engine.Now()) {
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

// errOwnerGone is the error of putting a lease of a deleted user on the user's list.
var errOwnerGone = &fault.Error{Code: fault.Forbidden, Msg: "the owner of the lease was deleted"}

func notTheToken() *fault.Error {
	return fault.Forbiddenf([]string{"token"}, "this is not the token of the lease")
}

func noSuchLease() *fault.Error {
	return fault.NotFoundf([]string{"id"}, "there is no such lease; a lease that has ended is forgotten after a day")
}
