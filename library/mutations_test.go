package library_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// mutation is a mutation of any domain, with an input that sets every field.
type mutation struct {
	name string
	// path is where its input names what changes, or for a creation the tenant.
	path string
	// partition has the request row of the mutation; empty: it takes no idempotency key.
	partition string
	// hash is the hash of the input in that row. Stores keep it for a day, so a new version
	// of the program must compute the same.
	hash string
	// admin: the mutation is for administrators.
	admin bool
	// needsUser: an administrator must have a stored user too.
	needsUser bool
	// call calls the mutation of target.
	call func(c mutationCall) error
}

// mutationCall is one call of a mutation.
type mutationCall struct {
	ctx context.Context
	s   *domain.Services
	v   *principal.Viewer
	// target is an id, or for a creation a tenant.
	target string
	key    *string
}

// target is what a well-formed input names.
func (m *mutation) target() string {
	switch {
	case m.path == "tenant":
		return "acme"
	case m.partition == "":
		return "u:acme:cleo"
	}
	return m.partition
}

// errorOf returns the error of a call.
func errorOf[T any](_ T, err error) error { return err }

// principalMutations are the mutations of users and groups.
func principalMutations() []mutation {
	name, private, manager := "A name", principal.Private, principal.GroupManager
	return []mutation{
		{name: "createUser", path: "tenant", partition: "u:acme:new", hash: "133938fb1abe6e5d840a6aa8ec4c9dcd8bc3b8636af22a1d34ffbed0fedbc22a",
			admin: true, call: func(c mutationCall) error {
				return errorOf(c.s.People.CreateUser(c.ctx, c.v, principal.CreateUser{
					Tenant: c.target, Name: "new", DisplayName: name, Email: "New@Example.com", Visibility: private, IdempotencyKey: c.key}))
			}},
		{name: "updateUser", path: "id", partition: "u:acme:cleo", hash: "c1968b65189700a9c1335ef17575ad3e763c9b0c9f9ec9fecac3b88aca8fa974",
			call: func(c mutationCall) error {
				return errorOf(c.s.People.UpdateUser(c.ctx, c.v, principal.UpdateUser{
					ID: c.target, DisplayName: input.Some(&name), Email: input.Some(domaintest.Ptr("Cleo@Example.com")),
					Visibility: input.Some(&private), IdempotencyKey: c.key}))
			}},
		{name: "deleteUser", path: "id", partition: "u:acme:cleo", hash: "197644a88f34736123984baafa431391ecb9083f8c59b1f965628b500ae341d7",
			call: func(c mutationCall) error {
				return errorOf(c.s.People.DeleteUser(c.ctx, c.v, principal.DeleteUser{ID: c.target, IdempotencyKey: c.key}))
			}},
		{name: "deleteGroup", path: "id", partition: "g:acme:staff", hash: "ad33ed9e941b17ffd351137adf5ab4283b6321a5e6b493a1ec888a0da02666a9",
			call: func(c mutationCall) error {
				return errorOf(c.s.People.DeleteGroup(c.ctx, c.v, principal.DeleteGroup{ID: c.target, IdempotencyKey: c.key}))
			}},
		{name: "createGroup", path: "tenant", partition: "g:acme:new", hash: "44e72f5bcae96eacd6c5666be401b5ffe1bc9c04c1605a2a4dd0269f0ac9a70e",
			needsUser: true, call: func(c mutationCall) error {
				return errorOf(c.s.People.CreateGroup(c.ctx, c.v, principal.CreateGroup{
					Tenant: c.target, Name: "new", DisplayName: name, Visibility: private, IdempotencyKey: c.key}))
			}},
		{name: "updateGroup", path: "id", partition: "g:acme:staff", hash: "a2800a7943c00ae0e5bcaa1e39dcf88356e50784ca77ef06669f6e5ef8a5c266",
			call: func(c mutationCall) error {
				return errorOf(c.s.People.UpdateGroup(c.ctx, c.v, principal.UpdateGroup{
					ID: c.target, DisplayName: input.Some(&name), Visibility: input.Some(&private), IdempotencyKey: c.key}))
			}},
		{name: "setGroupMembers", path: "groupId", partition: "g:acme:staff",
			hash: "cd24cec509992152ce34561f3ec0cb5f56261bf5c9654f9f232c2e9cb8f2ea5e", call: func(c mutationCall) error {
				return errorOf(c.s.People.SetGroupMembers(c.ctx, c.v, principal.SetGroupMembers{
					Group: c.target, Members: []principal.GroupMemberChange{{Principal: "u:acme:dora", Role: &manager}, {Principal: "u:beta:zed"}},
					IdempotencyKey: c.key}))
			}},
	}
}

// contentMutations are the mutations of items and libraries.
func contentMutations() []mutation {
	text, private, at := "A text", principal.Private, clock.Instant(4_000_000_000_000_000)
	return []mutation{
		{name: "createContent", path: "tenant", partition: "c:acme:new",
			hash: "bc32106c1fc2a3b71c186b88260bababbcf66385138b06a5b09a3c69f5a87837", needsUser: true, call: func(c mutationCall) error {
				return errorOf(c.s.Library.CreateContent(c.ctx, c.v, library.CreateContent{
					Tenant: &c.target, Name: domaintest.Ptr("new"), Kind: library.Link, Title: text, Description: &text,
					Link:       domaintest.Ptr("https://example.com/"),
					Visibility: private, ExpiresAt: &at, Members: domaintest.MemberChanges("u:acme:dora=VIEWER"), IdempotencyKey: c.key}))
			}},
		{name: "updateContent", path: "id", partition: "c:acme:a", hash: "52fe05dd00b96bfc7e40925bcd7aac9923bdbd0fc3a7ad5cf944a0aec64302cb",
			call: func(c mutationCall) error {
				return errorOf(c.s.Library.UpdateContent(c.ctx, c.v, library.UpdateContent{
					ID: c.target, Title: input.Some(&text), Description: input.Some[*string](nil), Visibility: input.Some(&private),
					ExpiresAt: input.Some(&at), ExpectedVersion: domaintest.Ptr(1), IdempotencyKey: c.key}))
			}},
		{name: "moveContent", path: "id", partition: "c:acme:a", hash: "b55b567a2e83fb7e811f981a439353738e8d3784aeb0a350a57aafcab6ef9df3",
			call: func(c mutationCall) error {
				return errorOf(c.s.Library.MoveContent(c.ctx, c.v, library.MoveContent{
					ID: c.target, URL: input.Some(domaintest.Ptr("HTTPS://Example.com/a")), ExpectedVersion: domaintest.Ptr(1), IdempotencyKey: c.key}))
			}},
		{name: "shareContent", path: "contentId", partition: "c:acme:a",
			hash: "9ae5a7010c166fe3f1cf22b114e0d306284d15fbbdd3450b18b48eaa85c9bb53", call: func(c mutationCall) error {
				return errorOf(c.s.Library.ShareContent(c.ctx, c.v, library.ShareContent{
					Content: c.target, Principals: []string{"u:acme:dora", "u:acme:ann"}, Role: library.Editing, IdempotencyKey: c.key}))
			}},
		{name: "setContentMembers", path: "contentId", partition: "c:acme:a",
			hash: "603e4da958c40ccee82bb0a2d3ef0c20136bf182547e130fe8310da2c1548463", call: func(c mutationCall) error {
				return errorOf(c.s.Library.SetContentMembers(c.ctx, c.v, library.SetContentMembers{
					Content: c.target, Members: domaintest.MemberChanges("u:acme:dora=EDITOR", "u:acme:ann="), IdempotencyKey: c.key}))
			}},
		{name: "removeFromLibrary", path: "contentId", partition: "c:acme:a",
			hash: "af263286b4d1111dab09f5decf257371dfa291aca6a798f3b95f1703d414e523", call: func(c mutationCall) error {
				return errorOf(c.s.Library.RemoveFromLibrary(c.ctx, c.v, library.RemoveFromLibrary{Principal: "g:acme:team",
					Content: c.target, IdempotencyKey: c.key}))
			}},
		{name: "deleteContent", path: "id", partition: "c:acme:a", hash: "b6d609e1e4c10652125cdabfddd640e3aa604f71e79a7a04830c0ff0fd52c58f",
			call: func(c mutationCall) error {
				return errorOf(c.s.Library.DeleteContent(c.ctx, c.v, library.DeleteContent{ID: c.target, ExpectedVersion: domaintest.Ptr(1),
					IdempotencyKey: c.key}))
			}},
		{name: "rebuildLibrary", path: "principalId", admin: true, call: func(c mutationCall) error {
			return errorOf(c.s.Repair.RebuildLibrary(c.ctx, c.v, c.target))
		}},
	}
}

func allMutations() []mutation { return slices.Concat(principalMutations(), contentMutations()) }

// groupReads counts how often the groups of a principal are read.
type groupReads struct {
	principal.Store
	n atomic.Int32
}

func (r *groupReads) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	r.n.Add(1)
	return r.Store.MembershipsOf(ctx, q)
}

// mutationFixture has a PRIVATE item and a PRIVATE group, which cleo may manage only through
// the group team.
func mutationFixture(t *testing.T) (*domaintest.Fixture, *groupReads) {
	reads := &groupReads{}
	h := domaintest.New(t, func(s *domain.Store) { reads.Store, s.Principals = s.Principals, reads })
	for _, id := range []string{"u:acme:ann", "u:acme:cleo", "u:acme:dora", "u:beta:zed"} {
		h.User(id, principal.Public)
	}
	h.Group("g:acme:team", "u:acme:cleo", principal.Private)
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:ann=MANAGER")
	h.Group("g:acme:staff", "u:acme:ann", principal.Private)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "g:acme:team=MANAGER")
	h.Note("a", principal.Private, "g:acme:team=MANAGER")
	return h, reads
}

// eachMutation runs a subtest for each mutation.
func eachMutation(t *testing.T, test func(t *testing.T, m mutation)) {
	for _, m := range allMutations() {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// callAs calls a mutation with its own target.
func (m *mutation) callAs(t *testing.T, h *domaintest.Fixture, v *principal.Viewer, key *string) error {
	return m.call(mutationCall{t.Context(), h.Services, v, m.target(), key})
}

// requestHash returns the hash that the store has for a key of cleo.
func requestHash(t *testing.T, h *domaintest.Fixture, partition, key string) string {
	t.Helper()
	rowKey := commit.RequestKey(sha256.Sum256([]byte("u:acme:cleo\x00" + key)))
	var row *commit.RequestRow
	if id.KindOf(partition) == id.Content {
		rows, err := h.Store.Contents.Read(t.Context(), library.ContentID(partition), library.ContentQuery{Request: &rowKey})
		if err != nil {
			t.Fatal(err)
		}
		row = rows.Request
	} else {
		rows, err := h.Store.Principals.ReadPrincipal(t.Context(), principal.ID(partition), principal.Query{Request: &rowKey})
		if err != nil {
			t.Fatal(err)
		}
		row = rows.Request
	}
	if row == nil {
		t.Fatalf("%s has no request row", partition)
	}
	return hex.EncodeToString(row.InputHash[:])
}

// cleo returns the viewer cleo, who may do the mutation.
func (m *mutation) cleo() *principal.Viewer {
	if m.admin {
		return domaintest.Admin("u:acme:cleo")
	}
	return domaintest.As("u:acme:cleo")
}

func TestMutation_InputHasTheHashThatStoresKeep(t *testing.T) {
	eachMutation(t, func(t *testing.T, m mutation) {
		h, _ := mutationFixture(t)
		if m.partition == "" {
			domaintest.WantFaults(t, m.callAs(t, h, m.cleo(), nil))
			return
		}
		domaintest.WantFaults(t, m.callAs(t, h, m.cleo(), domaintest.Ptr("key")))
		if got := requestHash(t, h, m.partition, "key"); got != m.hash {
			t.Errorf("the hash is %s, and was %s", got, m.hash)
		}
	})
}

func TestMutation_RefusesInTheSameOrder(t *testing.T) {
	long := strings.Repeat("k", 129)
	eachMutation(t, func(t *testing.T, m mutation) {
		h, _ := mutationFixture(t)
		bad := func(v *principal.Viewer) error { return m.call(mutationCall{t.Context(), h.Services, v, "-", &long}) }
		domaintest.WantFaults(t, bad(domaintest.Anonymous()), "UNAUTHENTICATED")
		want := []string{"INVALID " + m.path, "INVALID idempotencyKey"}
		if m.partition == "" {
			want = want[:1]
		}
		ghost := func() *principal.Viewer { return domaintest.As("u:acme:ghost") }
		domaintest.WantFaults(t, bad(ghost()), want...)
		domaintest.WantFaults(t, m.callAs(t, h, ghost(), nil), "FORBIDDEN")
		domaintest.WantFaults(t, m.callAs(t, h, domaintest.Admin("u:beta:ghost"), nil), "FORBIDDEN")
		var refused []string
		if m.needsUser {
			refused = []string{"FORBIDDEN"}
		}
		domaintest.WantFaults(t, m.callAs(t, h, domaintest.Admin("u:acme:ghost"), nil), refused...)
	})
}

func TestMutation_DiscardsReadsOfTheViewer(t *testing.T) {
	eachMutation(t, func(t *testing.T, m mutation) {
		h, reads := mutationFixture(t)
		v := m.cleo()
		resolve := func() {
			if _, err := h.People.GroupsOf(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		resolve()
		domaintest.WantFaults(t, m.callAs(t, h, v, nil))
		before := reads.n.Load()
		resolve()
		if reads.n.Load() == before {
			t.Error("groups that were read before the mutation are used after it")
		}
	})
}

func TestMutation_OfARightLostInTheSameRequestIsRefused(t *testing.T) {
	for _, m := range contentMutations() {
		if m.partition != "c:acme:a" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			h, _ := mutationFixture(t)
			v := m.cleo()
			if _, err := h.People.GroupsOf(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:cleo=")
			domaintest.WantFaults(t, m.callAs(t, h, v, nil), "NOT_FOUND "+m.path)
		})
	}
}

// TestMutation_EachHasATest compares the tables above with the methods that take an idempotency
// key.
func TestMutation_EachHasATest(t *testing.T) {
	// The bulk mutations are shareContent and deleteContent of each item; bulk_test.go tries them.
	tried := map[string]bool{"sharecontents": true, "deletecontents": true}
	for _, m := range allMutations() {
		tried[strings.ToLower(m.name)] = true
	}
	var found []string
	for _, service := range []reflect.Type{reflect.TypeFor[*library.Service](), reflect.TypeFor[*principal.Service]()} {
		for method := range service.Methods() {
			for in := range method.Type.Ins() {
				if in.Kind() != reflect.Struct {
					continue
				}
				if _, keyed := in.FieldByName("IdempotencyKey"); keyed {
					found = append(found, strings.ToLower(method.Name))
				}
			}
		}
	}
	if len(found) < 10 {
		t.Errorf("only %q take a key", found)
	}
	for _, name := range found {
		if !tried[name] {
			t.Errorf("%s is not among the mutations of this test", name)
		}
	}
}
