package library_test

import (
	"testing"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestShareContent_TooManyTargetsAreRefused: an operator may allow fewer principals in one call
// than the maximum; more are TOO_MANY, and nothing is done.
func TestShareContent_TooManyTargetsAreRefused(t *testing.T) {
	h := domaintest.Town(t)
	h.Group("g:acme:ours", "u:acme:ann", principal.Public)
	open := string(h.Note("open", principal.Public))
	svc := domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}, Tuning: library.Tuning{Targets: 2},
	})
	ann, viewing, member := domaintest.As("u:acme:ann"), library.Viewing, principal.GroupMember
	all := []string{"u:acme:ben", "u:acme:cleo", "u:beta:zed"}
	for n, want := range map[int][]string{2: nil, 3: {"TOO_MANY"}} {
		var items []library.ContentMemberChange
		var members []principal.GroupMemberChange
		for _, p := range all[:n] {
			items = append(items, library.ContentMemberChange{Principal: p, Role: &viewing})
			members = append(members, principal.GroupMemberChange{Principal: p, Role: &member})
		}
		path := func(field string) []string {
			if want == nil {
				return nil
			}
			return []string{want[0] + " " + field}
		}
		_, err := svc.Library.ShareContent(t.Context(), ann, library.ShareContent{Content: open, Principals: all[:n], Role: viewing})
		domaintest.WantFaults(t, err, path("principalIds")...)
		_, err = svc.Library.SetContentMembers(t.Context(), ann, library.SetContentMembers{Content: open, Members: items})
		domaintest.WantFaults(t, err, path("members")...)
		_, err = svc.People.SetGroupMembers(t.Context(), ann, principal.SetGroupMembers{Group: "g:acme:ours", Members: members})
		domaintest.WantFaults(t, err, path("members")...)
		_, err = svc.Library.CreateContent(t.Context(), ann, library.CreateContent{Kind: library.Note, Title: "new",
			Visibility: principal.Public, Members: items})
		domaintest.WantFaults(t, err, path("members")...)
	}
}
