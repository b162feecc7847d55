package simulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/paste"
	"carrel/principal"
)

// pasteCall is the input of an operation on pastes, and its answer.
type pasteCall struct {
	private bool
	long    bool          // the body is stored apart from the row
	lasts   time.Duration // until it expires, from the first call on; 0: for ever
	expires clock.Instant
	// What an update changes. The title and the body are named after the operation.
	retitles, rewrites, toggles, postpones bool
	// version is the version that the client expects.
	version *int
	// of is the paste that is changed or read; foreign: with another secret.
	of      *pasted
	foreign bool
	// size and backward say how latestPastes is read.
	size     int
	backward bool

	// began is the time of the process when it was called last, and struck the number of
	// faults up to then.
	began  clock.Instant
	struck int
	// calm are the pastes of which nothing was in flight when a list was started.
	calm []paste.ID

	got    *paste.Paste
	secret string
	body   *string
	seen   []seenPaste
}

// pasted is a paste whose secret a client has received.
type pasted struct {
	id      paste.ID
	secret  string
	expires clock.Instant
}

// seenPaste is a paste in a list, and when the page with it was read.
type seenPaste struct {
	paste      *paste.Paste
	start, end int
	began      clock.Instant
}

// neverPasted is a paste that does not exist.
var neverPasted = &pasted{id: "p:00000000000000000000000000000000", secret: "none"}

func (c *pasteCall) String() string {
	s := fmt.Sprintf(" private %t long %t lasts %v", c.private, c.long, c.lasts)
	if c.of != nil {
		s += fmt.Sprintf(" of %s foreign %t: title %t body %t private %t expiry %t", c.of.id, c.foreign, c.retitles,
			c.rewrites, c.toggles, c.postpones)
	}
	if c.size > 0 {
		s += fmt.Sprintf(" pages of %d backward %t", c.size, c.backward)
	}
	return s
}

// pasteBody returns the body that an operation writes.
func (o *Operation) pasteBody() string {
	if o.paste.long {
		return "long body of " + o.title + strings.Repeat(".", 5000)
	}
	return "body of " + o.title
}

// askPastes makes the call of an operation that is about pastes.
func (o *Operation) askPastes(ctx context.Context, p *process) (err error) {
	c := o.paste
	c.began, c.struck, c.got, c.secret, c.body, c.seen = clock.Of(p.a.clock()), p.c.st.struck, nil, "", nil, nil
	if c.lasts > 0 && c.expires == 0 {
		c.expires = c.began.Add(c.lasts)
	}
	switch o.kind {
	case opPaste:
		body := o.pasteBody()
		in := paste.Create{Title: &o.title, Body: body, IsPrivate: c.private, ExpiresAt: orNil(c.expires), IdempotencyKey: o.key}
		var made *paste.Created
		if made, err = p.pastes.Create(ctx, &principal.Viewer{User: o.viewer}, in); err == nil {
			c.got, c.secret = made.Paste, made.Secret
		}
	case opEditPaste:
		c.got, err = p.pastes.Update(ctx, o.pasteUpdate())
	case opDeletePaste:
		_, err = p.pastes.Delete(ctx, paste.Delete{ID: string(c.of.id), Secret: o.usedSecret()})
	case opLatest:
		err = o.readLatest(ctx, p)
	default:
		c.body, err = inTime(ctx, p, func(ctx context.Context) (body *string, err error) {
			if c.got, err = p.pastes.Paste(ctx, string(c.of.id)); err != nil || c.got == nil {
				return nil, err
			}
			bodies, err := p.pastes.Bodies(ctx, []*paste.Paste{c.got})
			if err != nil {
				return nil, err
			}
			return bodies[0], nil
		})
	}
	return err
}

// usedSecret is the secret that an operation sends.
func (o *Operation) usedSecret() string {
	if o.paste.foreign {
		return "foreign"
	}
	return o.paste.of.secret
}

// pasteUpdate is the input of an update.
func (o *Operation) pasteUpdate() paste.Update {
	c := o.paste
	in := paste.Update{ID: string(c.of.id), Secret: o.usedSecret(), ExpectedVersion: c.version}
	if c.retitles {
		in.Title = input.Some(&o.title)
	}
	if c.rewrites {
		body := o.pasteBody()
		in.Body = input.Some(&body)
	}
	if c.toggles {
		in.IsPrivate = input.Some(&c.private)
	}
	if c.postpones {
		in.ExpiresAt = input.Some(orNil(c.expires))
	}
	return in
}

// readLatest reads latestPastes to its end.
func (o *Operation) readLatest(ctx context.Context, p *process) error {
	c, s := o.paste, p.a.s
	seen, err := readToEnd(c.size, c.backward, func(args cursor.PageArgs) (seen []seenPaste, info cursor.PageInfo, err error) {
		start, began := s.steps, clock.Of(p.a.clock())
		page, err := inTime(ctx, p, func(ctx context.Context) (*paste.Connection, error) { return p.pastes.Latest(ctx, args) })
		if err != nil {
			return nil, info, err
		}
		for _, e := range page.Edges {
			seen = append(seen, seenPaste{e.Node, start, s.steps, began})
		}
		return seen, page.PageInfo, nil
	})
	c.seen = seen
	return err
}
