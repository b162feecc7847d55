package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/input"
	"carrel/paste"
	"carrel/principal"
)

// The pastes of an encounter: a public one and a private one. Their ids and secrets are
// random, so an operation on an existing paste receives both, in one text.
var (
	publicPastes = subject{table: "paste", prefix: "paste of ", look: (*fixture).lookAtPaste,
		before: seen{Version: 1, Title: "before", Visibility: principal.Public, Names: []string{"listed"}, Texts: []string{"long"}}}
	privatePastes = subject{table: "paste", prefix: "private paste of ", look: (*fixture).lookAtPaste,
		before: seen{Version: 1, Title: "before", Visibility: principal.Private, Texts: []string{"long"}}}
)

// pasteOperations create, change, hide, show and delete pastes, and make them expire.
var pasteOperations = []operation{
	{name: "create a paste", of: &publicPastes, steps: []step{stepReserve, stepRead, stepDue, stepDay, stepText, stepList,
		stepDecide, stepFeed},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			_, err := createPaste(ctx, s, id, false, key)
			return err
		}, creates: true},
	{name: "change a paste", of: &publicPastes, steps: []step{stepRead, stepDue, stepDecide}, play: (*encounter).changePaste,
		do: update(func(in *paste.Update) {
			in.Title, in.Body = input.Some(&afterwards), input.Some(&afterwards)
		}), changes: func(s *seen) { s.Version, s.Title, s.Texts = 2, afterwards, []string{"short"} }},
	{name: "hide a paste", of: &publicPastes, steps: []step{stepRead, stepList, stepDecide, stepFeed}, play: (*encounter).changePaste,
		do: update(func(in *paste.Update) {
			hide := true
			in.IsPrivate = input.Some(&hide)
		}), changes: func(s *seen) { s.Version, s.Visibility, s.Names = 2, principal.Private, nil }},
	{name: "show a paste", of: &privatePastes, steps: []step{stepList, stepDecide, stepFeed}, play: (*encounter).changePaste,
		do: update(func(in *paste.Update) {
			hide := false
			in.IsPrivate = input.Some(&hide)
		}), changes: func(s *seen) { s.Version, s.Visibility, s.Names = 2, principal.Public, []string{"listed"} }},
	{name: "have a paste expire some day", of: &publicPastes, steps: []step{stepDue, stepList, stepDecide, stepFeed},
		play: (*encounter).changePaste,
		do: update(func(in *paste.Update) {
			at := clock.Of(farAhead)
			in.ExpiresAt = input.Some(&at)
		}), changes: func(s *seen) { s.Version, s.Expires = 2, true }},
	{name: "delete a paste", of: &publicPastes, steps: []step{stepRead, stepDue, stepList, stepDecide, stepCleanUp, stepFeed},
		play: (*encounter).changePaste,
		do:   deletePaste, changes: func(s *seen) { *s = seen{} }},
	{name: "a paste expires", of: &publicPastes, steps: []step{stepRead, stepDue, stepList, stepDecide, stepCleanUp, stepFeed},
		play: (*encounter).expirePaste},
}

// afterwards is the title and the text of a changed paste.
var afterwards = "after"

// createPaste creates a paste under a title.
func createPaste(ctx context.Context, s *services, title string, private bool, key *string) (*paste.Created, error) {
	return s.pastes.Create(ctx, ownerViewer(), paste.Create{Title: &title, Body: longText, IsPrivate: private, IdempotencyKey: key})
}

// idAndSecret joins the id and the secret of the paste that an operation changes.
func idAndSecret(p *paste.Created) string { return string(p.Paste.ID) + " " + p.Secret }

// update returns the operation that makes a change. A repetition of it changes nothing.
func update(change func(in *paste.Update)) func(ctx context.Context, s *services, id string, key *string) error {
	return func(ctx context.Context, s *services, id string, _ *string) error {
		var in paste.Update
		in.ID, in.Secret, _ = strings.Cut(id, " ")
		change(&in)
		_, err := s.pastes.Update(ctx, in)
		return err
	}
}

// deletePaste deletes a paste, or finds that it is deleted.
func deletePaste(ctx context.Context, s *services, id string, _ *string) error {
	var in paste.Delete
	in.ID, in.Secret, _ = strings.Cut(id, " ")
	_, err := s.pastes.Delete(ctx, in)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// changePaste plays an encounter on a paste that exists.
func (c *encounter) changePaste(t *testing.T) {
	c.makePaste(t)
	c.meetFault(t)
}

// makePaste creates the paste of an encounter.
func (c *encounter) makePaste(t *testing.T) {
	t.Helper()
	var made *paste.Created
	withRetries(t, func() (err error) {
		made, err = createPaste(t.Context(), c.r.healthy.service, "before", c.op.of == &privatePastes, nil)
		return err
	})
	c.id = idAndSecret(made)
}

// latePastes are requests of operations that change a paste. Meanwhile others hide, show
// or delete it.
func latePastes() []tooLate {
	op := func(name string) operation {
		return pasteOperations[slices.IndexFunc(pasteOperations, func(op operation) bool { return op.name == name })]
	}
	does := func(name string) func(c *encounter, t *testing.T) {
		return func(c *encounter, t *testing.T) {
			if err := tried(func() error { return op(name).do(t.Context(), c.r.healthy.service, c.id, nil) }); err != nil {
				c.errorf("%s meanwhile: %v", name, err)
			}
		}
	}
	is := func(want seen) func(c *encounter, t *testing.T) {
		return func(c *encounter, t *testing.T) {
			if got := c.op.of.look(c.r, t, c.id); !got.equal(want) {
				c.errorf("got %v, want %v", got, want)
			}
		}
	}
	_, shown := wanted(op("show a paste"))
	hidden := privatePastes.before
	hidden.Version = 3
	return []tooLate{
		{op: op("change a paste"), step: stepDecide, meanwhile: does("delete a paste"), check: is(seen{})},
		{op: op("show a paste"), step: stepDecide, meanwhile: does("delete a paste"), check: is(seen{})},
		{op: op("show a paste"), step: stepFeed, meanwhile: does("delete a paste"), check: is(seen{})},
		{op: op("show a paste"), step: stepFeed, meanwhile: does("hide a paste"), check: is(hidden)},
		{op: op("hide a paste"), step: stepDecide, meanwhile: does("delete a paste"), check: is(seen{})},
		{op: op("delete a paste"), step: stepFeed, meanwhile: does("delete a paste"), check: is(seen{})},
		{op: op("show a paste"), step: stepDecide, meanwhile: does("show a paste"), check: is(shown)},
	}
}

// untilExpiry is the lifetime of the pastes that expire here. The clock of the reader is
// ahead by as much.
const untilExpiry = time.Hour

// expirePaste makes a paste expire by the clock of a reader. If that reader fails to
// delete it, the next one succeeds.
func (c *encounter) expirePaste(t *testing.T) {
	var made *paste.Created
	title, at := "before", clock.Of(time.Now().Add(untilExpiry))
	withRetries(t, func() (err error) {
		made, err = c.r.healthy.service.pastes.Create(t.Context(), ownerViewer(), paste.Create{Title: &title, Body: longText, ExpiresAt: &at})
		return err
	})
	due := commit.Reminder{At: at, Kind: commit.Paste, Key: string(made.Paste.ID), MTS: made.Paste.MTS}
	p, d := c.meet(t, 2*untilExpiry)
	_, err := d.service.Background().Expire(t.Context(), due)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	if err != nil && fault.CodeOf(err) != fault.Unavailable && !c.mayRefuse() {
		c.errorf("the answer: %v", err)
	}
	if got := c.op.of.look(c.r, t, idAndSecret(made)); err == nil && !got.equal(seen{}) {
		c.errorf("the paste has expired, but got %v", got)
	}
	err = tried(func() error {
		_, err := c.r.aheadBy(t, 2*untilExpiry).service.Background().Expire(t.Context(), due)
		return err
	})
	if got := c.op.of.look(c.r, t, idAndSecret(made)); err != nil || !got.equal(seen{}) {
		c.errorf("the next reader is answered %v, and the state is %v", err, got)
	}
}

// lookAtPaste reads a paste by its title, or the one that idAndSecret names, and whether
// it is listed. Only public pastes are in the feed, even in entries that readers are not
// shown.
func (r *fixture) lookAtPaste(t *testing.T, id string) seen {
	t.Helper()
	var found *paste.Paste
	if name, _, is := strings.Cut(id, " "); strings.HasPrefix(name, "p:") && is {
		id = name
		p, err := r.healthy.service.pastes.Paste(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		found = p
	} else {
		titled := r.pastesTitled(t, id)
		if len(titled) > 1 {
			return seen{Title: fmt.Sprintf("one of %d pastes", len(titled))}
		}
		if len(titled) == 1 {
			found = titled[0]
		}
	}
	if found == nil {
		return seen{Names: r.listed(t, id)}
	}
	bodies, err := r.healthy.service.pastes.Bodies(t.Context(), []*paste.Paste{found})
	if err != nil {
		t.Fatal(err)
	}
	s := seen{Version: found.Version, Title: "before", Visibility: principal.Public, Expires: found.ExpiresAt != nil,
		Names: r.listed(t, string(found.ID)), Texts: []string{"lost"}}
	if found.IsPrivate {
		s.Visibility = principal.Private
	}
	if *found.Title == afterwards {
		s.Title = afterwards
	}
	switch {
	case bodies[0] == nil:
	case *bodies[0] == longText:
		s.Texts = []string{"long"}
	case *bodies[0] == afterwards:
		s.Texts = []string{"short"}
	}
	return s
}

// pastesTitled returns the public pastes with a title. It reads the list from its oldest paste on, because the newest
// pastes of other gateways may be missing on a newest page.
func (r *fixture) pastesTitled(t *testing.T, title string) (titled []*paste.Paste) {
	t.Helper()
	size := cursor.MaxPageSize
	args := cursor.PageArgs{Last: &size}
	for {
		page, err := r.healthy.service.pastes.Latest(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Nodes() {
			if p.Title != nil && *p.Title == title {
				titled = append(titled, p)
			}
		}
		if !page.PageInfo.HasPreviousPage {
			return titled
		}
		args.Before = page.PageInfo.StartCursor()
	}
}

// listed looks for the entry of a paste in every partition of the feed.
func (r *fixture) listed(t *testing.T, id string) (names []string) {
	t.Helper()
	days, err := r.healthy.store.Feeds.ListBuckets(t.Context(), "pastes")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		for shard := range d.Shards {
			es, err := r.healthy.store.Feeds.ListEntries(t.Context(), feed.Partition{Feed: "pastes", Day: d.Day, Shard: shard},
				feed.Slice{Limit: mostPastes})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(es, func(e feed.Entry) bool { return e.ID == id }) {
				names = append(names, "listed")
			}
		}
	}
	return names
}

// mostPastes exceeds the number of pastes that these tests list.
const mostPastes = 5000

// TestFaults_AtEveryStepOfPastes plays operations on pastes with each fault at each of their steps.
// Afterwards the feed lists exactly what the rows say.
func TestFaults_AtEveryStepOfPastes(t *testing.T) {
	rs := newFixtures(t, 2)
	for _, r := range rs {
		r.aheadBy(t, 2*untilExpiry)
	}
	playAll(t, rs, pasteOperations)
	eachOf(t, rs, func(t *testing.T, r *fixture) {
		r.quiet(t)
		if report := r.audit(t); !report.Clean() || report.Pastes == 0 {
			t.Errorf("the audit found %+v", report)
		}
	})
}
