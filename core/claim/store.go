package claim

import "context"

// Store keeps claims. All its writes are compare-and-set. The error of a write that may
// have been applied satisfies fault.MayHaveCommitted.
type Store interface {
	// ReadClaim reads the claim of a key. It must return the zero Claim where there is
	// none. A serial read finishes a pending write, and returns the last decided claim;
	// any other read is a quorum read.
	ReadClaim(ctx context.Context, k Key, serial bool) (Claim, error)
	// PutClaim stores c if its key has no claim and replace is nil, or if its key has a claim with
	// the token *replace. It must return the claim that the key has then, the zero Claim where it
	// has none. So it also returns c if c was stored before.
	PutClaim(ctx context.Context, c Claim, replace *Token) (Claim, error)
	// DropClaim must remove the claim of a key iff it points to record and, where token
	// is not nil, has that token.
	DropClaim(ctx context.Context, k Key, record string, token *Token) error
	// ScanClaims lists at most limit claims after a key, each once, in a stable order of
	// the store's choice. The zero Key comes before all others.
	ScanClaims(ctx context.Context, after Key, limit int) ([]Claim, error)
}
