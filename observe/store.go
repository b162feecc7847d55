package observe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"carrel/backend"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// The outcomes of a call of a store.
const (
	callOK          = iota
	callRefused     // a condition did not hold
	callUnknown     // it may have been applied
	callUnavailable // the store cannot do it now
	callEnded       // the caller's time was over, or it went away
	callFailed
	callOutcomes // how many there are
)

var outcomeNames = [callOutcomes]string{"ok", "refused", "unknown", "unavailable", "ended", "failed"}

// call measures one method of a store. What it writes to is looked up once an
// outcome: the look-up costs as much as a row from the cache.
type call struct {
	vec      *prometheus.HistogramVec
	tracing  *Tracing // nil: no spans are made
	method   string
	outcomes [callOutcomes]atomic.Pointer[prometheus.Observer]
}

// running is a call under way.
type running struct {
	*call
	began time.Time
	span  trace.Span // nil: it is not told
}

// begin starts a call, and gives the context to make it with.
func (c *call) begin(ctx context.Context) (context.Context, running) {
	r := running{call: c, began: time.Now()}
	if c.tracing != nil {
		ctx, r.span = c.tracing.storeCall(ctx, c.method)
	}
	return ctx, r
}

// ended counts a call.
func (r running) ended(err error) { r.count(outcomeOf(err)) }

// decided is the same for a conditional write.
func (r running) decided(v commit.Verdict, err error) {
	outcome := outcomeOf(err)
	if outcome == callOK && !v.Applied {
		outcome = callRefused
	}
	r.count(outcome)
}

func (r running) count(outcome int) {
	to := r.outcomes[outcome].Load()
	if to == nil {
		observer := r.vec.WithLabelValues(r.method, outcomeNames[outcome])
		to = &observer
		r.outcomes[outcome].Store(to)
	}
	(*to).Observe(time.Since(r.began).Seconds())
	if r.span != nil {
		endCall(r.span, outcome)
	}
}

func outcomeOf(err error) int {
	switch {
	case err == nil:
		return callOK
	case fault.MayHaveCommitted(err):
		return callUnknown
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return callEnded
	case fault.CodeOf(err) == fault.Unavailable:
		return callUnavailable
	}
	return callFailed
}

// Store measures the calls of a store, and makes spans of them where tracing is
// not nil.
func (m *Metrics) Store(next backend.Store, tracing *Tracing) backend.Store {
	s := &measuredStore{next: next, tracing: tracing}
	for _, c := range []struct {
		call   *call
		method string
	}{
		{&s.read, "Read"},
		{&s.readMany, "ReadMany"},
		{&s.membersPage, "MembersPage"},
		{&s.pageRows, "PageRows"},
		{&s.commit, "Commit"},
		{&s.enforce, "Enforce"},
		{&s.settle, "Settle"},
		{&s.scanContents, "ScanContents"},
		{&s.pageLibrary, "PageLibrary"},
		{&s.openLibrary, "OpenLibrary"},
		{&s.countLibrary, "CountLibrary"},
		{&s.built, "Built"},
		{&s.recorded, "Recorded"},
		{&s.setBuilt, "SetBuilt"},
		{&s.rebuildNote, "RebuildNote"},
		{&s.putRebuildNote, "PutRebuildNote"},
		{&s.dropRebuildNote, "DropRebuildNote"},
		{&s.dropEntries, "DropEntries"},
		{&s.changes, "Changes"},
		{&s.sharedWith, "SharedWith"},
		{&s.roles, "Roles"},
		{&s.readPrincipal, "ReadPrincipal"},
		{&s.readPrincipals, "ReadPrincipals"},
		{&s.groupMembersPage, "GroupMembersPage"},
		{&s.confirm, "Confirm"},
		{&s.commitPrincipal, "CommitPrincipal"},
		{&s.enforceGroup, "EnforceGroup"},
		{&s.settleGroup, "SettleGroup"},
		{&s.memberships, "Memberships"},
		{&s.membershipsOf, "MembershipsOf"},
		{&s.scanPrincipals, "ScanPrincipals"},
		{&s.enforceDirectory, "EnforceDirectory"},
		{&s.pageDirectory, "PageDirectory"},
		{&s.readDirectory, "ReadDirectory"},
		{&s.scanDirectory, "ScanDirectory"},
		{&s.dropDirectory, "DropDirectory"},
		{&s.directoryFilled, "DirectoryFilled"},
		{&s.setDirectoryFilled, "SetDirectoryFilled"},
		{&s.putLane, "PutLane"},
		{&s.lanes, "Lanes"},
		{&s.dropLane, "DropLane"},
		{&s.putDue, "PutDue"},
		{&s.dueUntil, "DueUntil"},
		{&s.dropDue, "DropDue"},
		{&s.fixCreation, "FixCreation"},
		{&s.fixSetting, "FixSetting"},
		{&s.readClaim, "ReadClaim"},
		{&s.putClaim, "PutClaim"},
		{&s.dropClaim, "DropClaim"},
		{&s.scanClaims, "ScanClaims"},
	} {
		c.call.vec, c.call.method, c.call.tracing = m.calls, c.method, tracing
	}
	return s
}

// measuredStore is a store whose calls are measured.
type measuredStore struct {
	next                                                                             backend.Store
	tracing                                                                          *Tracing
	read, readMany, membersPage, commit, enforce, settle                             call
	scanContents, pageLibrary, countLibrary, built, recorded, setBuilt, dropEntries  call
	sharedWith, roles, readPrincipal, readPrincipals, groupMembersPage, confirm      call
	commitPrincipal, enforceGroup, settleGroup, memberships, scanPrincipals, putLane call
	lanes, dropLane, putDue, dueUntil, dropDue, fixCreation                          call
	fixSetting, openLibrary, changes, membershipsOf                                  call
	enforceDirectory, pageDirectory, scanDirectory, dropDirectory                    call
	readDirectory, directoryFilled, setDirectoryFilled                               call
	rebuildNote, putRebuildNote, dropRebuildNote                                     call
	readClaim, putClaim, dropClaim, scanClaims, pageRows                             call
}

var _ backend.Store = (*measuredStore)(nil)

func (s *measuredStore) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	ctx, call := s.read.begin(ctx)
	v, err := s.next.Read(ctx, id, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	ctx, call := s.readMany.begin(ctx)
	v, err := s.next.ReadMany(ctx, ids, members)
	call.ended(err)
	return v, err
}

func (s *measuredStore) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int, serial bool) (*library.ContentRows, error) {
	ctx, call := s.membersPage.begin(ctx)
	v, err := s.next.MembersPage(ctx, id, after, limit, serial)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PageRows(ctx context.Context, q library.RowSlice) ([]library.Row, error) {
	ctx, call := s.pageRows.begin(ctx)
	v, err := s.next.PageRows(ctx, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	ctx, call := s.commit.begin(ctx)
	s.tracing.sends(ctx, c.Writer)
	v, err := s.next.Commit(ctx, c)
	call.decided(v, err)
	return v, err
}

func (s *measuredStore) Enforce(ctx context.Context, e *library.Enforcement) error {
	ctx, call := s.enforce.begin(ctx)
	err := s.next.Enforce(ctx, e)
	call.ended(err)
	return err
}

// EnforceBatch implements library.ContentStore; nothing is asked of the store.
func (s *measuredStore) EnforceBatch() int { return s.next.EnforceBatch() }

func (s *measuredStore) Settle(ctx context.Context, t *library.Settlement) error {
	ctx, call := s.settle.begin(ctx)
	err := s.next.Settle(ctx, t)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	ctx, call := s.scanContents.begin(ctx)
	v, err := s.next.ScanContents(ctx, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	ctx, call := s.pageLibrary.begin(ctx)
	v, err := s.next.PageLibrary(ctx, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	ctx, call := s.openLibrary.begin(ctx)
	v, err := s.next.OpenLibrary(ctx, q, newest)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	ctx, call := s.countLibrary.begin(ctx)
	v, err := s.next.CountLibrary(ctx, owner, b, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Built(ctx context.Context, owner principal.ID) (bool, error) {
	ctx, call := s.built.begin(ctx)
	v, err := s.next.Built(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	ctx, call := s.recorded.begin(ctx)
	v, err := s.next.Recorded(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	ctx, call := s.setBuilt.begin(ctx)
	err := s.next.SetBuilt(ctx, owner, asOf)
	call.ended(err)
	return err
}

func (s *measuredStore) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	ctx, call := s.rebuildNote.begin(ctx)
	v, err := s.next.RebuildNote(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	ctx, call := s.putRebuildNote.begin(ctx)
	err := s.next.PutRebuildNote(ctx, owner, asOf, note)
	call.ended(err)
	return err
}

func (s *measuredStore) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	ctx, call := s.dropRebuildNote.begin(ctx)
	err := s.next.DropRebuildNote(ctx, owner, asOf)
	call.ended(err)
	return err
}

func (s *measuredStore) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) error {
	ctx, call := s.dropEntries.begin(ctx)
	err := s.next.DropEntries(ctx, owner, es)
	call.ended(err)
	return err
}

func (s *measuredStore) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	ctx, call := s.changes.begin(ctx)
	v, err := s.next.Changes(ctx, owner, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	ctx, call := s.sharedWith.begin(ctx)
	v, err := s.next.SharedWith(ctx, owner, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	ctx, call := s.roles.begin(ctx)
	v, err := s.next.Roles(ctx, owner, ids)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	ctx, call := s.readPrincipal.begin(ctx)
	v, err := s.next.ReadPrincipal(ctx, id, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	ctx, call := s.readPrincipals.begin(ctx)
	v, err := s.next.ReadPrincipals(ctx, ids)
	call.ended(err)
	return v, err
}

func (s *measuredStore) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	ctx, call := s.groupMembersPage.begin(ctx)
	v, err := s.next.GroupMembersPage(ctx, group, after, limit, serial)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	ctx, call := s.confirm.begin(ctx)
	v, err := s.next.Confirm(ctx, claims)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	ctx, call := s.commitPrincipal.begin(ctx)
	s.tracing.sends(ctx, c.Writer)
	v, err := s.next.CommitPrincipal(ctx, c)
	call.decided(v, err)
	return v, err
}

func (s *measuredStore) EnforceGroup(ctx context.Context, e *principal.GroupEnforcement) error {
	ctx, call := s.enforceGroup.begin(ctx)
	err := s.next.EnforceGroup(ctx, e)
	call.ended(err)
	return err
}

func (s *measuredStore) SettleGroup(ctx context.Context, t *principal.GroupSettlement) error {
	ctx, call := s.settleGroup.begin(ctx)
	err := s.next.SettleGroup(ctx, t)
	call.ended(err)
	return err
}

func (s *measuredStore) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	ctx, call := s.memberships.begin(ctx)
	v, err := s.next.Memberships(ctx, p, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	ctx, call := s.membershipsOf.begin(ctx)
	v, err := s.next.MembershipsOf(ctx, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	ctx, call := s.scanPrincipals.begin(ctx)
	v, err := s.next.ScanPrincipals(ctx, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutLane(ctx context.Context, l commit.Lane) error {
	ctx, call := s.putLane.begin(ctx)
	err := s.next.PutLane(ctx, l)
	call.ended(err)
	return err
}

func (s *measuredStore) Lanes(ctx context.Context) ([]commit.Lane, error) {
	ctx, call := s.lanes.begin(ctx)
	v, err := s.next.Lanes(ctx)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropLane(ctx context.Context, id commit.LaneID, stamp int64) error {
	ctx, call := s.dropLane.begin(ctx)
	err := s.next.DropLane(ctx, id, stamp)
	call.ended(err)
	return err
}

func (s *measuredStore) PutDue(ctx context.Context, d commit.Due) error {
	ctx, call := s.putDue.begin(ctx)
	err := s.next.PutDue(ctx, d)
	call.ended(err)
	return err
}

func (s *measuredStore) DueUntil(ctx context.Context, until clock.Instant, limit int) ([]commit.Due, error) {
	ctx, call := s.dueUntil.begin(ctx)
	v, err := s.next.DueUntil(ctx, until, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropDue(ctx context.Context, d commit.Due) error {
	ctx, call := s.dropDue.begin(ctx)
	err := s.next.DropDue(ctx, d)
	call.ended(err)
	return err
}

func (s *measuredStore) FixCreation(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	ctx, call := s.fixCreation.begin(ctx)
	v, err := s.next.FixCreation(ctx, c, replace)
	call.ended(err)
	return v, err
}

func (s *measuredStore) FixSetting(ctx context.Context, name string, value []byte) ([]byte, error) {
	ctx, call := s.fixSetting.begin(ctx)
	v, err := s.next.FixSetting(ctx, name, value)
	call.ended(err)
	return v, err
}
