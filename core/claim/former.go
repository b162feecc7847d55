package claim

import (
	"context"
	"log/slog"
	"time"
)

// dropWithin is how long the removal of a former claim may take.
const dropWithin = 5 * time.Second

// Former is the claim of a name that its record gives up by a change. It is read before
// the change is decided, and removed after that.
type Former struct {
	Key
	Record string
	// Token is nil where the record has ended by the change.
	Token *Token
}

// Former returns the claim that a record has on a key, and nil where it has none. It must be
// called before the change is decided: a token that is read later may be of a change back.
func (c *Claims) Former(ctx context.Context, k Key, record string) (*Former, error) {
	stands, err := c.store.ReadClaim(ctx, k, true)
	if err != nil || stands.Record != record {
		return nil, err
	}
	return &Former{k, record, &stands.Token}, nil
}

// DropFormer removes the former claim of a change that is decided; nil is none. It returns
// when the name is free. That of a record that has ended is free at once, so that its claim
// is removed in the background. Where the removal fails, the name is free as soon as the
// claim lapses, and the scrubber removes the claim.
func (c *Claims) DropFormer(ctx context.Context, f *Former, log *slog.Logger) {
	if f == nil {
		return
	}
	ctx = c.rt.Detach(ctx)
	drop := func() {
		ctx, cancel := c.rt.Deadline(ctx, dropWithin)
		defer cancel()
		if err := c.Drop(ctx, f.Key, f.Record, f.Token); err != nil {
			log.DebugContext(ctx, "the claim of a name that was given up stays until it is scrubbed", "record", f.Record, "error", err)
		}
	}
	if f.Token == nil {
		c.rt.Go(drop)
		return
	}
	drop()
}

// Drop removes the claim of a key that its record has given up, if it has the token that
// was read before that. A nil token is of a record that has ended.
func (c *Claims) Drop(ctx context.Context, k Key, record string, token *Token) error {
	return c.retry(ctx, func() error { return c.store.DropClaim(ctx, k, record, token) })
}
