package library_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// nodesText returns nodes as short texts.
func nodesText(nodes []library.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		switch n := n.(type) {
		case *principal.User:
			list[i] = "user " + n.ID.Name()
		case *principal.Group:
			list[i] = "group " + n.ID.Name()
		case *library.Content:
			list[i] = "content " + n.ID.Name()
		case nil:
			list[i] = "-"
		default:
			list[i] = fmt.Sprintf("%T", n)
		}
	}
	return list
}

func TestNodes_UnseenAndMalformedIDsAreNil(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:ann")
	r.Principal("u:acme:shy", principal.Private)
	r.Item("c:acme:Item", 1, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
	r.Item("c:acme:secret", 2, principal.Private, domaintest.ContentMember("u:acme:ann", library.Viewing))
	ids := []string{"c:acme:Item", "u:acme:ann", "nonsense", "G:ACME:Ann", "u:acme:shy", "c:acme:secret", "c:acme:item",
		"c:acme:", "u:acme:none", "U:Acme:Ann"}
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		want   []string
	}{
		{"anonymous", domaintest.Anonymous(), []string{"content Item", "user ann", "-", "group ann", "-", "-", "-", "-", "-", "user ann"}},
		{"ann", domaintest.Ann(), []string{"content Item", "user ann", "-", "group ann", "-", "content secret", "-", "-", "-", "user ann"}},
		{"shy", &principal.Viewer{User: "u:acme:shy"}, []string{"content Item", "user ann", "-", "group ann", "user shy",
			"-", "-", "-", "-", "user ann"}},
		{"administrator", domaintest.Root(), []string{"content Item", "user ann", "-", "group ann", "user shy", "content secret",
			"-", "-", "-", "user ann"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.Library.Nodes(t.Context(), c.viewer, ids)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, nodesText(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]string, input.MaxList+1)
	for i := range many {
		many[i] = "u:acme:ann"
	}
	if got, err := r.Library.Nodes(t.Context(), domaintest.Ann(), many[1:]); err != nil || len(got) != input.MaxList || got[99] == nil {
		t.Errorf("100 ids: %d nodes, %v", len(got), err)
	}
	_, err := r.Library.Nodes(t.Context(), domaintest.Ann(), many)
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadInput)
	if got, err := r.Library.Nodes(t.Context(), domaintest.Ann(), nil); err != nil || len(got) != 0 {
		t.Errorf("no ids: %v, %v", got, err)
	}
}

// TestContents_MoreThanTheStoreAcceptsAtOnceAreRead: a loader may request more ids than one call of
// the store accepts.
func TestContents_MoreThanTheStoreAcceptsAtOnceAreRead(t *testing.T) {
	r := domaintest.NewRows(t)
	var principals []principal.ID
	var contents []library.ContentID
	for i := range 230 {
		principals = append(principals, principal.ID(fmt.Sprintf("u:acme:u%03d", i)))
		contents = append(contents, library.ContentID(fmt.Sprintf("c:acme:c%03d", i)))
		r.Principals(principals[i])
		r.Item(contents[i], clock.Instant(i+1), principal.Public, domaintest.ContentMember(principals[i], library.Viewing))
	}
	ps, err := r.People.Principals(t.Context(), domaintest.Anonymous(), principals)
	r.Must(err)
	cs, err := r.Library.Contents(t.Context(), domaintest.Anonymous(), contents)
	r.Must(err)
	ss, err := r.Library.PermissionsOf(t.Context(), &principal.Viewer{User: principals[229]}, contents)
	r.Must(err)
	for i := range principals {
		if ps[i].PrincipalID() != principals[i] || cs[i].ID != contents[i] {
			t.Fatalf("index %d has %s and %s", i, ps[i].PrincipalID(), cs[i].ID)
		}
		if want := i == 229; (ss[i].Role == library.Viewing) != want {
			t.Errorf("permissions %d: %+v", i, ss[i])
		}
	}
}
