package observe

import (
	"context"
	"errors"
	"slices"
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
	callUnavailable // the store is temporarily unavailable
	callEnded       // the caller's deadline passed, or the caller was cancelled
	callFailed
	callOutcomes // the number of outcomes
)

var outcomeNames = [callOutcomes]string{"ok", "refused", "unknown", "unavailable", "ended", "failed"}

// call measures one method of a store. It looks up its metric once for each outcome, because a
// look-up costs as much as reading a row from the cache.
type call struct {
	vec      *prometheus.HistogramVec
	tracing  *Tracing // nil if no spans are created
	method   string
	outcomes [callOutcomes]atomic.Pointer[prometheus.Observer]
}

// running is a running call.
type running struct {
	*call
	began time.Time
	span  trace.Span // nil if it is not recorded
}

// begin starts a call, and returns the context for it.
func (c *call) begin(ctx context.Context) (context.Context, running) {
	r := running{call: c, began: time.Now()}
	if c.tracing != nil {
		ctx, r.span = c.tracing.storeCall(ctx, c.method)
	}
	return ctx, r
}

// ended records the end of a call.
func (r running) ended(err error) { r.count(outcomeOf(err)) }

// decided records the end of a conditional write.
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

// Store measures the calls of a store, and creates spans for them if tracing is not nil.
func (m *Metrics) Store(next backend.Store, tracing *Tracing) backend.Store {
	s := &measuredStore{next: next, tracing: tracing}
	for _, c := range slices.Concat(s.contentCalls(), s.libraryCalls(), s.principalCalls(), s.journalCalls(),
		s.claimCalls(), s.leaseCalls(), s.textCalls(), s.draftCalls(), s.pasteCalls(), s.feedCalls()) {
		c.call.vec, c.call.method, c.call.tracing = m.calls, c.method, tracing
	}
	return s
}

// measuredStore is a store that measures its calls.
type measuredStore struct {
	next                                                                                         backend.Store
	tracing                                                                                      *Tracing
	read, readMany, membersPage, commit, applyIndex, cleanUp                                     call
	scanContents, pageLibrary, countLibrary, built, recorded, setBuilt, dropLibrary, dropEntries call
	sharedWith, roles, readPrincipal, readPrincipals, groupMembersPage, confirm                  call
	commitPrincipal, applyGroupIndex, cleanUpGroup, memberships, scanPrincipals, putInFlightList call
	inFlightLists, inFlight, deleteInFlightList, putDue, dueUntil, dropDue, putCreationIfAbsent  call
	putSettingIfAbsent, openLibrary, changes, membershipsOf                                      call
	applyDirectory, pageDirectory, scanDirectory, dropDirectory                                  call
	readDirectory, directoryFilled, setDirectoryFilled                                           call
	rebuildNote, putRebuildNote, dropRebuildNote                                                 call
	readClaim, putClaim, dropClaim, scanClaims, pageRows                                         call
	putText, readTexts, dropTexts, scanTexts                                                     call
	listDrafts, readDrafts, putDraft, dropDraft                                                  call
	readLease, commitLease, dropLease, scanLeases                                                call
	readPaste, readPastes, commitPaste, dropPaste, scanPastes                                    call
	putBody, readBodies, listBodies, dropBodies                                                  call
	recordBucket, listBuckets, putEntry, dropEntry, listEntries                                  call
}

var _ backend.Store = (*measuredStore)(nil)

// namedCall is a call with the name of its method in the metrics.
type namedCall struct {
	call   *call
	method string
}

func (s *measuredStore) contentCalls() []namedCall {
	return []namedCall{
		{&s.read, "Read"},
		{&s.readMany, "ReadMany"},
		{&s.membersPage, "MembersPage"},
		{&s.pageRows, "PageRows"},
		{&s.commit, "Commit"},
		{&s.applyIndex, "ApplyIndex"},
		{&s.cleanUp, "CleanUp"},
		{&s.scanContents, "ScanContents"},
	}
}

func (s *measuredStore) libraryCalls() []namedCall {
	return []namedCall{
		{&s.pageLibrary, "PageLibrary"},
		{&s.openLibrary, "OpenLibrary"},
		{&s.countLibrary, "CountLibrary"},
		{&s.built, "Built"},
		{&s.recorded, "Recorded"},
		{&s.setBuilt, "SetBuilt"},
		{&s.rebuildNote, "RebuildNote"},
		{&s.putRebuildNote, "PutRebuildNote"},
		{&s.dropRebuildNote, "DropRebuildNote"},
		{&s.dropLibrary, "DropLibrary"},
		{&s.dropEntries, "DropEntries"},
		{&s.changes, "Changes"},
		{&s.sharedWith, "SharedWith"},
		{&s.roles, "Roles"},
	}
}

func (s *measuredStore) principalCalls() []namedCall {
	return []namedCall{
		{&s.readPrincipal, "ReadPrincipal"},
		{&s.readPrincipals, "ReadPrincipals"},
		{&s.groupMembersPage, "GroupMembersPage"},
		{&s.confirm, "Confirm"},
		{&s.commitPrincipal, "CommitPrincipal"},
		{&s.applyGroupIndex, "ApplyGroupIndex"},
		{&s.cleanUpGroup, "CleanUpGroup"},
		{&s.memberships, "Memberships"},
		{&s.membershipsOf, "MembershipsOf"},
		{&s.scanPrincipals, "ScanPrincipals"},
		{&s.applyDirectory, "ApplyDirectory"},
		{&s.pageDirectory, "PageDirectory"},
		{&s.readDirectory, "ReadDirectory"},
		{&s.scanDirectory, "ScanDirectory"},
		{&s.dropDirectory, "DropDirectory"},
		{&s.directoryFilled, "DirectoryFilled"},
		{&s.setDirectoryFilled, "SetDirectoryFilled"},
	}
}

func (s *measuredStore) journalCalls() []namedCall {
	return []namedCall{
		{&s.putInFlightList, "PutInFlightList"},
		{&s.inFlightLists, "InFlightLists"},
		{&s.inFlight, "InFlight"},
		{&s.deleteInFlightList, "DeleteInFlightList"},
		{&s.putDue, "PutDue"},
		{&s.dueUntil, "DueUntil"},
		{&s.dropDue, "DropDue"},
		{&s.putCreationIfAbsent, "PutCreationIfAbsent"},
		{&s.putSettingIfAbsent, "PutSettingIfAbsent"},
	}
}

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

func (s *measuredStore) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	ctx, call := s.applyIndex.begin(ctx)
	err := s.next.ApplyIndex(ctx, e)
	call.ended(err)
	return err
}

// ApplyIndexBatch implements library.ContentStore. It does not call the store's cluster.
func (s *measuredStore) ApplyIndexBatch() int { return s.next.ApplyIndexBatch() }

func (s *measuredStore) CleanUp(ctx context.Context, t *library.Cleanup) error {
	ctx, call := s.cleanUp.begin(ctx)
	err := s.next.CleanUp(ctx, t)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanContents(ctx context.Context, after library.ContentID, limit int) ([]library.ContentID, error) {
	ctx, call := s.scanContents.begin(ctx)
	v, err := s.next.ScanContents(ctx, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	ctx, call := s.putInFlightList.begin(ctx)
	err := s.next.PutInFlightList(ctx, l)
	call.ended(err)
	return err
}

func (s *measuredStore) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	ctx, call := s.inFlightLists.begin(ctx)
	v, err := s.next.InFlightLists(ctx)
	call.ended(err)
	return v, err
}

func (s *measuredStore) InFlight(ctx context.Context) ([]commit.InFlightList, bool, error) {
	ctx, call := s.inFlight.begin(ctx)
	v, linger, err := s.next.InFlight(ctx)
	call.ended(err)
	return v, linger, err
}

func (s *measuredStore) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	ctx, call := s.deleteInFlightList.begin(ctx)
	err := s.next.DeleteInFlightList(ctx, id, stamp)
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

func (s *measuredStore) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	ctx, call := s.putCreationIfAbsent.begin(ctx)
	v, err := s.next.PutCreationIfAbsent(ctx, c, replace)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	ctx, call := s.putSettingIfAbsent.begin(ctx)
	v, err := s.next.PutSettingIfAbsent(ctx, name, value)
	call.ended(err)
	return v, err
}
