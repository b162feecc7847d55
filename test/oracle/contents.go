package oracle

import (
	"maps"
	"strings"

	"carrel/core/clock"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// titles are those of items, in the order of libraries by title.
var titles = []string{"a", "a 9", "A 10", "b", "c", "É-b"}

func (g *game) title() string {
	if g.rarely(25) {
		return ""
	}
	return one(g, titles)
}

// text draws good or other, sometimes nil, and rarely bad.
func (g *game) text(good, other, bad string) *string {
	s := one(g, []string{good, other})
	switch {
	case g.rarely(8):
		return nil
	case g.rarely(25):
		s = bad
	}
	return &s
}

const (
	badText = "a\x00"
	badLink = "ftp://example.com/"
)

// expiry draws an instant, mostly in the future, or nil.
func (g *game) expiry() *clock.Instant {
	if !g.rarely(4) {
		return nil
	}
	at := g.w.now + one(g, []clock.Instant{1000, 2000, 3000, 500_000, 30_000_000, 1_800_000_000, 10_000_000_000})
	if g.rarely(15) {
		at = g.w.now - one(g, []clock.Instant{0, 1})
	}
	return &at
}

func (g *game) changes(v viewer, removals bool) []library.ContentMemberChange {
	var all []library.ContentMemberChange
	for _, id := range g.principalIDs(v) {
		c := library.ContentMemberChange{Principal: id}
		if !removals || !g.rarely(3) {
			c.Role = g.role()
		}
		all = append(all, c)
	}
	return all
}

func (g *game) role() *library.ContentRole {
	role := one(g, []library.ContentRole{library.Viewing, library.Editing, library.Manages})
	return &role
}

func idsOf(changes []library.ContentMemberChange) []string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.Principal
	}
	return ids
}

func (g *game) createContent() {
	v := g.viewer(g.w.stored)
	in := library.CreateContent{
		Kind: one(g, []library.ContentKind{library.Link, library.Note}), Title: g.title(),
		Description: g.text("D a2", "e", badText), Visibility: g.visibility(), ExpiresAt: g.expiry(), IdempotencyKey: g.key(),
	}
	if (in.Kind == library.Link) != g.rarely(15) {
		in.Link = g.text("https://e.com/a", "https://e.com/b", badLink)
		if in.Link == nil && !g.rarely(10) {
			link := "https://e.com/c"
			in.Link = &link
		}
	}
	if g.rarely(2) {
		name := one(g, []string{"c1", "c2", "c3", "C1", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "a/b"})
		in.Name = &name
	}
	if g.rarely(4) {
		url := g.url()
		in.URL = &url
	}
	if g.rarely(6) {
		tenant := one(g, []string{g.home, g.away, g.home, g.away, g.home, g.away, "a b"})
		in.Tenant = &tenant
	}
	if g.rarely(2) {
		in.Members = g.changes(v, false)
		if g.rarely(20) && len(in.Members) > 0 {
			in.Members[0].Role = nil
		}
	}
	g.createContentAs(v, in)
}

func (g *game) createContentAs(v viewer, in library.CreateContent) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.createContentAs, g.w.createContent, g.svc.Library.CreateContent)
	if !ok {
		return
	}
	if r.again {
		if first := g.w.first(r); first != string(out.ID) {
			g.Fatalf("the repetition of the creation of %s answered %s", first, out.ID)
		}
		g.sameOutcome(r, out, 1+len(others(in.Members, v.user)))
		return
	}
	if in.Name != nil && out.ID.Name() != *in.Name || g.w.items[out.ID] != nil {
		g.Fatalf("the new item is called %s", out.ID)
	}
	made := g.w.now
	// If the key was used for another input, its claim may be a state of the same instant, which the item follows.
	claimed := r.key != nil && g.w.claims[requestID{string(out.ID), v.user, *r.key}] == r.hash
	if claimed && out.Content != nil && out.Content.LastModified == made+1 {
		made++
	}
	c := &item{
		id: out.ID, kind: in.Kind, title: in.Title, description: in.Description, link: in.Link, visibility: in.Visibility,
		creator: v.user, created: made, lastModified: made, version: 1, expiresAt: in.ExpiresAt,
		members: others(in.Members, v.user),
	}
	if in.URL != nil {
		g.w.setURL(c, canonicalOf(*in.URL))
	}
	c.members[v.user] = library.Manages
	g.w.items[c.id] = c
	g.w.rememberCreation(r, string(c.id))
	g.sameOutcome(r, out, len(c.members))
}

// others returns the initial members except the creator.
func others(changes []library.ContentMemberChange, creator principal.ID) map[principal.ID]library.ContentRole {
	m := map[principal.ID]library.ContentRole{}
	for _, c := range changes {
		if p := principal.ID(c.Principal); p != creator {
			m[p] = *c.Role
		}
	}
	return m
}

func (w *world) createContent(r *request, in library.CreateContent) (f faults) {
	v := r.v
	f.add(in.Tenant != nil && id.CheckTenant(*in.Tenant) != nil, "INVALID", "tenant")
	f.add(in.Name != nil && strings.Contains(*in.Name, "/"), "INVALID", "name")
	f.add(in.Title == "", "INVALID", "title")
	f.add(in.Description != nil && *in.Description == badText, "INVALID", "description")
	f.add((in.Link != nil) != (in.Kind == library.Link) || in.Link != nil && *in.Link == badLink, "INVALID", "link")
	f.add(in.URL != nil && *in.URL == badURL, "INVALID", "url")
	passed := in.ExpiresAt != nil && *in.ExpiresAt <= w.now
	f.add(passed && in.IdempotencyKey == nil, "INVALID", "expiresAt")
	if len(in.Members) > 0 {
		f = append(f, wrongList(idsOf(in.Members), "members", "")...)
		f.add(len(in.Members) <= 100 && in.Members[0].Role == nil, "INVALID", "members", "0", "role")
	}
	if f = r.check(f); f != nil {
		return f
	}
	tenant := v.user.Tenant()
	if in.Tenant != nil {
		tenant = *in.Tenant
	}
	if !w.stored(v) || tenant != v.user.Tenant() && !v.global {
		return faults{"FORBIDDEN"}
	}
	id := ""
	if in.Name != nil {
		id = "c:" + tenant + ":" + *in.Name
	}
	if f = w.recordCreation(r, id); f != nil {
		return f
	}
	if first := w.first(r); first != "" {
		// An item that this same request has created before has this id.
		if f = w.answered(r, first); f != nil || r.again {
			return f
		}
	}
	if f.add(passed, "INVALID", "expiresAt"); f != nil {
		return f
	}
	for i, c := range in.Members {
		p := principal.ID(c.Principal)
		f.add(p != v.user && !w.sees(v, p), "NOT_FOUND", "members", index(i), "principalId")
	}
	if f == nil {
		f.add(w.items[library.ContentID(id)] != nil || w.urlTaken("", tenant, in.URL), "TAKEN")
	}
	return f
}

func (g *game) updateContent() {
	id := g.contentID()
	v := g.itemManager(id)
	if g.rarely(3) {
		v = g.editor(id)
	}
	in := library.UpdateContent{ID: id, IdempotencyKey: g.key(), ExpectedVersion: g.version()}
	if g.rarely(2) {
		title := g.title()
		in.Title = input.Some(&title)
	}
	if g.rarely(4) {
		in.Description = input.Some(g.text("D a2", "e", badText))
	}
	if c := g.w.items[library.ContentID(id)]; c != nil && c.kind == library.Link && g.rarely(3) || g.rarely(30) {
		in.Link = input.Some(g.text("https://e.com/a", "https://e.com/b", badLink))
	}
	if g.rarely(2) {
		in.Visibility = g.optionalVisibility()
	}
	if g.rarely(4) {
		in.ExpiresAt = input.Some(g.expiry())
	}
	g.updateContentAs(v, in)
}

func (g *game) updateContentAs(v viewer, in library.UpdateContent) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.updateContentAs, g.w.updateContent, g.svc.Library.UpdateContent)
	if !ok {
		return
	}
	if !r.again {
		g.w.items[library.ContentID(in.ID)].update(in, g.w.now)
	}
	g.sameOutcome(r, out, -1)
}

// version draws an expected version, mostly nil.
func (g *game) version() *int {
	if !g.rarely(6) {
		return nil
	}
	n := one(g, []int{1, 2, 3})
	return &n
}

func (w *world) updateContent(r *request, in library.UpdateContent) (f faults) {
	f.add(id.KindOf(in.ID) != id.Content, "INVALID", "id")
	f.add(wrong(in.Title, func(s string) bool { return s == "" }), "INVALID", "title")
	f.add(in.Description.Set && in.Description.Value != nil && *in.Description.Value == badText, "INVALID", "description")
	f.add(wrong(in.Link, func(s string) bool { return s == badLink }), "INVALID", "link")
	f.add(in.Visibility.Set && in.Visibility.Value == nil, "INVALID", "visibility")
	passed := in.ExpiresAt.Value != nil && *in.ExpiresAt.Value <= w.now
	f.add(passed && in.IdempotencyKey == nil, "INVALID", "expiresAt")
	f.add(!in.Title.Set && !in.Description.Set && !in.Link.Set && !in.Visibility.Set && !in.ExpiresAt.Set, "INVALID")
	if f = w.begin(r, f, library.ContentID(in.ID).Tenant(), in.ID); f != nil || r.again {
		return f
	}
	c := w.items[library.ContentID(in.ID)]
	manages := in.Visibility.Set || in.ExpiresAt.Set || c != nil && w.role(r.v.user, c) < library.Editing
	if f = w.change(r.v, c, manages, in.ExpectedVersion); f == nil {
		f.add(in.Link.Set && c.kind == library.Note, "INVALID", "link")
		f.add(passed, "INVALID", "expiresAt")
	}
	return f
}

// change returns the faults of a change of an item, which is nil if it does not exist. manages says whether v must
// manage it; expected is its expected version.
func (w *world) change(v viewer, c *item, manages bool, expected *int) faults {
	switch {
	case !w.reads(v, c):
		return faults{"NOT_FOUND id"}
	case manages && !w.managesItem(v, c):
		return faults{"FORBIDDEN"}
	case expected != nil && *expected != c.version:
		return faults{"CONFLICT"}
	}
	return nil
}

// update applies a change, and moves the item if anything visible differs.
func (c *item) update(in library.UpdateContent, now clock.Instant) {
	before := *c
	if in.Title.Set {
		c.title = *in.Title.Value
	}
	if in.Description.Set {
		c.description = in.Description.Value
	}
	if in.Link.Set {
		c.link = in.Link.Value
	}
	if in.Visibility.Set {
		c.visibility = *in.Visibility.Value
	}
	if in.ExpiresAt.Set {
		c.expiresAt = in.ExpiresAt.Value
	}
	if before.title != c.title || before.visibility != c.visibility || !equal(before.description, c.description) ||
		!equal(before.link, c.link) {
		c.version++
		c.lastModified = now
	}
}

func equal(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func (g *game) deleteContent() {
	id := g.contentID()
	v := g.itemManager(id)
	in := library.DeleteContent{ID: id, ExpectedVersion: g.version(), IdempotencyKey: g.key()}
	g.deleteContentAs(v, in)
}

func (g *game) deleteContentAs(v viewer, in library.DeleteContent) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.deleteContentAs, g.w.deleteContent, g.svc.Library.DeleteContent)
	if !ok {
		return
	}
	if !r.again {
		g.w.items[library.ContentID(in.ID)].deleted = true
	}
	g.sameOutcome(r, out, -1)
}

func (w *world) deleteContent(r *request, in library.DeleteContent) (f faults) {
	f.add(id.KindOf(in.ID) != id.Content, "INVALID", "id")
	if f = w.begin(r, f, library.ContentID(in.ID).Tenant(), in.ID); f != nil || r.again {
		return f
	}
	return w.change(r.v, w.items[library.ContentID(in.ID)], true, in.ExpectedVersion)
}

// managed counts the managers that an item would have with other roles.
func managed(members map[principal.ID]library.ContentRole, changed map[principal.ID]library.ContentRole) int {
	after := maps.Clone(members)
	maps.Copy(after, changed)
	n := 0
	for _, role := range after {
		if role == library.Manages {
			n++
		}
	}
	return n
}
