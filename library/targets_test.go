package library_test

import (
	"testing"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/library"
	"carrel/principal"
)

// TestTargets: an operator may want fewer principals in one call than any may
// name; more are TOO_MANY, and nothing is done.
func TestTargets(t *testing.T) {
	h := town(t)
	h.group("g:acme:ours", "u:acme:ann", principal.Public)
	open := string(h.note("open", principal.Public))
	svc := backendtest.Open(t, backend.Config{
		Store: h.store, Runtime: h.runtime, Journal: h.journal, Names: &counting{}, Tuning: library.Tuning{Targets: 2},
	})
	ann, viewing, member := as("u:acme:ann"), library.Viewing, principal.GroupMember
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
		_, err := svc.ShareContent(t.Context(), ann, library.ShareContent{Content: open, Principals: all[:n], Role: viewing})
		wantTold(t, err, path("principalIds")...)
		_, err = svc.SetContentMembers(t.Context(), ann, library.SetContentMembers{Content: open, Members: items})
		wantTold(t, err, path("members")...)
		_, err = svc.SetGroupMembers(t.Context(), ann, principal.SetGroupMembers{Group: "g:acme:ours", Members: members})
		wantTold(t, err, path("members")...)
		_, err = svc.CreateContent(t.Context(), ann, library.CreateContent{Kind: library.Note, Title: "new", Visibility: principal.Public, Members: items})
		wantTold(t, err, path("members")...)
	}
}
