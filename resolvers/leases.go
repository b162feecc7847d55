package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/lease"
)

// Lease returns a lease to a caller with its token.
func (q queries) Lease(ctx context.Context, id, token string) (*lease.Lease, error) {
	return q.Leases.Lease(ctx, id, token)
}

// IsKeyAvailable reports whether a key could be leased.
func (q queries) IsKeyAvailable(ctx context.Context, key string) (bool, error) {
	return q.Leases.KeyAvailable(ctx, viewer(ctx), key)
}

// KeyHolder returns the lease that holds a key to an administrator.
func (q queries) KeyHolder(ctx context.Context, key string, tenant *string) (*lease.Lease, error) {
	return q.Leases.KeyHolder(ctx, viewer(ctx), key, tenant)
}

// AcquireLease leases keys.
func (m mutations) AcquireLease(ctx context.Context, in graph.AcquireLeaseInput) (*graph.AcquireLeasePayload, error) {
	got, err := m.Leases.Acquire(ctx, m.begin(ctx), lease.Acquire{
		Documents: in.Documents, TTLMs: in.TTLMs, WaitMs: in.WaitMs, IdempotencyKey: in.IdempotencyKey,
	})
	colliding := lease.CollidingKeys(err)
	faults, err := graph.UserErrors(err) // taken keys are no guesses: each is paid for
	payload := &graph.AcquireLeasePayload{CollidingKeys: colliding, UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if err == nil && (faults == nil || colliding != nil) { // each key took a conditional write, whether it was free or not
		graph.ExecutionOf(ctx).Keys += len(in.Documents)
	}
	if got != nil {
		payload.Lease = got.Lease
		if got.Token != "" {
			payload.Token = &got.Token
		}
	}
	return payload, err
}

// ConfirmLease makes the keys of a lease permanent.
func (m mutations) ConfirmLease(ctx context.Context, in graph.ConfirmLeaseInput) (*graph.ConfirmLeasePayload, error) {
	l, err := m.Leases.Confirm(ctx, lease.End{ID: in.ID, Token: in.Token})
	faults, err := userErrors(ctx, err)
	return &graph.ConfirmLeasePayload{Lease: l, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// CancelLease releases the keys of a lease.
func (m mutations) CancelLease(ctx context.Context, in graph.CancelLeaseInput) (*graph.CancelLeasePayload, error) {
	end := lease.End{ID: in.ID}
	if in.Token != nil {
		end.Token = *in.Token
	}
	l, err := m.Leases.CancelAs(ctx, m.begin(ctx), end)
	faults, err := userErrors(ctx, err)
	if l != nil {
		graph.ExecutionOf(ctx).Keys += len(l.Documents)
	}
	return &graph.CancelLeasePayload{Lease: l, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}
