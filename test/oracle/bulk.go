package oracle

import (
	"slices"
	"strings"

	"carrel/library"
	"carrel/principal"
)

// contentIDs draws some items, mostly different ones.
func (g *game) contentIDs() (ids []string) {
	for range 1 + g.dice.IntN(5) {
		ids = append(ids, g.contentID())
	}
	return ids
}

// shareContents shares several items. The model shares one after the other.
func (g *game) shareContents() {
	in := library.ShareContents{Contents: g.contentIDs(), Role: *g.role()}
	v := g.itemManager(in.Contents[0])
	if in.Principals = g.principalIDs(v); g.rarely(3) {
		in.Role = library.Viewing
	}
	outs, err := g.svc.Library.ShareContents(g.ctx, v.fresh(), in)
	g.bulk("shareContents", in, v, in.Contents, outs, err, func(id string) (faults, func()) {
		one := library.ShareContent{Content: id, Principals: in.Principals, Role: in.Role}
		return g.w.shareContent(&request{v: v}, one), func() {
			c := g.w.items[library.ContentID(id)]
			for _, p := range in.Principals {
				c.members[principal.ID(p)] = max(c.members[principal.ID(p)], in.Role)
			}
		}
	}, func(i string) map[string]string { return map[string]string{"contentId": "contentIds." + i} })
}

// deleteContents deletes several items. The model deletes one after the other.
func (g *game) deleteContents() {
	ids := g.contentIDs()
	v := g.itemManager(ids[0])
	in := library.DeleteContents{}
	for _, id := range ids[:min(len(ids), 2)] {
		in.Items = append(in.Items, library.ContentDeletion{ID: id})
	}
	ids = ids[:len(in.Items)]
	outs, err := g.svc.Library.DeleteContents(g.ctx, v.fresh(), in)
	g.bulk("deleteContents", in, v, ids, outs, err, func(id string) (faults, func()) {
		return g.w.deleteContent(&request{v: v}, library.DeleteContent{ID: id}), func() { g.w.items[library.ContentID(id)].deleted = true }
	}, func(i string) map[string]string { return map[string]string{"id": "items." + i + ".id"} })
}

// bulk compares the results of a bulk mutation with the model's mutations of its items. one
// returns the faults of an item, and a function that applies the change to the model if there are
// none. paths maps the input fields of one item to those of the bulk mutation.
func (g *game) bulk(what string, in any, v viewer, ids []string, outs []library.BulkOutcome, err error,
	one func(id string) (faults, func()), paths func(i string) map[string]string) {
	var common faults // faults of the input that are reported once
	if !v.signedIn() {
		common = faults{"UNAUTHENTICATED"}
	} else if in, ok := in.(library.ShareContents); ok {
		common = g.w.shareContent(&request{v: v}, library.ShareContent{Content: "c:acme:x", Principals: in.Principals, Role: in.Role})
		common = slices.DeleteFunc(common, func(f string) bool { return !strings.HasPrefix(f, "INVALID") && !strings.HasPrefix(f, "TOO_MANY") })
		if len(common) == 0 {
			common = nil
		}
	}
	if !g.agrees(what, in, v, common, err) {
		return
	}
	if len(outs) != len(ids) {
		g.Fatalf("%s of %d items has %d outcomes", what, len(ids), len(outs))
	}
	for i, id := range ids {
		places := paths(index(i))
		if slices.Index(ids, id) < i {
			for _, at := range places {
				g.agrees(what, id, v, faults{"INVALID " + at}, outs[i].Err)
			}
			continue
		}
		want, apply := one(id)
		for n, f := range want {
			if code, at, found := strings.Cut(f, " "); found && places[at] != "" {
				want[n] = code + " " + places[at]
			}
		}
		if g.agrees(what, id, v, want, outs[i].Err) {
			apply()
			g.sameOutcome(&request{v: v}, outs[i].Out, -1)
		}
	}
}
