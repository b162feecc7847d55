package oracle

import (
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/library"
)

// badURL is an invalid URL.
const badURL = "ftp://e.com/1"

// urls are the forms of URLs that are drawn, with their canonical form.
var urls = []struct{ form, canonical string }{
	{"https://e.com/1", "https://e.com/1"},
	{"HTTPS://E.com:443/x/..//1/#top", "https://e.com/1"},
	{"https://e.com/%32?lang=en", "https://e.com/2"},
	{"https://e.com/2", "https://e.com/2"},
	{"https://e.com/3", "https://e.com/3"},
}

// canonicalOf returns the canonical form of a drawn URL.
func canonicalOf(form string) string {
	for _, u := range urls {
		if u.form == form {
			return u.canonical
		}
	}
	return ""
}

// url draws a URL, rarely a bad one.
func (g *game) url() string {
	if g.rarely(20) {
		return badURL
	}
	return one(g, urls).form
}

// itemAt returns the item of a tenant with a URL, or nil.
func (w *world) itemAt(tenant, canonical string) *item {
	for _, c := range w.items {
		if c.url == canonical && c.id.Tenant() == tenant && w.exists(c) {
			return c
		}
	}
	return nil
}

// setURL gives an item a URL, "" for none. If another item has the URL, that item has expired, and
// is deleted now.
func (w *world) setURL(c *item, canonical string) {
	for _, other := range w.items {
		if other != c && canonical != "" && other.url == canonical && other.id.Tenant() == c.id.Tenant() {
			other.deleted = true
		}
	}
	c.url = canonical
}

// urlTaken reports whether another item of the tenant has the URL.
func (w *world) urlTaken(of library.ContentID, tenant string, url *string) bool {
	if url == nil {
		return false
	}
	c := w.itemAt(tenant, canonicalOf(*url))
	return c != nil && c.id != of
}

func (g *game) moveContent() {
	id := g.contentID()
	v := g.itemManager(id)
	in := library.MoveContent{ID: id, ExpectedVersion: g.version(), IdempotencyKey: g.key()}
	switch {
	case g.rarely(20):
	case g.rarely(5):
		in.URL = input.Some[*string](nil)
	default:
		url := g.url()
		in.URL = input.Some(&url)
	}
	g.moveContentAs(v, in)
}

func (g *game) moveContentAs(v viewer, in library.MoveContent) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.moveContentAs, g.w.moveContent, g.svc.Library.MoveContent)
	if !ok {
		return
	}
	libraries := -1 // a repetition reports those of the first request
	if !r.again {
		canonical, c := "", g.w.items[library.ContentID(in.ID)]
		if in.URL.Value != nil {
			canonical = canonicalOf(*in.URL.Value)
		}
		if libraries = 0; canonical != c.url {
			libraries = len(c.members)
		}
		g.w.setURL(c, canonical)
	}
	g.sameOutcome(r, out, libraries)
}

func (w *world) moveContent(r *request, in library.MoveContent) (f faults) {
	f.add(id.KindOf(in.ID) != id.Content, "INVALID", "id")
	f.add(!in.URL.Set || in.URL.Value != nil && *in.URL.Value == badURL, "INVALID", "url")
	tenant := library.ContentID(in.ID).Tenant()
	if f = w.begin(r, f, tenant, in.ID); f != nil || r.again {
		return f
	}
	c := w.items[library.ContentID(in.ID)]
	if f = w.change(r.v, c, true, in.ExpectedVersion); f == nil {
		f.add(w.urlTaken(c.id, tenant, in.URL.Value), "TAKEN")
	}
	return f
}

// readByURL compares the item with a URL in a tenant.
func (g *game) readByURL(v viewer, url, tenant string) {
	g.Helper()
	got, err := g.svc.Library.ContentByURL(g.ctx, v.fresh(), url, &tenant)
	if url == badURL {
		if fault.ReasonOf(err) != fault.ReasonBadInput {
			g.Fatalf("the invalid URL %s was not refused: %+v, %v", url, got, err)
		}
		return
	}
	want := g.w.itemAt(tenant, canonicalOf(url))
	if want != nil && !g.w.reads(v, want) {
		want = nil
	}
	if err != nil || (got == nil) != (want == nil) || got != nil && got.ID != want.id {
		g.Fatalf("the item of %s in %s is %+v for %+v, but the Service answers %+v, %v", url, tenant, want, v, got, err)
	}
}
