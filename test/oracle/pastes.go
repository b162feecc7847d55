package oracle

import (
	"strings"

	"carrel/core/clock"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/paste"
	"carrel/principal"
)

// pasted is a paste. A deleted one stays in the model, because its id is not used again.
type pasted struct {
	id                paste.ID
	secret            string
	author            principal.ID
	title             *string
	body              string
	isPrivate         bool
	created, modified clock.Instant
	expiresAt         *clock.Instant
	version           int
	deleted           bool
}

// noPaste is an id without a paste.
const noPaste = "p:00000000000000000000000000000000"

// readable reports whether a paste exists.
func (w *world) readable(p *pasted) bool {
	return p != nil && !p.deleted && (p.expiresAt == nil || *p.expiresAt > w.now)
}

// pasteTitle draws a title; nil is none.
func (g *game) pasteTitle() *string { return g.text("a", "b", badText) }

// pasteBody draws a body: short, or so long that it is stored apart from the row.
func (g *game) pasteBody() string {
	switch {
	case g.rarely(25):
		return one(g, []string{"", "\xff"})
	case g.rarely(4):
		return strings.Repeat(one(g, []string{"x", "y"}), 5000)
	}
	return one(g, []string{"one", "two"})
}

func badBody(s string) bool { return s == "" || s == "\xff" }

// pasteID draws a paste that exists, rarely another id.
func (g *game) pasteID() string {
	return drawID(g, g.w.pastes, g.w.readable, noPaste, []string{"", "none", "u:" + g.home + ":ann", "p:1"})
}

// secretOf draws the secret of a paste, rarely another one.
func (g *game) secretOf(id string) string {
	if p := g.w.pastes[paste.ID(id)]; p != nil && !g.rarely(8) {
		return p.secret
	}
	return one(g, []string{"", "guess"})
}

func (g *game) createPaste() {
	in := paste.Create{Title: g.pasteTitle(), Body: g.pasteBody(), IsPrivate: g.rarely(3), ExpiresAt: g.expiry(), IdempotencyKey: g.key()}
	g.createPasteAs(one(g, g.viewers), in)
}

func (g *game) createPasteAs(v viewer, in paste.Create) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.createPasteAs, g.w.createPaste, g.pastes.Create)
	if !ok {
		return
	}
	if r.again {
		if first := g.w.first(r); first != string(out.Paste.ID) || out.Secret != "" {
			g.Fatalf("the repetition of the creation of %s answered %s, with a secret: %t", first, out.Paste.ID, out.Secret != "")
		}
		g.samePaste(out.Paste)
		return
	}
	if g.w.pastes[out.Paste.ID] != nil || out.Secret == "" {
		g.Fatalf("the new paste is called %s, and has a secret: %t", out.Paste.ID, out.Secret != "")
	}
	p := &pasted{
		id: out.Paste.ID, secret: out.Secret, author: v.user, title: in.Title, body: in.Body, isPrivate: in.IsPrivate,
		created: g.w.now, modified: g.w.now, expiresAt: in.ExpiresAt, version: 1,
	}
	g.w.pastes[p.id] = p
	g.w.rememberCreation(r, string(p.id))
	g.samePaste(out.Paste)
}

func (w *world) createPaste(r *request, in paste.Create) (f faults) {
	f.add(in.Title != nil && *in.Title == badText, "INVALID", "title")
	f.add(badBody(in.Body), "INVALID", "body")
	passed := in.ExpiresAt != nil && *in.ExpiresAt <= w.now
	f.add(passed && in.IdempotencyKey == nil, "INVALID", "expiresAt")
	short := in.IdempotencyKey != nil && !r.v.signedIn() && len(*in.IdempotencyKey) < 22
	f.add(badKey(in.IdempotencyKey) || short, "INVALID", "idempotencyKey")
	if f != nil {
		return f
	}
	if w.gone[r.v.user] {
		return faults{"FORBIDDEN"}
	}
	if f = w.recordCreation(r, ""); f != nil {
		return f
	}
	if first := w.first(r); first != "" {
		if f = w.answered(r, first); f != nil {
			return f
		}
		if r.again {
			f.add(!w.readable(w.pastes[paste.ID(first)]), "NOT_FOUND")
			return f
		}
	}
	f.add(passed, "INVALID", "expiresAt")
	return f
}

func (g *game) updatePaste() {
	in := paste.Update{ID: g.pasteID(), ExpectedVersion: g.version()}
	in.Secret = g.secretOf(in.ID)
	if g.rarely(3) {
		in.Title = input.Some(g.pasteTitle())
	}
	if g.rarely(3) {
		body := g.pasteBody()
		in.Body = input.Some(&body)
		if g.rarely(20) {
			in.Body = input.Some[*string](nil)
		}
	}
	if g.rarely(2) {
		hide := g.rarely(2)
		in.IsPrivate = input.Some(&hide)
		if g.rarely(8) {
			in.IsPrivate = input.Some[*bool](nil)
		}
	}
	if g.rarely(3) {
		in.ExpiresAt = input.Some(g.expiry())
	}
	in.ClearExpiry = g.rarely(10)
	want := g.w.updatePaste(in)
	out, err := g.pastes.Update(g.ctx, in)
	if !g.agrees("updatePaste", withoutSecret(in), viewer{}, want, err) {
		return
	}
	g.w.pastes[paste.ID(in.ID)].update(in, g.w.now)
	g.samePaste(out)
}

// withoutSecret returns an input without its secret, for the log.
func withoutSecret(in paste.Update) paste.Update {
	in.Secret = ""
	return in
}

func (w *world) updatePaste(in paste.Update) (f faults) {
	f.add(id.KindOf(in.ID) != id.Paste, "INVALID", "id")
	f.add(in.Title.Set && in.Title.Value != nil && *in.Title.Value == badText, "INVALID", "title")
	f.add(wrong(in.Body, badBody), "INVALID", "body")
	f.add(in.ClearExpiry && in.ExpiresAt.Set, "INVALID", "clearExpiry")
	f.add(in.ExpiresAt.Value != nil && *in.ExpiresAt.Value <= w.now, "INVALID", "expiresAt")
	f.add(!in.Title.Set && !in.Body.Set && !in.IsPrivate.Set && !in.ExpiresAt.Set && !in.ClearExpiry, "INVALID")
	if f != nil {
		return f
	}
	p := w.pastes[paste.ID(in.ID)]
	switch {
	case !w.readable(p):
		f.add(true, "NOT_FOUND", "id")
	case p.secret != in.Secret:
		f.add(true, "WRONG_SECRET")
	case in.ExpectedVersion != nil && *in.ExpectedVersion != p.version:
		f.add(true, "CONFLICT")
	}
	return f
}

// update applies a change. One that changes nothing leaves the paste as it is.
func (p *pasted) update(in paste.Update, now clock.Instant) {
	before := *p
	if in.Title.Set {
		p.title = in.Title.Value
	}
	if in.Body.Set {
		p.body = *in.Body.Value
	}
	if in.IsPrivate.Set {
		p.isPrivate = in.IsPrivate.Value != nil && *in.IsPrivate.Value
	}
	if in.ExpiresAt.Set {
		p.expiresAt = in.ExpiresAt.Value
	}
	if in.ClearExpiry {
		p.expiresAt = nil
	}
	expires := func(p *pasted) clock.Instant {
		if p.expiresAt == nil {
			return 0
		}
		return *p.expiresAt
	}
	if !equal(before.title, p.title) || before.body != p.body || before.isPrivate != p.isPrivate || expires(&before) != expires(p) {
		p.version++
		p.modified = now
	}
}

func (g *game) deletePaste() {
	in := paste.Delete{ID: g.pasteID()}
	in.Secret = g.secretOf(in.ID)
	g.deletePasteAs(in)
}

func (g *game) deletePasteAs(in paste.Delete) {
	g.Helper()
	p := g.w.pastes[paste.ID(in.ID)]
	var want faults
	switch {
	case id.KindOf(in.ID) != id.Paste:
		want.add(true, "INVALID", "id")
	case !g.w.readable(p):
		want.add(true, "NOT_FOUND", "id")
	case p.secret != in.Secret:
		want.add(true, "WRONG_SECRET")
	}
	got, err := g.pastes.Delete(g.ctx, in)
	if !g.agrees("deletePaste", in.ID, viewer{}, want, err) {
		return
	}
	if got != p.id {
		g.Fatalf("the deletion of %s answers %s", in.ID, got)
	}
	p.deleted = true
}

// plainPaste is what the model and a paste have in common.
type plainPaste struct {
	ID                paste.ID
	Author            principal.ID
	Title             *string
	Body              string
	Private           bool
	Created, Modified clock.Instant
	ExpiresAt         *clock.Instant
	Version           int
}

// samePaste compares a paste that the Service has answered with the model, its body included.
func (g *game) samePaste(got *paste.Paste) {
	g.Helper()
	p := g.w.pastes[got.ID]
	if !g.w.readable(p) {
		g.Fatalf("%s is shown, but the model has %+v", got.ID, p)
	}
	bodies, err := g.pastes.Bodies(g.ctx, []*paste.Paste{got})
	if err != nil || bodies[0] == nil {
		g.Fatalf("the body of %s: %v, %v", got.ID, bodies, err)
	}
	g.same("paste",
		plainPaste{p.id, p.author, p.title, p.body, p.isPrivate, p.created, p.modified, p.expiresAt, p.version},
		plainPaste{got.ID, got.Author, got.Title, *bodies[0], got.IsPrivate, got.CreatedAt, got.ModifiedAt, got.ExpiresAt, got.Version})
}

// readPaste compares one paste.
func (g *game) readPaste(id paste.ID) {
	g.Helper()
	got, err := g.pastes.Paste(g.ctx, string(id))
	text, failed := g.pastes.Text(g.ctx, string(id))
	there := g.w.readable(g.w.pastes[id])
	if err != nil || failed != nil || (got != nil) != there || (text != nil) != there {
		g.Fatalf("%s is there: %t, but is shown %+v, %v, and its text: %t, %v", id, there, got, err, text != nil, failed)
	}
	if there {
		g.samePaste(got)
	}
}

// reachExpiry moves the clock to the exact time at which the next paste or item expires.
func (g *game) reachExpiry() {
	var next clock.Instant
	see := func(at *clock.Instant, there bool) {
		if there && at != nil && (next == 0 || *at < next) {
			next = *at
		}
	}
	for _, p := range g.w.pastes {
		see(p.expiresAt, g.w.readable(p))
	}
	for _, c := range g.w.items {
		see(c.expiresAt, g.w.exists(c))
	}
	if next > g.w.now {
		g.tick(next.Time().Sub(g.w.now.Time()))
	}
}

// readPastes compares the list of the newest pastes, and one of them.
func (g *game) readPastes() {
	g.Helper()
	if g.rarely(4) {
		g.reachExpiry()
	}
	if id := g.pasteID(); g.w.pastes[paste.ID(id)] != nil {
		g.readPaste(paste.ID(id))
	}
	g.readLatestPastes(g.rarely(2), one(g, []int{1, 2, 3, 20}))
	g.readLatestContent(g.viewer(func(viewer) bool { return true }), one(g, []string{g.home, g.away}), g.rarely(2), one(g, []int{1, 2, 3, 20}))
}

// readAllPastes compares every paste and both feeds.
func (g *game) readAllPastes() {
	g.Helper()
	for id := range g.w.pastes {
		g.readPaste(id)
	}
	for i, backwards := range []bool{false, true} {
		g.readLatestPastes(backwards, 2+i)
		for _, tenant := range []string{g.home, g.away} {
			g.readLatestContent(viewer{}, tenant, backwards, 2+i)
		}
	}
}

// deleteAllPastes deletes the pastes of a game, and leaves nothing in flight: the next game on
// the same store reads the same pastes and in-flight lists, with an earlier clock.
func (g *game) deleteAllPastes() {
	defer g.beat()
	g.expire()
	for id, p := range g.w.pastes {
		if g.w.readable(p) {
			if _, err := g.pastes.Delete(g.ctx, paste.Delete{ID: string(id), Secret: p.secret}); err != nil {
				g.Errorf("deleting %s: %v", id, err)
			}
		}
	}
}
