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
	"carrel/library/repair"
	"carrel/page"
	"carrel/principal"
)

// lapsed is how far the clock of a late process is ahead: every claim and every lease of
// these tests has lapsed by it. Nobody waits longer than that for a name.
const lapsed = 35 * time.Second

// firstURL and secondURL are the URLs that the item of an encounter has or wants.
func firstURL(id string) string  { return "https://acme.example/" + id + "/first" }
func secondURL(id string) string { return "https://acme.example/" + id + "/second" }

// longText is too long to be stored in the row of its revision.
var longText = strings.Repeat("a long text\n", 500)

var (
	named = subject{table: "content", prefix: "c:acme:", make: createNamed, look: (*room).lookAtNamed,
		before: seen{Version: 1, Title: "before", Width: principal.Public, Members: []string{string(owner)},
			Names: []string{"first"}, Texts: []string{"0 before current working"}}}
	wantsLeft = subject{table: "content", prefix: "c:acme:", prepare: leaveClaim, make: createNamed, look: (*room).lookAtNamed, before: named.before}
	wantsIdle = subject{table: "content", prefix: "c:acme:", prepare: idleClaim, make: createNamed, look: (*room).lookAtNamed, before: named.before}
)

// urlOperations take URLs: free ones, one whose claim was left by a creation that never
// came to be, and one whose claim is of an item that has another URL by now.
var urlOperations = []operation{
	{name: "create with a url", of: &named, steps: []step{stepClaim, stepText, stepDecide}, do: createNamed, creates: true,
		urls: func(id string) []string { return []string{firstURL(id)} }},
	{name: "move", of: &named, steps: []step{stepRead, stepFormer, stepClaim, stepDecide, stepRelease}, do: moveToSecond, changes: movedToSecond, urls: bothURLs},
	{name: "create with a url that is left", of: &wantsLeft, steps: []step{stepClaim, stepJudge, stepFence, stepTakeOver, stepDecide}, do: createNamed,
		creates: true, fence: 1, urls: func(id string) []string { return []string{firstURL(id)} }},
	{name: "move to a url that is left", of: &wantsIdle, steps: []step{stepJudge, stepFence, stepTakeOver, stepDecide}, do: moveToSecond,
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
	_, err := s.CreateContent(ctx, ownerViewer(), library.CreateContent{Name: &name, Kind: library.Note, Title: "before",
		Visibility: principal.Public, URL: &url, Body: &longText, IdempotencyKey: key})
	return err
}

func moveToSecond(ctx context.Context, s *services, id string, key *string) error {
	url := secondURL(id)
	_, err := s.MoveContent(ctx, ownerViewer(), library.MoveContent{ID: id, URL: input.Some(&url), IdempotencyKey: key})
	return err
}

// leaveClaim makes the claim of the first URL as a creation leaves it that has died.
func leaveClaim(ctx context.Context, r *room, id string) error {
	return r.claims.Take(ctx, claim.URL("acme", firstURL(id)), id+"-ghost", 0)
}

// idleClaim makes the claim of the second URL as an item leaves it that has been moved away.
func idleClaim(ctx context.Context, r *room, id string) error {
	if err := create(ctx, r.whole.service, id+"-ghost", nil); err != nil {
		return err
	}
	return r.claims.Take(ctx, claim.URL("acme", secondURL(id)), id+"-ghost", 0)
}

// lookAtNamed is look, with the URLs that lead to the item, and with its revisions.
func (r *room) lookAtNamed(t *testing.T, id string) seen {
	t.Helper()
	s := r.look(t, id)
	for name, url := range map[string]string{"first": firstURL(id), "second": secondURL(id)} {
		if r.named(t, url) == id {
			s.Names = append(s.Names, name)
		}
	}
	slices.Sort(s.Names)
	if s.Version > 0 {
		s.Texts = r.texts(t, library.ContentID(id))
	}
	return s
}

// named returns the id of the item that a URL leads to; empty: none.
func (r *room) named(t *testing.T, url string) string {
	t.Helper()
	found, err := r.whole.service.ContentByURL(t.Context(), ownerViewer(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		return ""
	}
	return string(found.ID)
}

// contend has somebody else want the URLs of an item whose process has died, when every
// claim of that has lapsed. A URL that leads to the item is TAKEN, and any other is free.
// Then the dead operation is repeated with its key.
func (c *encounter) contend(t *testing.T, key *string, got, after seen) {
	t.Helper()
	late := c.r.late(t, lapsed)
	for i, url := range c.op.urls(c.id) {
		rival := c.rival(i)
		held := c.r.named(t, url)
		err := tried(func() error { return createAt(t.Context(), late.service, rival, url, &rival) })
		switch leads := c.r.named(t, url); {
		case held != "" && (fault.ReasonOf(err) != fault.ReasonTaken || leads != held):
			c.errorf("%s led to %s when another one asked for it (%v), and leads to %q", url, held, err, leads)
		case held == "" && (err != nil || leads != rival):
			c.errorf("%s leads to nobody, and after %s another one cannot have it (%v): it leads to %q", url, lapsed, err, leads)
		}
	}
	err := tried(func() error { return c.op.do(t.Context(), c.r.whole.service, c.id, key) })
	switch now := c.op.of.look(c.r, t, c.id); {
	case !now.equal(got):
		c.errorf("there was %v, and after another one wanted its URLs there is %v", got, now)
	case got.equal(after) && err != nil:
		c.errorf("the repetition of what had happened: %v", err)
	case !got.equal(after) && fault.ReasonOf(err) != fault.ReasonTaken:
		c.errorf("another one has the URL, and the repetition answers %v", err)
	}
}

// tried does what may be done again while a slow machine lets statements time out, and
// returns what is answered at last.
func tried(do func() error) error {
	err := do()
	for n := 0; fault.CodeOf(err) == fault.Unavailable && n < slowTries; n++ {
		err = do()
	}
	return err
}

// TestEveryStepOfNamesAndTextsMeetsEveryFault plays what takes URLs and leases and what
// writes texts with each fault at each of its steps. Afterwards no name has two owners,
// and every one that has none is free to others as soon as claims have lapsed. The
// scrubber removes what is left of the dead, and finds nothing else.
func TestEveryStepOfNamesAndTextsMeetsEveryFault(t *testing.T) {
	r := newRoom(t)
	defer r.close(t)
	r.late(t, lapsed)
	r.playAll(t, slices.Concat(urlOperations, textOperations, leaseOperations))
	r.clean(t)
}

// clean has a scrubber see everything when it has lapsed: it removes what the dead have
// left, and finds nothing else to be wrong. So does the audit.
func (r *room) clean(t *testing.T) {
	t.Helper()
	r.quiet(t)
	scrubber := openStill(t, r.options(r.host), scrubbedAfter, everyRule)
	defer scrubber.close(t)
	scrubber.sweep(t)
	settled, mismatches := scrubber.scrub(t)
	if mismatches > 0 {
		t.Errorf("the scrubber has found %d rows to be wrong", mismatches)
	}
	if settled == 0 {
		t.Error("the dead have left nothing to the scrubber")
	}
	if again, mismatches := scrubber.scrub(t); again+mismatches > 0 {
		t.Errorf("the scrubber removes %d, and finds %d rows to be wrong, after it has seen everything", again, mismatches)
	}
	report := r.audit(t)
	if !report.Clean() || report.StaleClaims > 0 || report.Leases == 0 || report.Revisions == 0 {
		t.Errorf("the audit found %+v", report)
	}
	// Each text of these rooms is too long for its row.
	if texts := scrubber.countTexts(t); texts != report.Revisions {
		t.Errorf("there are %d texts of %d revisions", texts, report.Revisions)
	}
	t.Logf("the scrubber has removed %d claims and texts; %d claims, %d leases and %d revisions stay", settled, report.Claims, report.Leases, report.Revisions)
}

// quiet waits until nothing is on the list of any process. The scrubber leaves alone what
// a change in flight may need.
func (r *room) quiet(t *testing.T) {
	t.Helper()
	for _, d := range r.ahead {
		if err := d.journal.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, runWithin, "the end of everything under way", func() bool {
		inFlightLists, err := commit.OpenLists(t.Context(), r.whole.store)
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(inFlightLists, func(l commit.OpenList) bool { return len(l.Entries) > 0 })
	})
}

// scrubbedAfter is when everything is swept and scrubbed that the dead have left.
const scrubbedAfter = 2 * time.Hour

// sweep has a process end all leases that have lapsed by its clock.
func (d *door) sweep(t *testing.T) {
	t.Helper()
	until(t, runWithin, "the end of all leases that are over", func() bool {
		if err := d.journal.ExpireDue(t.Context(), d.service); err != nil {
			t.Fatal(err)
		}
		left, err := d.store.DueUntil(t.Context(), clock.Of(time.Now().Add(scrubbedAfter)), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
}

// countTexts counts the texts that are stored.
func (d *door) countTexts(t *testing.T) (n int) {
	t.Helper()
	var after page.TextID
	for {
		texts, err := d.store.ScanTexts(t.Context(), after, scrubLimit)
		if err != nil {
			t.Fatal(err)
		}
		if n += len(texts); len(texts) < scrubLimit {
			return n
		}
		after = texts[len(texts)-1].ID
	}
}

// scrubLimit is how much a step of the scrubber looks at here.
const scrubLimit = 1000

// scrub has a process look at all claims, leases and texts once. What belongs to items the
// audit looks at.
func (d *door) scrub(t *testing.T) (settled, mismatches int) {
	t.Helper()
	place := repair.ScrubPosition{Claims: true}
	for {
		report, err := d.service.ScrubFrom(t.Context(), place, scrubLimit)
		if err != nil {
			t.Fatal(err)
		}
		settled, mismatches = settled+report.Settled, mismatches+report.Mismatches
		if place = report.Next; place == (repair.ScrubPosition{}) {
			return settled, mismatches
		}
	}
}
