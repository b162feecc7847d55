package nemesis

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// lapsed is how far the clock of the process that takes over names is ahead. By that clock, every
// claim and every lease of these tests except long ones has lapsed. Nobody waits longer than that
// for a name.
const lapsed = 35 * time.Second

// firstURL and secondURL are the URLs that the item of an encounter has or takes.
func firstURL(id string) string  { return "https://acme.example/" + id + "/first" }
func secondURL(id string) string { return "https://acme.example/" + id + "/second" }

// longText is too long to be stored in the row of its revision.
var longText = strings.Repeat("a long text\n", 500)

var (
	named = subject{table: "content", prefix: "c:acme:", make: createNamed, look: (*fixture).lookAtNamed,
		before: seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(owner)},
			Names: []string{"first"}, Texts: []string{"0 before current working"}}}
	takesOrphaned = subject{table: "content", prefix: "c:acme:", prepare: leaveOrphanedClaim, make: createNamed,
		look: (*fixture).lookAtNamed, before: named.before}
	takesUnused = subject{table: "content", prefix: "c:acme:", prepare: leaveUnusedClaim, make: createNamed,
		look: (*fixture).lookAtNamed, before: named.before}
)

// urlOperations take URLs: free ones, one claimed by a creation that never happened, and
// one whose claim belongs to an item that has another URL by now.
var urlOperations = []operation{
	{name: "create with a url", of: &named, steps: []step{stepClaim, stepText, stepDecide}, do: createNamed, creates: true,
		urls: func(id string) []string { return []string{firstURL(id)} }},
	{name: "move", of: &named, steps: []step{stepRead, stepFormer, stepClaim, stepDecide, stepRelease}, do: moveToSecond,
		changes: movedToSecond, urls: bothURLs},
	{name: "create with a url of an unfinished creation", of: &takesOrphaned,
		steps: []step{stepClaim, stepHolder, stepFence, stepTakeOver, stepDecide}, do: createNamed,
		creates: true, fence: 1, urls: func(id string) []string { return []string{firstURL(id)} }},
	{name: "move to a url that was given up", of: &takesUnused, steps: []step{stepHolder, stepFence, stepTakeOver, stepDecide},
		do:      moveToSecond,
		changes: movedToSecond, fence: 1, urls: bothURLs},
}

func bothURLs(id string) []string { return []string{firstURL(id), secondURL(id)} }

func movedToSecond(s *seen) { s.Names = []string{"second"} }

func createNamed(ctx context.Context, s *services, id string, key *string) error {
	return createAt(ctx, s, id, firstURL(id), key)
}

// createAt creates an item with a URL and a text.
func createAt(ctx context.Context, s *services, id, url string, key *string) error {
	name := library.ContentID(id).Name()
	_, err := s.Library.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note, Title: "before",
		Visibility: principal.Public, URL: &url, Body: &longText, IdempotencyKey: key})
	return err
}

func moveToSecond(ctx context.Context, s *services, id string, key *string) error {
	url := secondURL(id)
	_, err := s.Library.MoveContent(ctx, ownerViewer(), library.MoveContent{ID: id, URL: input.Some(&url), IdempotencyKey: key})
	return err
}

// leaveOrphanedClaim leaves a claim of the first URL, as a creation does whose process has died.
func leaveOrphanedClaim(ctx context.Context, r *fixture, id string) error {
	return r.claims.Take(ctx, claim.URL("acme", firstURL(id)), id+"-ghost", 0)
}

// leaveUnusedClaim leaves a claim of the second URL, as an item does that was moved to another URL.
func leaveUnusedClaim(ctx context.Context, r *fixture, id string) error {
	if err := create(ctx, r.healthy.service, id+"-ghost", nil); err != nil {
		return err
	}
	return r.claims.Take(ctx, claim.URL("acme", secondURL(id)), id+"-ghost", 0)
}

// lookAtNamed is look, and also returns the URLs that lead to the item, and its
// revisions.
func (r *fixture) lookAtNamed(t *testing.T, id string) seen {
	t.Helper()
	s := r.look(t, id)
	for name, url := range map[string]string{"first": firstURL(id), "second": secondURL(id)} {
		if r.itemAt(t, url) == id {
			s.Names = append(s.Names, name)
		}
	}
	slices.Sort(s.Names)
	if s.Version > 0 {
		s.Texts = r.texts(t, library.ContentID(id))
	}
	return s
}

// itemAt returns the id of the item that a URL leads to, or "".
func (r *fixture) itemAt(t *testing.T, url string) string {
	t.Helper()
	found, err := r.healthy.service.Library.ContentByURL(t.Context(), ownerViewer(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		return ""
	}
	return string(found.ID)
}

// contend lets another client take the URLs of an item whose process has died, after the claims of
// the item have lapsed. A URL that leads to the item is TAKEN, and any other is free.
// Then the interrupted operation is repeated with its key.
func (c *encounter) contend(t *testing.T, key *string, got, after seen) {
	t.Helper()
	late := c.r.aheadBy(t, lapsed)
	for i, url := range c.op.urls(c.id) {
		rival := c.rival(i)
		held := c.r.itemAt(t, url)
		err := tried(func() error { return createAt(t.Context(), late.service, rival, url, &rival) })
		switch leads := c.r.itemAt(t, url); {
		case held != "" && (fault.ReasonOf(err) != fault.ReasonTaken || leads != held):
			c.errorf("%s led to %s when another client took it (%v), and now leads to %q", url, held, err, leads)
		case held == "" && (err != nil || leads != rival):
			c.errorf("%s led to no item, but after %s another client could not take it (%v): it leads to %q", url, lapsed, err, leads)
		}
	}
	err := tried(func() error { return c.op.do(t.Context(), c.r.healthy.service, c.id, key) })
	switch now := c.op.of.look(c.r, t, c.id); {
	case !now.equal(got):
		c.errorf("got %v after another client took its URLs, want %v unchanged", now, got)
	case got.equal(after) && err != nil:
		c.errorf("the repetition of a successful operation: %v", err)
	case !got.equal(after) && fault.ReasonOf(err) != fault.ReasonTaken:
		c.errorf("another item has the URL, but the repetition answers %v", err)
	}
}

// tried repeats an operation that may be repeated while a slow machine lets statements
// time out, and returns the last answer.
func tried(do func() error) error {
	err := do()
	for n := 0; fault.CodeOf(err) == fault.Unavailable && n < slowTries; n++ {
		err = do()
	}
	return err
}

// TestFaults_AtEveryStepOfNamesAndTexts plays the operations that take URLs and leases, and those
// that write texts, with each fault at each of their steps. Afterwards no name has two owners, and
// every name without an owner is free as soon as its claims have lapsed. The scrubber removes what
// dead processes left behind, and finds nothing else.
func TestFaults_AtEveryStepOfNamesAndTexts(t *testing.T) {
	rs := newFixtures(t, 5)
	for _, r := range rs {
		r.aheadBy(t, lapsed)
	}
	playAll(t, rs, slices.Concat(urlOperations, textOperations, leaseOperations))
	eachOf(t, rs, func(t *testing.T, r *fixture) { r.clean(t) })
}

// clean runs the scrubber over everything when all claims have lapsed. It removes what
// dead processes left behind, and neither it nor the audit finds anything else.
func (r *fixture) clean(t *testing.T) {
	t.Helper()
	r.quiet(t)
	scrubber := openWithoutWork(t, r.options(r.host), scrubbedAfter, everyRule)
	defer scrubber.close(t)
	scrubber.sweep(t)
	finished, mismatches := scrubber.scrub(t)
	if mismatches > 0 {
		t.Errorf("the scrubber found %d wrong rows", mismatches)
	}
	if finished == 0 {
		t.Error("the scrubber had nothing to remove")
	}
	if again, mismatches := scrubber.scrub(t); again+mismatches > 0 {
		t.Errorf("the second run of the scrubber removed %d and found %d wrong rows", again, mismatches)
	}
	report := r.audit(t)
	if !report.Clean() || report.StaleClaims > 0 || report.Leases == 0 || report.Revisions == 0 {
		t.Errorf("the audit found %+v", report)
	}
	// Each text of these fixtures is too long for its row.
	if texts := scrubber.countTexts(t); texts != report.Revisions {
		t.Errorf("there are %d texts of %d revisions", texts, report.Revisions)
	}
	t.Logf("the scrubber removed %d claims and texts; %d claims, %d leases and %d revisions remain", finished, report.Claims,
		report.Leases, report.Revisions)
}

// quiet waits until the in-flight lists of all processes are empty. The scrubber does not
// touch what a change in flight may need.
func (r *fixture) quiet(t *testing.T) {
	t.Helper()
	for _, d := range r.ahead {
		if err := d.journal.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, runTimeout, "the end of everything under way", func() bool {
		inFlightLists, err := commit.OpenLists(t.Context(), r.healthy.store.Journal)
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(inFlightLists, func(l commit.OpenList) bool { return len(l.Entries) > 0 })
	})
}

// scrubbedAfter is when everything that dead processes left behind is swept and scrubbed.
const scrubbedAfter = 2 * time.Hour

// sweep makes a process end all leases that have lapsed by its clock.
func (d *instance) sweep(t *testing.T) {
	t.Helper()
	until(t, runTimeout, "the end of all leases that are over", func() bool {
		if err := d.journal.ExpireDue(t.Context(), d.service.Background()); err != nil {
			t.Fatal(err)
		}
		left, err := d.store.Journal.DueReminders(t.Context(), clock.Of(time.Now().Add(scrubbedAfter)), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
}

// countTexts counts the texts that are stored.
func (d *instance) countTexts(t *testing.T) (n int) {
	t.Helper()
	var after note.TextID
	for {
		texts, err := d.store.Texts.ScanTexts(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if n += len(texts); len(texts) < 1000 {
			return n
		}
		after = texts[len(texts)-1].ID
	}
}

// scrub makes a process read everything once.
func (d *instance) scrub(t *testing.T) (finished, mismatches int) {
	t.Helper()
	finished, mismatches, err := d.service.Repair.ScrubAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return finished, mismatches
}
