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
	plain := in
	plain.IdempotencyKey = nil
	r := g.request(v, in.IdempotencyKey, "createContent", plain, func() { g.createContentAs(v, in) })
	again, want := g.w.createContent(v, in, r)
	out, err := g.svc.Library.CreateContent(g.ctx, v.fresh(), in)
	if !g.agrees("createContent", in, v, want, err) {
		return
	}
	if again {
		if first := g.w.creations[creationID{v.user, *in.IdempotencyKey}].id; first != string(out.ID) {
			g.Fatalf("the repetition of the creation of %s answered %s", first, out.ID)
		}
		g.sameOutcome(v, out, 1+len(others(in.Members, v.user)))
		return
	}
	if in.Name != nil && out.ID.Name() != *in.Name || g.w.items[out.ID] != nil {
		g.Fatalf("the new item is called %s", out.ID)
	}
	c := &item{
		id: out.ID, kind: in.Kind, title: in.Title, description: in.Description, link: in.Link, visibility: in.Visibility,
		creator: v.user, created: g.w.now, lastModified: g.w.now, version: 1, expiresAt: in.ExpiresAt,
		members: others(in.Members, v.user),
	}
	if in.URL != nil {
		g.w.setURL(c, canonicalOf(*in.URL))
	}
	c.members[v.user] = library.Manages
	g.w.items[c.id] = c
	g.w.remember(r, string(c.id))
	if in.IdempotencyKey != nil {
		g.w.creations[creationID{v.user, *in.IdempotencyKey}] = created{r.hash, string(c.id)}
	}
	g.sameOutcome(v, out, len(c.members))
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

func (w *world) createContent(v viewer, in library.CreateContent, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(in.Tenant != nil && id.CheckTenant(*in.Tenant) != nil, "INVALID", "tenant")
	f.add(in.Name != nil && strings.Contains(*in.Name, "/"), "INVALID", "name")
	f.add(in.Title == "", "INVALID", "title")
	f.add(in.Description != nil && *in.Description == badText, "INVALID", "description")
	f.add((in.Link != nil) != (in.Kind == library.Link) || in.Link != nil && *in.Link == badLink, "INVALID", "link")
	f.add(in.URL != nil && *in.URL == badURL, "INVALID", "url")
	passed := in.ExpiresAt != nil && *in.ExpiresAt <= w.now
	f.add(passed && in.IdempotencyKey == nil, "INVALID", "expiresAt")
	f.add(badKey(in.IdempotencyKey), "INVALID", "idempotencyKey")
	if len(in.Members) > 0 {
		f = append(f, wrongList(idsOf(in.Members), "members", "")...)
		f.add(len(in.Members) <= 100 && in.Members[0].Role == nil, "INVALID", "members", "0", "role")
	}
	if f != nil {
		return false, f
	}
	tenant := v.user.Tenant()
	if in.Tenant != nil {
		tenant = *in.Tenant
	}
	f.add(!w.stored(v) || tenant != v.user.Tenant() && !v.global, "FORBIDDEN")
	if f != nil {
		return false, f
	}
	id := ""
	if in.Name != nil {
		id = "c:" + tenant + ":" + *in.Name
	}
	if err := w.recordCreation(r, id); err != nil {
		return false, faults{err.Error()}
	}
	if r.key != nil {
		// An item that this same request has created before has this id.
		if first := w.creations[creationID{v.user, *r.key}].id; first != "" {
			again, err := w.answered(r, first)
			if err != nil || again {
				if err != nil {
					f.add(true, err.Error())
				}
				return again, f
			}
		}
	}
	if f.add(passed, "INVALID", "expiresAt"); f != nil {
		return false, f
	}
	for i, c := range in.Members {
		p := principal.ID(c.Principal)
		f.add(p != v.user && !w.sees(v, p), "NOT_FOUND", "members", index(i), "principalId")
	}
	if f == nil {
		f.add(w.items[library.ContentID(id)] != nil || w.urlTaken("", tenant, in.URL), "TAKEN")
	}
	return false, f
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
	plain := in
	plain.IdempotencyKey = nil
	r := g.request(v, in.IdempotencyKey, "updateContent", plain, func() { g.updateContentAs(v, in) })
	again, want := g.w.updateContent(v, in, r)
	out, err := g.svc.Library.UpdateContent(g.ctx, v.fresh(), in)
	if !g.agrees("updateContent", in, v, want, err) {
		return
	}
	c := g.w.items[library.ContentID(in.ID)]
	if !again {
		c.update(in, g.w.now)
		g.w.remember(r, in.ID)
	}
	g.sameOutcome(v, out, -1)
}

// version draws an expected version, mostly nil.
func (g *game) version() *int {
	if !g.rarely(6) {
		return nil
	}
	n := one(g, []int{1, 2, 3})
	return &n
}

func (w *world) updateContent(v viewer, in library.UpdateContent, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(id.KindOf(in.ID) != id.Content, "INVALID", "id")
	f.add(wrong(in.Title, func(s string) bool { return s == "" }), "INVALID", "title")
	f.add(in.Description.Set && in.Description.Value != nil && *in.Description.Value == badText, "INVALID", "description")
	f.add(wrong(in.Link, func(s string) bool { return s == badLink }), "INVALID", "link")
	f.add(in.Visibility.Set && in.Visibility.Value == nil, "INVALID", "visibility")
	passed := in.ExpiresAt.Value != nil && *in.ExpiresAt.Value <= w.now
	f.add(passed && in.IdempotencyKey == nil, "INVALID", "expiresAt")
	f.add(badKey(in.IdempotencyKey), "INVALID", "idempotencyKey")
	f.add(!in.Title.Set && !in.Description.Set && !in.Link.Set && !in.Visibility.Set && !in.ExpiresAt.Set, "INVALID")
	if f != nil {
		return false, f
	}
	if f = w.actor(v, library.ContentID(in.ID).Tenant()); f != nil {
		return false, f
	}
	again, err := w.answered(r, in.ID)
	c := w.items[library.ContentID(in.ID)]
	switch {
	case err != nil:
		f.add(true, err.Error())
	case again:
	case c == nil || !w.reads(v, c):
		f.add(true, "NOT_FOUND", "id")
	case w.role(v.user, c) < library.Editing && !w.managesItem(v, c):
		f.add(true, "FORBIDDEN")
	case (in.Visibility.Set || in.ExpiresAt.Set) && !w.managesItem(v, c):
		f.add(true, "FORBIDDEN")
	case in.ExpectedVersion != nil && *in.ExpectedVersion != c.version:
		f.add(true, "CONFLICT")
	default:
		f.add(in.Link.Set && c.kind == library.Note, "INVALID", "link")
		f.add(passed, "INVALID", "expiresAt")
	}
	return again, f
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
	plain := in
	plain.IdempotencyKey = nil
	r := g.request(v, in.IdempotencyKey, "deleteContent", plain, func() { g.deleteContentAs(v, in) })
	again, want := g.w.deleteContent(v, in, r)
	out, err := g.svc.Library.DeleteContent(g.ctx, v.fresh(), in)
	if !g.agrees("deleteContent", in, v, want, err) {
		return
	}
	if !again {
		g.w.items[library.ContentID(in.ID)].deleted = true
		g.w.remember(r, in.ID)
	}
	g.sameOutcome(v, out, -1)
}

func (w *world) deleteContent(v viewer, in library.DeleteContent, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(id.KindOf(in.ID) != id.Content, "INVALID", "id")
	f.add(badKey(in.IdempotencyKey), "INVALID", "idempotencyKey")
	if f != nil {
		return false, f
	}
	if f = w.actor(v, library.ContentID(in.ID).Tenant()); f != nil {
		return false, f
	}
	again, err := w.answered(r, in.ID)
	c := w.items[library.ContentID(in.ID)]
	switch {
	case err != nil:
		f.add(true, err.Error())
	case again:
	case c == nil || !w.reads(v, c):
		f.add(true, "NOT_FOUND", "id")
	case !w.managesItem(v, c):
		f.add(true, "FORBIDDEN")
	case in.ExpectedVersion != nil && *in.ExpectedVersion != c.version:
		f.add(true, "CONFLICT")
	}
	return again, f
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
