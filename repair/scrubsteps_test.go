package repair_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/storetest"
)

// stumbles fails, while it is armed, every ninth call of those that the scrubber makes most often, and the
// first one of those by which it corrects a mistake.
type stumbles struct {
	armed  bool
	calls  atomic.Int64 // the audit reads several items at once
	failed sync.Map     // calls that have failed once
	begins int          // walks over the items
}

func (s *stumbles) err() error {
	if n := s.calls.Add(1); s.armed && n%9 == 0 {
		return domaintest.ErrDown
	}
	return nil
}

func (s *stumbles) once(what ...any) error {
	if !s.armed {
		return nil
	}
	if _, again := s.failed.LoadOrStore(fmt.Sprint(what...), true); again {
		return nil
	}
	return domaintest.ErrDown
}

type stumblingContents struct {
	library.ContentStore
	*stumbles
}

func (s stumblingContents) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	if after == "" {
		s.begins++
	}
	return s.ContentStore.ScanContents(ctx, after, limit)
}

func (s stumblingContents) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.ContentStore.MembersPage(ctx, id, after, limit, serial)
}

func (s stumblingContents) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.ContentStore.ReadMany(ctx, ids, members)
}

func (s stumblingContents) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	if q.Serial {
		if err := s.once(id, q.Members); err != nil {
			return nil, err
		}
	}
	return s.ContentStore.Read(ctx, id, q)
}

type stumblingClaims struct {
	claim.Store
	*stumbles
}

func (s stumblingClaims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	if err := s.once(k); err != nil {
		return err
	}
	return s.Store.DropClaim(ctx, k, record, token)
}

type stumblingPrincipals struct {
	principal.Store
	*stumbles
}

func (s stumblingPrincipals) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.ReadPrincipals(ctx, ids)
}

// crowd is a fixture whose lists have several pages for the scrubber, with a mistake at the end of each.
func crowd(t *testing.T) (*domaintest.Fixture, *stumbles) {
	t.Helper()
	fails := &stumbles{}
	h := domaintest.New(t, func(s *domain.Store) {
		s.Contents, s.Principals = stumblingContents{s.Contents, fails}, stumblingPrincipals{s.Principals, fails}
		s.Claims = stumblingClaims{s.Claims, fails}
	})
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:zzz", principal.Public)
	h.Group("g:acme:crowd", "u:acme:ann", principal.Public)
	var members, roles []string
	for n := range 110 {
		id := fmt.Sprintf("u:acme:%03d", n)
		h.User(id, principal.Public)
		members, roles = append(members, id), append(roles, id+"=MEMBER")
	}
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:crowd", roles[:55]...)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:crowd", roles[55:]...)
	wider, last := h.Note("wider", principal.Private), library.ContentID("")
	for n := range 210 {
		last = h.Note(fmt.Sprintf("%03d", n), principal.Private)
	}
	wide := h.Note("wide", principal.Private)
	for n := range 4 {
		id := []library.ContentID{wide, wider}[n%2]
		if _, err := h.Share("u:acme:ann", id, members[n/2*55:][:55]...); err != nil {
			t.Fatal(err)
		}
	}
	name := "zzz"
	if _, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:000"), library.CreateContent{Name: &name,
		Kind: library.Note, Title: name, Visibility: principal.Private}); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if _, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	h.Quiet()
	for what, err := range mistakes(h, last, wide) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return h, fails
}

// mistakes makes the mistakes of crowd. last is the item before wide in ann's library.
func mistakes(h *domaintest.Fixture, last, wide library.ContentID) map[string]error {
	ctx := h.T.Context()
	apply := func(id library.ContentID, p principal.ID, change func(h *library.Header, m *library.Member)) error {
		rows, err := h.Store.Contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{p}})
		if err != nil {
			return err
		}
		change(&rows.Header, &rows.Members[0])
		return h.Store.Contents.ApplyIndex(ctx, &library.IndexUpdate{Header: &rows.Header, Rows: rows.Members, All: true})
	}
	made := map[string]error{
		"the library of the last member of an item": apply(wide, "u:acme:109", func(h *library.Header, m *library.Member) {
			h.MTS, m.Leaving = h.MTS+1, true
		}),
		"the last entries of a library": apply(last, "u:acme:ann", func(h *library.Header, m *library.Member) {
			h.Position, h.MTS = h.Position+7, h.MTS+7
		}),
	}
	made["the record of an item of somebody else"] = errors.Join(
		apply("c:acme:zzz", "u:acme:ann", func(_ *library.Header, m *library.Member) { m.Role, m.Seq = library.Viewing, 1 }),
		h.Store.Libraries.DropEntries(ctx, "u:acme:ann", entriesOf(h, "u:acme:ann", "c:acme:zzz")))
	head := h.Header("g:acme:crowd")
	head.MTS++
	made["the last member of a group"] = h.Store.Principals.ApplyGroupIndex(ctx, &principal.GroupIndexUpdate{Header: &head,
		Rows: []principal.GroupMemberRow{{Principal: "u:acme:109", Role: principal.GroupMember, Leaving: true, Seq: 1}}})
	renamed := h.Header("u:acme:zzz")
	renamed.Seq, renamed.MTS, renamed.DisplayName = renamed.Seq+1, renamed.MTS+1, "one"
	_, err := h.Store.Principals.CommitPrincipal(ctx, &principal.Commit{ID: renamed.ID, Base: renamed.Seq - 1, Header: renamed})
	made["a name that is nobody's"] = errors.Join(err, h.Store.Directory.ApplyDirectory(ctx, &principal.DirectoryUpdate{Header: &renamed}))
	until := claim.New(h.Store.Claims, h.Runtime, nil)
	made["a claim"] = until.Take(ctx, claim.URL("acme", "https://acme.example/x"), string(wide), until.Until())
	for n := range 60 {
		var id note.TextID
		binary.BigEndian.PutUint64(id[:], uint64(time.Now().UnixMilli())<<16)
		id[15] = byte(n)
		made[fmt.Sprint("text ", n)] = h.Store.Texts.PutText(ctx, note.Text{ID: id, Item: wide, Body: "garbage",
			Row: library.RowKey{Kind: library.FirstRowKind + 1, Key: "0000000001//0000000001"}})
	}
	pastes, err := h.Pastes.Scan(ctx, "", 100)
	if err != nil || len(pastes) != 60 {
		h.T.Fatalf("%d pastes, %v", len(pastes), err)
	}
	p := pastes[59]
	made["the feed of the last paste"] = feeds(h).Drop(ctx, "pastes", feed.Entry{Created: p.CreatedAt, ID: string(p.ID)}, p.MTS)
	return made
}

// entriesOf returns the entries of an item in the PRIVATE bucket of a library.
func entriesOf(h *domaintest.Fixture, p principal.ID, id library.ContentID) (all []library.BucketEntry) {
	h.T.Helper()
	for _, o := range library.AllOrders {
		es, err := h.Store.Libraries.PageLibrary(h.T.Context(), library.Slice{Owner: p, Bucket: principal.Private, Order: o, Limit: 1000})
		if err != nil {
			h.T.Fatal(err)
		}
		for _, e := range es {
			if e.Content == id {
				all = append(all, library.BucketEntry{Bucket: principal.Private, Entry: e})
			}
		}
	}
	return all
}

// TestScrub_ContinuesAfterErrors: the scrubber comes to the end of all lists in small steps. When the store
// fails, it neither ends nor begins again, and misses nothing.
func TestScrub_ContinuesAfterErrors(t *testing.T) {
	for _, armed := range []bool{false, true} {
		t.Run(fmt.Sprintf("the store fails: %t", armed), func(t *testing.T) {
			h, fails := crowd(t)
			svc := h.After(2 * time.Hour)
			fails.armed, fails.begins = armed, 0
			var steps, failed, finished, mismatches int
			err := svc.Repair.Scrub(t.Context(), func(step commit.ScrubStep) (context.Context, error) {
				steps, finished, mismatches = steps+1, finished+step.Finished, mismatches+step.Mismatches
				if step.Err != nil {
					failed++
				}
				if step.Err != nil && !errors.Is(step.Err, domaintest.ErrDown) || steps > 1000 {
					return nil, fmt.Errorf("step %d: %w", steps, step.Err)
				}
				return t.Context(), nil
			})
			t.Logf("%d steps, of which %d failed: %d finished, %d mismatches", steps, failed, finished, mismatches)
			fails.armed = false
			if err != nil || !armed && steps != 29 || failed > 0 != armed || fails.begins != 1 {
				t.Errorf("%d steps, of which %d failed, in %d walks: %v", steps, failed, fails.begins, err)
			}
			if finished != 62 || mismatches < 6 || mismatches > 10 { // a repair that fails is counted again
				t.Errorf("%d finished, %d mismatches", finished, mismatches)
			}
			if finished, mismatches, err := svc.Repair.ScrubAll(t.Context()); err != nil || finished+mismatches > 0 {
				t.Errorf("afterwards, %d are finished, %d mismatches: %v", finished, mismatches, err)
			}
			h.WantClean()
		})
	}
}

// TestDeriveAll_ComesToTheLastPage: a copy gets the rows of the last member of a large group, and of an item.
func TestDeriveAll_ComesToTheLastPage(t *testing.T) {
	h, _ := crowd(t)
	if err := h.Repair.DeriveAll(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	groups, entries := h.Memberships("u:acme:109"), entriesOf(h, "u:acme:109", "c:acme:wide")
	if len(groups) != 1 || len(entries) != len(library.AllOrders) {
		t.Errorf("the last member is in %v, and has %v", groups, entries)
	}
}

// TestRebuildAll_MarksNoPrincipalThatDoesNotExist: an id that does not exist may have a fence.
func TestRebuildAll_MarksNoPrincipalThatDoesNotExist(t *testing.T) {
	h := domaintest.New(t, nil)
	fence := &principal.Commit{ID: "u:acme:void", Header: principal.Header{ID: "u:acme:void", State: commit.Void, Seq: 1, MTS: 1}}
	if v, err := h.Store.Principals.CommitPrincipal(t.Context(), fence); err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	none := func(int, int) {}
	_, rebuilt := h.Repair.RebuildAll(t.Context(), none)
	derived := h.Repair.DeriveAll(t.Context(), none)
	marked, err := h.Store.Libraries.Built(t.Context(), "u:acme:void", library.ByChange)
	if marked || cmp.Or(rebuilt, derived, err) != nil {
		t.Errorf("marked %v: %v, %v, %v", marked, rebuilt, derived, err)
	}
}

// TestScrub_ReadsTheListsInEachStep: a change that was in flight when the walk began has ended when its item
// is reached.
func TestScrub_ReadsTheListsInEachStep(t *testing.T) {
	h, _, rows := damagedFixture(t)
	for n := range 60 {
		h.Note(fmt.Sprint(n), principal.Private)
	}
	h.Quiet()
	if err := derivedMistakes[0].plant(t, h, rows); err != nil {
		t.Fatal(err)
	}
	list := commit.InFlightList{ID: "other", Stamp: 1,
		Block: storetest.Block(commit.Entry{Kind: commit.Content, Key: string(rows.Header.ID), Reach: commit.Reach{Scope: commit.ScopeAll}})}
	if err := h.Store.Journal.PutInFlightList(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	mismatches := 0
	err := h.Repair.Scrub(t.Context(), func(step commit.ScrubStep) (context.Context, error) {
		mismatches += step.Mismatches
		return t.Context(), errors.Join(step.Err, h.Store.Journal.DeleteInFlightList(t.Context(), list.ID, list.Stamp))
	})
	if err != nil || mismatches != 1 {
		t.Errorf("%d mismatches, %v", mismatches, err)
	}
	h.WantClean()
}

// TestScrub_EndsWithTheErrorOfRest: a gateway that stops ends the walk where it is.
func TestScrub_EndsWithTheErrorOfRest(t *testing.T) {
	h := domaintest.Town(t)
	for n := range 60 {
		h.Note(fmt.Sprint(n), principal.Private)
	}
	h.Quiet()
	ctx, stop := context.WithCancelCause(t.Context())
	steps := 0
	err := h.Repair.Scrub(ctx, func(step commit.ScrubStep) (context.Context, error) {
		if steps++; steps == 2 {
			stop(domaintest.ErrDown)
		}
		return ctx, context.Cause(ctx)
	})
	if !errors.Is(err, domaintest.ErrDown) || steps > 3 {
		t.Errorf("%d steps: %v", steps, err)
	}
}
