package resolvers_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// recorder is a store that records its calls: the method and the number of requested keys. It
// embeds nothing, so a new method of the store must be recorded too.
type recorder struct {
	next domain.Store

	mu    sync.Mutex
	calls []string
	// turn is run before the call that makes turnIn zero.
	turnIn int
	turn   func()
}

// before runs a function before a call, counted from now; the next one is 1. Calls of the function are not counted.
func (s *recorder) before(call int, run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnIn, s.turn = call, run
}

// note records a call. The keys are the elements of all lists in its arguments.
func (s *recorder) note(method string, args ...any) {
	keys := 0
	for _, arg := range args {
		keys += lists(reflect.ValueOf(arg))
	}
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%s of %d", method, keys))
	s.turnIn--
	run := s.turn
	if s.turnIn != 0 {
		run = nil
	}
	s.mu.Unlock()
	if run != nil {
		run()
	}
}

// lists returns the number of elements of all lists in a value.
func lists(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.Slice:
		n = v.Len()
	case reflect.Struct:
		for i := range v.NumField() {
			n += lists(v.Field(i))
		}
	}
	return n
}

// take returns the calls since the last take, sorted, because some are concurrent.
func (s *recorder) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	slices.Sort(calls)
	return calls
}

// await waits until a call was made so many times: pages are begun in the background, and no
// request waits for them if their owner is not shown.
func (s *recorder) await(t *testing.T, call string, times int) {
	t.Helper()
	for range 10_000_000 {
		s.mu.Lock()
		n := 0
		for _, c := range s.calls {
			if c == call {
				n++
			}
		}
		s.mu.Unlock()
		if n >= times {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%s was not called %d times", call, times)
}

// on returns a store that records its calls and makes them of next.
func (s *recorder) on(next domain.Store) domain.Store {
	s.next = next
	return domain.Store{
		Journal: s, Registers: s, Claims: s, Principals: s, Directory: s, Contents: s, Libraries: s, Texts: s, Feeds: s,
		Pastes: pasteRecorder{s, rowRecorder[paste.ID]{s, next.Pastes}}, Leases: rowRecorder[lease.ID]{s, next.Leases},
	}
}

func (s *recorder) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	s.note("Read", id, q)
	return s.next.Contents.Read(ctx, id, q)
}

func (s *recorder) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.note("ReadMany", ids, members)
	return s.next.Contents.ReadMany(ctx, ids, members)
}

func (s *recorder) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	s.note("MembersPage", id, after, limit, serial)
	return s.next.Contents.MembersPage(ctx, id, after, limit, serial)
}

func (s *recorder) PageRows(ctx context.Context, q library.RowSlice) ([]library.Row, error) {
	s.note("PageRows", q)
	return s.next.Contents.PageRows(ctx, q)
}

func (s *recorder) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	s.note("Commit", c)
	return s.next.Contents.Commit(ctx, c)
}

func (s *recorder) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	s.note("ApplyIndex", e)
	return s.next.Contents.ApplyIndex(ctx, e)
}

func (s *recorder) ApplyIndexBatch() int {
	return s.next.Contents.ApplyIndexBatch()
}

func (s *recorder) CleanUp(ctx context.Context, t *library.Cleanup) error {
	s.note("CleanUp", t)
	return s.next.Contents.CleanUp(ctx, t)
}

func (s *recorder) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	s.note("ScanContents", after, limit)
	return s.next.Contents.ScanContents(ctx, after, limit)
}

func (s *recorder) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	s.note("PageLibrary", q)
	return s.next.Libraries.PageLibrary(ctx, q)
}

func (s *recorder) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	s.note("OpenLibrary", q, newest)
	return s.next.Libraries.OpenLibrary(ctx, q, newest)
}

func (s *recorder) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	s.note("CountLibrary", owner, b, limit)
	return s.next.Libraries.CountLibrary(ctx, owner, b, limit)
}

func (s *recorder) EntriesAt(ctx context.Context, owner principal.ID, b library.Bucket, keys []library.EntryKey) ([]library.Entry, error) {
	s.note("EntriesAt", owner, b, keys)
	return s.next.Libraries.EntriesAt(ctx, owner, b, keys)
}

func (s *recorder) Built(ctx context.Context, owner principal.ID, o library.Order) (bool, error) {
	s.note("Built", owner, o)
	return s.next.Libraries.Built(ctx, owner, o)
}

func (s *recorder) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	s.note("Recorded", owner)
	return s.next.Libraries.Recorded(ctx, owner)
}

func (s *recorder) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	s.note("SetBuilt", owner, asOf)
	return s.next.Libraries.SetBuilt(ctx, owner, asOf)
}

func (s *recorder) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	s.note("RebuildNote", owner)
	return s.next.Libraries.RebuildNote(ctx, owner)
}

func (s *recorder) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	s.note("PutRebuildNote", owner, asOf, note)
	return s.next.Libraries.PutRebuildNote(ctx, owner, asOf, note)
}

func (s *recorder) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	s.note("DropRebuildNote", owner, asOf)
	return s.next.Libraries.DropRebuildNote(ctx, owner, asOf)
}

func (s *recorder) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	s.note("DropLibrary", owner, asOf)
	return s.next.Libraries.DropLibrary(ctx, owner, asOf)
}

func (s *recorder) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) error {
	s.note("DropEntries", owner, es)
	return s.next.Libraries.DropEntries(ctx, owner, es)
}

func (s *recorder) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	s.note("Changes", owner, after, limit)
	return s.next.Libraries.Changes(ctx, owner, after, limit)
}

func (s *recorder) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	s.note("SharedWith", owner, after, limit)
	return s.next.Libraries.SharedWith(ctx, owner, after, limit)
}

func (s *recorder) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	s.note("Roles", owner, ids)
	return s.next.Libraries.Roles(ctx, owner, ids)
}

func (s *recorder) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	s.note("ReadPrincipal", id, q)
	return s.next.Principals.ReadPrincipal(ctx, id, q)
}

func (s *recorder) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	s.note("ReadPrincipals", ids)
	return s.next.Principals.ReadPrincipals(ctx, ids)
}

func (s *recorder) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	s.note("GroupMembersPage", group, after, limit, serial)
	return s.next.Principals.GroupMembersPage(ctx, group, after, limit, serial)
}

func (s *recorder) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	s.note("Confirm", claims)
	return s.next.Principals.Confirm(ctx, claims)
}

func (s *recorder) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	s.note("CommitPrincipal", c)
	return s.next.Principals.CommitPrincipal(ctx, c)
}

func (s *recorder) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	s.note("ApplyGroupIndex", e)
	return s.next.Principals.ApplyGroupIndex(ctx, e)
}

func (s *recorder) CleanUpGroup(ctx context.Context, t *principal.GroupCleanup) error {
	s.note("CleanUpGroup", t)
	return s.next.Principals.CleanUpGroup(ctx, t)
}

func (s *recorder) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	s.note("Memberships", p, after, limit)
	return s.next.Principals.Memberships(ctx, p, after, limit)
}

func (s *recorder) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	s.note("MembershipsOf", q)
	return s.next.Principals.MembershipsOf(ctx, q)
}

func (s *recorder) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	s.note("ScanPrincipals", after, limit)
	return s.next.Principals.ScanPrincipals(ctx, after, limit)
}

func (s *recorder) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	s.note("PutInFlightList", l)
	return s.next.Journal.PutInFlightList(ctx, l)
}

func (s *recorder) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	s.note("InFlight")
	return s.next.Journal.InFlight(ctx)
}

func (s *recorder) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	s.note("InFlightLists")
	return s.next.Journal.InFlightLists(ctx)
}

func (s *recorder) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	s.note("DeleteInFlightList", id, stamp)
	return s.next.Journal.DeleteInFlightList(ctx, id, stamp)
}

func (s *recorder) PutReminder(ctx context.Context, d commit.Reminder) error {
	s.note("PutReminder", d)
	return s.next.Journal.PutReminder(ctx, d)
}

func (s *recorder) DueReminders(ctx context.Context, until clock.Instant, limit int) ([]commit.Reminder, error) {
	s.note("DueReminders", until, limit)
	return s.next.Journal.DueReminders(ctx, until, limit)
}

func (s *recorder) DropReminder(ctx context.Context, d commit.Reminder) error {
	s.note("DropReminder", d)
	return s.next.Journal.DropReminder(ctx, d)
}

func (s *recorder) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	s.note("PutCreationIfAbsent", c, replace)
	return s.next.Registers.PutCreationIfAbsent(ctx, c, replace)
}

func (s *recorder) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	s.note("PutSettingIfAbsent", name, value)
	return s.next.Registers.PutSettingIfAbsent(ctx, name, value)
}

func (s *recorder) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	s.note("ApplyDirectory", e)
	return s.next.Directory.ApplyDirectory(ctx, e)
}

func (s *recorder) PageDirectory(ctx context.Context, p principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	s.note("PageDirectory", p)
	return s.next.Directory.PageDirectory(ctx, p)
}

func (s *recorder) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	s.note("ReadDirectory", p, keys)
	return s.next.Directory.ReadDirectory(ctx, p, keys)
}

func (s *recorder) ScanDirectory(ctx context.Context, after []byte, limit int) ([]principal.DirectoryRow, []byte, error) {
	s.note("ScanDirectory", after, limit)
	return s.next.Directory.ScanDirectory(ctx, after, limit)
}

func (s *recorder) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) error {
	s.note("DropDirectory", rows)
	return s.next.Directory.DropDirectory(ctx, rows)
}

func (s *recorder) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	s.note("ReadClaim", k, serial)
	return s.next.Claims.ReadClaim(ctx, k, serial)
}

func (s *recorder) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	s.note("PutClaim", c, over)
	return s.next.Claims.PutClaim(ctx, c, over)
}

func (s *recorder) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	s.note("DropClaim", k, record, token)
	return s.next.Claims.DropClaim(ctx, k, record, token)
}

func (s *recorder) ScanClaims(ctx context.Context, after claim.Key, limit int) ([]claim.Claim, error) {
	s.note("ScanClaims", after, limit)
	return s.next.Claims.ScanClaims(ctx, after, limit)
}

func (s *recorder) PutText(ctx context.Context, t note.Text) error {
	s.note("PutText", t)
	return s.next.Texts.PutText(ctx, t)
}

func (s *recorder) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	s.note("ReadTexts", ids)
	return s.next.Texts.ReadTexts(ctx, ids)
}

func (s *recorder) DropTexts(ctx context.Context, ids []note.TextID) error {
	s.note("DropTexts", ids)
	return s.next.Texts.DropTexts(ctx, ids)
}

func (s *recorder) ScanTexts(ctx context.Context, after note.TextID, limit int) ([]note.Text, error) {
	s.note("ScanTexts", after, limit)
	return s.next.Texts.ScanTexts(ctx, after, limit)
}

func (s *recorder) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	s.note("ListDrafts", user)
	return s.next.Texts.ListDrafts(ctx, user)
}

func (s *recorder) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	s.note("ReadDrafts", user, names)
	return s.next.Texts.ReadDrafts(ctx, user, names, serial)
}

func (s *recorder) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	s.note("PutDraft", d, over)
	return s.next.Texts.PutDraft(ctx, d, over)
}

func (s *recorder) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	s.note("DropDraft", user, name, token)
	return s.next.Texts.DropDraft(ctx, user, name, token)
}
