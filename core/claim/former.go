package claim

import (
	"context"
	"log/slog"
	"time"
)

// dropTimeout is how long the removal of a former claim may take.
const dropTimeout = 5 * time.Second

// Former is the claim of a name that its record gives up in a change. It is read before
// the change is decided, and removed afterwards.
type Former struct {
	Key
	Record string
	// Token is nil if the change ends the record.
	Token *Token
}

// Former returns the claim that a record has on a key, or nil if it has none. It must be
// called before the change is decided: a token read later may belong to a later change that
// takes the name back.
func (c *Claims) Former(ctx context.Context, k Key, record string) (*Former, error) {
	current, err := c.store.ReadClaim(ctx, k, true)
	if err != nil || current.Record != record {
		return nil, err
	}
	return &Former{k, record, &current.Token}, nil
}

// DropFormer removes the former claim of a decided change; it does nothing if f is nil. It
// returns when the name is free. The name of an ended record is free at once, so its claim
// is removed in the background. If the removal fails, the name becomes free when the claim
// lapses, and the scrubber removes the claim.
func (c *Claims) DropFormer(ctx context.Context, f *Former, log *slog.Logger) {
	if f == nil {
		return
	}
	ctx = c.rt.Detach(ctx)
	drop := func() {
		ctx, cancel := c.rt.Deadline(ctx, dropTimeout)
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

// Drop removes the claim of a key that its record has given up, if the claim still has the
// token that was read before. The token is nil if the record has ended.
func (c *Claims) Drop(ctx context.Context, k Key, record string, token *Token) error {
	return c.retry(ctx, func() error { return c.store.DropClaim(ctx, k, record, token) })
}
