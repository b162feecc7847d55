package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// pointsSpent returns the points that signed-in viewers have paid.
func (g *gateway) pointsSpent() float64 {
	g.t.Helper()
	n, err := strconv.ParseFloat(g.figure(`carrel_points_total{payer="viewer"}`), 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// TestSubscription_EventsAreBilled checks that each event of a subscription is billed as a query and for
// the groups that are resolved for it, on every transport.
func TestSubscription_EventsAreBilled(t *testing.T) {
	const items, perEvent = 8, 1 + 5 // a small selection, and resolving the groups
	whole := serveWith(t)
	ann, eve := whole.user("acme", "ann", "PUBLIC"), whole.user("acme", "eve", "PUBLIC")
	for n := range 3 {
		whole.must(ann, `mutation($in: CreateGroupInput!) { createGroup(input: $in) { userErrors { message } } }`,
			vars{"in": vars{"tenant": "acme", "name": fmt.Sprint("g", n), "displayName": "G"}})
		whole.must(ann, `mutation($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { userErrors { message } } }`,
			vars{"in": vars{"groupId": fmt.Sprint("g:acme:g", n), "members": []vars{{"principalId": "u:acme:eve", "role": "MEMBER"}}}})
	}
	for name, subscribe := range follows() {
		t.Run(name, func(t *testing.T) {
			g := whole.in(t)
			suffix := strings.ReplaceAll(name, " ", "-")
			create := func(name string) string {
				g.must(ann, createItem, vars{"in": vars{"name": name + suffix, "kind": "NOTE", "title": "old", "visibility": "PRIVATE",
					"members": []vars{{"principalId": "g:acme:g0", "role": "VIEWER"}}}})
				return "c:acme:" + name + suffix
			}
			var ids []string
			for n := range items {
				ids = append(ids, create(fmt.Sprint(n)))
			}
			update := func(id, title string) {
				g.must(ann, updateItem, vars{"in": vars{"id": id, "title": title}})
			}
			before := g.pointsSpent()
			update(create("unsubscribed"), "new")
			alone := g.pointsSpent()
			update(ids[0], "new")
			price := g.pointsSpent() - alone // the cost of an update without subscribers
			if alone == before || price <= 0 {
				t.Fatalf("an update costs %v points", price)
			}
			s := subscribe(g, eve, "g:acme:g0", pageOf(g.must(eve, pageItems, vars{"id": "g:acme:g0"})).End)
			update(ids[1], "begun")
			for got := ""; got != "+"+ids[1]+" begun VIEWER"; { // recent events are repeated first
				got, _ = s.receive()
			}
			start, events := g.pointsSpent(), 0
			for n := 2; n < items; n++ {
				update(ids[n], "new")
				for want := "+" + ids[n] + " new VIEWER"; ; {
					got, _ := s.receive()
					if events++; got == want {
						break
					}
				}
			}
			s.leave()
			// An event may be delivered twice, so one may be billed before the start, or
			// billed without being read.
			paid := (g.pointsSpent() - start - (items-2)*price) / perEvent
			if least, most := float64(items-2)-1.01, float64(2*events)+1.01; paid < least || paid > most {
				t.Errorf("%d events were billed as %v", events, paid)
			}
		})
	}
}
