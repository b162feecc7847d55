// Package budget divides what all callers share among their accounts: memory, operations,
// connections. One account can hold only a part of it, so nobody can use up the rest.
//
// It must not know what is held, or who the accounts are.
package budget

import "sync"

// Parts is into how many parts a Budget is divided. One account holds at most one part, so it takes
// as many accounts to leave nothing for others.
const Parts = 4

// Nobody is an account that is limited only by the total.
const Nobody = ""

// Budget limits what all accounts hold together, and what each of them holds. The units are bytes,
// or a count. It is safe for concurrent use.
type Budget struct {
	total, share int64

	mu   sync.Mutex
	used int64
	held map[string]int64 // by each account, without Nobody
}

// New returns a Budget of total units. An account may hold a quarter of them, or one largest use if
// that is more.
func New(total, largest int) *Budget {
	return &Budget{total: int64(total), share: int64(min(total, max(total/Parts, largest))), held: map[string]int64{}}
}

// Hold takes n units for an account. If fewer are free, in total or for this account, it takes
// nothing and returns false.
func (b *Budget) Hold(account string, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	units := int64(n)
	if units > b.total-b.used {
		return false
	}
	if account != Nobody {
		held := b.held[account]
		if units > b.share-held {
			return false
		}
		b.held[account] = held + units
	}
	b.used += units
	return true
}

// Free returns n units that an account holds.
func (b *Budget) Free(account string, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= int64(n)
	b.disown(account, n)
}

// Disown gives n units that an account holds to Nobody.
func (b *Budget) Disown(account string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.disown(account, n)
}

// disown is Disown. The lock is held.
func (b *Budget) disown(account string, n int) {
	if account == Nobody {
		return
	}
	if left := b.held[account] - int64(n); left != 0 {
		b.held[account] = left
	} else {
		delete(b.held, account)
	}
}

// Used returns how many units are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
