package observe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/library"
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
	method   string
	outcomes [callOutcomes]atomic.Pointer[prometheus.Observer]
}

// ended counts a call that began at began.
func (c *call) ended(began time.Time, err error) { c.count(began, outcomeOf(err)) }

// decided is the same for a conditional write.
func (c *call) decided(began time.Time, v library.Verdict, err error) {
	outcome := outcomeOf(err)
	if outcome == callOK && !v.Applied {
		outcome = callRefused
	}
	c.count(began, outcome)
}

func (c *call) count(began time.Time, outcome int) {
	to := c.outcomes[outcome].Load()
	if to == nil {
		observer := c.vec.WithLabelValues(c.method, outcomeNames[outcome])
		to = &observer
		c.outcomes[outcome].Store(to)
	}
	(*to).Observe(time.Since(began).Seconds())
}

func outcomeOf(err error) int {
	switch {
	case err == nil:
		return callOK
	case library.MayHaveCommitted(err):
		return callUnknown
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return callEnded
	case library.CodeOf(err) == library.Unavailable:
		return callUnavailable
	}
	return callFailed
}

// Store measures the calls of a store.
func (m *Metrics) Store(next library.Store) library.Store {
	s := &measuredStore{next: next}
	for _, c := range []struct {
		call   *call
		method string
	}{
		{&s.read, "Read"},
		{&s.readMany, "ReadMany"},
		{&s.membersPage, "MembersPage"},
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
	} {
		c.call.vec, c.call.method = m.calls, c.method
	}
	return s
}

// measuredStore is a store whose calls are measured.
type measuredStore struct {
	next                                                                             library.Store
	read, readMany, membersPage, commit, enforce, settle                             call
	scanContents, pageLibrary, countLibrary, built, recorded, setBuilt, dropEntries  call
	sharedWith, roles, readPrincipal, readPrincipals, groupMembersPage, confirm      call
	commitPrincipal, enforceGroup, settleGroup, memberships, scanPrincipals, putLane call
	lanes, dropLane, putDue, dueUntil, dropDue, fixCreation                          call
	fixSetting, openLibrary, changes                                                 call
	enforceDirectory, pageDirectory, scanDirectory, dropDirectory                    call
	readDirectory, directoryFilled, setDirectoryFilled                               call
}

var _ library.Store = (*measuredStore)(nil)

func (s *measuredStore) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	began := time.Now()
	v, err := s.next.Read(ctx, id, q)
	s.read.ended(began, err)
	return v, err
}

func (s *measuredStore) ReadMany(ctx context.Context, ids []library.ContentID, members []library.PrincipalID) ([]library.ContentRows, error) {
	began := time.Now()
	v, err := s.next.ReadMany(ctx, ids, members)
	s.readMany.ended(began, err)
	return v, err
}

func (s *measuredStore) MembersPage(ctx context.Context, id library.ContentID, after library.PrincipalID, limit int, serial bool) (*library.ContentRows, error) {
	began := time.Now()
	v, err := s.next.MembersPage(ctx, id, after, limit, serial)
	s.membersPage.ended(began, err)
	return v, err
}

func (s *measuredStore) Commit(ctx context.Context, c *library.ContentCommit) (library.Verdict, error) {
	began := time.Now()
	v, err := s.next.Commit(ctx, c)
	s.commit.decided(began, v, err)
	return v, err
}

func (s *measuredStore) Enforce(ctx context.Context, e *library.Enforcement) error {
	began := time.Now()
	err := s.next.Enforce(ctx, e)
	s.enforce.ended(began, err)
	return err
}

// EnforceBatch implements library.ContentStore; nothing is asked of the store.
func (s *measuredStore) EnforceBatch() int { return s.next.EnforceBatch() }

func (s *measuredStore) Settle(ctx context.Context, t *library.Settlement) error {
	began := time.Now()
	err := s.next.Settle(ctx, t)
	s.settle.ended(began, err)
	return err
}

func (s *measuredStore) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	began := time.Now()
	v, err := s.next.ScanContents(ctx, after, limit)
	s.scanContents.ended(began, err)
	return v, err
}

func (s *measuredStore) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	began := time.Now()
	v, err := s.next.PageLibrary(ctx, q)
	s.pageLibrary.ended(began, err)
	return v, err
}

func (s *measuredStore) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	began := time.Now()
	v, err := s.next.OpenLibrary(ctx, q, newest)
	s.openLibrary.ended(began, err)
	return v, err
}

func (s *measuredStore) CountLibrary(ctx context.Context, owner library.PrincipalID, b library.Bucket, limit int) (int, error) {
	began := time.Now()
	v, err := s.next.CountLibrary(ctx, owner, b, limit)
	s.countLibrary.ended(began, err)
	return v, err
}

func (s *measuredStore) Built(ctx context.Context, owner library.PrincipalID) (bool, error) {
	began := time.Now()
	v, err := s.next.Built(ctx, owner)
	s.built.ended(began, err)
	return v, err
}

func (s *measuredStore) Recorded(ctx context.Context, owner library.PrincipalID) (bool, error) {
	began := time.Now()
	v, err := s.next.Recorded(ctx, owner)
	s.recorded.ended(began, err)
	return v, err
}

func (s *measuredStore) SetBuilt(ctx context.Context, owner library.PrincipalID, asOf library.Instant) error {
	began := time.Now()
	err := s.next.SetBuilt(ctx, owner, asOf)
	s.setBuilt.ended(began, err)
	return err
}

func (s *measuredStore) DropEntries(ctx context.Context, owner library.PrincipalID, es []library.BucketEntry) error {
	began := time.Now()
	err := s.next.DropEntries(ctx, owner, es)
	s.dropEntries.ended(began, err)
	return err
}

func (s *measuredStore) Changes(ctx context.Context, owner library.PrincipalID, after library.ChangeKey, limit int) ([]library.Change, error) {
	began := time.Now()
	v, err := s.next.Changes(ctx, owner, after, limit)
	s.changes.ended(began, err)
	return v, err
}

func (s *measuredStore) SharedWith(ctx context.Context, owner library.PrincipalID, after library.ContentID, limit int) ([]library.Shared, error) {
	began := time.Now()
	v, err := s.next.SharedWith(ctx, owner, after, limit)
	s.sharedWith.ended(began, err)
	return v, err
}

func (s *measuredStore) Roles(ctx context.Context, owner library.PrincipalID, ids []library.ContentID) ([]library.ContentRole, error) {
	began := time.Now()
	v, err := s.next.Roles(ctx, owner, ids)
	s.roles.ended(began, err)
	return v, err
}

func (s *measuredStore) ReadPrincipal(ctx context.Context, id library.PrincipalID, q library.PrincipalQuery) (*library.PrincipalRows, error) {
	began := time.Now()
	v, err := s.next.ReadPrincipal(ctx, id, q)
	s.readPrincipal.ended(began, err)
	return v, err
}

func (s *measuredStore) ReadPrincipals(ctx context.Context, ids []library.PrincipalID) ([]library.PrincipalHeader, error) {
	began := time.Now()
	v, err := s.next.ReadPrincipals(ctx, ids)
	s.readPrincipals.ended(began, err)
	return v, err
}

func (s *measuredStore) GroupMembersPage(ctx context.Context, group, after library.PrincipalID, limit int, serial bool) (*library.PrincipalRows, error) {
	began := time.Now()
	v, err := s.next.GroupMembersPage(ctx, group, after, limit, serial)
	s.groupMembersPage.ended(began, err)
	return v, err
}

func (s *measuredStore) Confirm(ctx context.Context, claims []library.MemberOf) ([]library.GroupMemberRow, error) {
	began := time.Now()
	v, err := s.next.Confirm(ctx, claims)
	s.confirm.ended(began, err)
	return v, err
}

func (s *measuredStore) CommitPrincipal(ctx context.Context, c *library.PrincipalCommit) (library.Verdict, error) {
	began := time.Now()
	v, err := s.next.CommitPrincipal(ctx, c)
	s.commitPrincipal.decided(began, v, err)
	return v, err
}

func (s *measuredStore) EnforceGroup(ctx context.Context, e *library.GroupEnforcement) error {
	began := time.Now()
	err := s.next.EnforceGroup(ctx, e)
	s.enforceGroup.ended(began, err)
	return err
}

func (s *measuredStore) SettleGroup(ctx context.Context, t *library.GroupSettlement) error {
	began := time.Now()
	err := s.next.SettleGroup(ctx, t)
	s.settleGroup.ended(began, err)
	return err
}

func (s *measuredStore) Memberships(ctx context.Context, p, after library.PrincipalID, limit int) ([]library.Membership, error) {
	began := time.Now()
	v, err := s.next.Memberships(ctx, p, after, limit)
	s.memberships.ended(began, err)
	return v, err
}

func (s *measuredStore) ScanPrincipals(ctx context.Context, after library.PrincipalID, limit int) ([]library.PrincipalID, error) {
	began := time.Now()
	v, err := s.next.ScanPrincipals(ctx, after, limit)
	s.scanPrincipals.ended(began, err)
	return v, err
}

func (s *measuredStore) PutLane(ctx context.Context, l library.Lane) error {
	began := time.Now()
	err := s.next.PutLane(ctx, l)
	s.putLane.ended(began, err)
	return err
}

func (s *measuredStore) Lanes(ctx context.Context) ([]library.Lane, error) {
	began := time.Now()
	v, err := s.next.Lanes(ctx)
	s.lanes.ended(began, err)
	return v, err
}

func (s *measuredStore) DropLane(ctx context.Context, id library.LaneID, stamp int64) error {
	began := time.Now()
	err := s.next.DropLane(ctx, id, stamp)
	s.dropLane.ended(began, err)
	return err
}

func (s *measuredStore) PutDue(ctx context.Context, d library.Due) error {
	began := time.Now()
	err := s.next.PutDue(ctx, d)
	s.putDue.ended(began, err)
	return err
}

func (s *measuredStore) DueUntil(ctx context.Context, until library.Instant, limit int) ([]library.Due, error) {
	began := time.Now()
	v, err := s.next.DueUntil(ctx, until, limit)
	s.dueUntil.ended(began, err)
	return v, err
}

func (s *measuredStore) DropDue(ctx context.Context, d library.Due) error {
	began := time.Now()
	err := s.next.DropDue(ctx, d)
	s.dropDue.ended(began, err)
	return err
}

func (s *measuredStore) FixCreation(ctx context.Context, c library.Creation, replace *library.Creation) (library.Creation, error) {
	began := time.Now()
	v, err := s.next.FixCreation(ctx, c, replace)
	s.fixCreation.ended(began, err)
	return v, err
}

func (s *measuredStore) FixSetting(ctx context.Context, name string, value []byte) ([]byte, error) {
	began := time.Now()
	v, err := s.next.FixSetting(ctx, name, value)
	s.fixSetting.ended(began, err)
	return v, err
}
