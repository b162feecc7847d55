package commit

import (
	"context"

	"carrel/core/fault"
)

// Call is a mutation as a caller requests it.
type Call struct {
	// Name is the name of the mutation in the schema.
	Name string
	// Input points to the input.
	Input any
	// Key points to the idempotency key in the input; nil if the mutation takes none.
	Key **string
	// Faults are the faults of all other fields of the input.
	Faults fault.List
}

// Mutation is a mutation that has begun. Its steps up to the compare-and-set share it.
type Mutation struct {
	// Budget is the time for those steps.
	Budget Budget
	// Request identifies repetitions of the mutation; nil if it has no idempotency key.
	Request *Request
	// Actor returns an error if the caller may not act at all, for example because its user was
	// deleted; nil: every caller may. Each try calls CheckActor.
	Actor func(ctx context.Context) error
}

// CheckActor returns an error if the caller may not act at all. Each try of a mutation calls it after it
// has read the state that it is based on, and before it decides what the caller may do with it
// (docs/write-protocol.md, "Access").
func (m *Mutation) CheckActor(ctx context.Context) error {
	if m.Actor == nil {
		return nil
	}
	return m.Actor(ctx)
}

// Begin begins a mutation. Every mutation of every domain calls it before it reads from the
// store. It returns the faults of the input, including those of the idempotency key, and
// removes the key from the input, whose hash must not depend on it. The caller is empty if
// it is anonymous.
func (g *Engine) Begin(caller string, c Call) (Mutation, error) {
	var key *string
	faults := c.Faults
	if c.Key != nil {
		key = *c.Key
		faults.Add(checkKey(caller, key), "idempotencyKey")
	}
	if err := faults.OrNil(); err != nil {
		return Mutation{}, err
	}
	m := Mutation{Budget: g.NewBudget()}
	if key != nil {
		*c.Key = nil
		m.Request = newRequest(caller, *key, c.Name, c.Input)
	}
	return m, nil
}
