package library_test

import (
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// A gateway whose clock ran an hour ahead dates what it changes by the corrected
// clock at once: whoever follows can resume from the events.
func TestFollow_ResumesAfterTheClockIsSetBack(t *testing.T) {
	g := newGateways(t)
	h, wall := g.open(0, true)
	wall.put(g.start.Add(time.Hour))
	h.user("u:acme:ann", principal.Public)
	h.note("ahead", principal.Private)
	h.quiet()
	wall.put(g.start)
	f := h.follows(as("u:acme:ann"), "u:acme:ann", "")
	first := h.note("first", principal.Private)
	f.wants("+first")
	f.Close()
	h.note("second", principal.Private)
	h.follows(as("u:acme:ann"), "u:acme:ann", f.cursor).wants("+first", "+second")

	rows, err := h.store.Read(t.Context(), first, library.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if at := rows.Header.MTS; at > clock.Of(g.start).Add(time.Second) {
		t.Errorf("an item made after the correction is dated %s", at)
	}
	// The item of before is changed later than it was made.
	before, err := h.store.Read(t.Context(), "c:acme:ahead", library.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	title := "changed"
	if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: "c:acme:ahead", Title: input.Some(&title)}); err != nil {
		t.Fatal(err)
	}
	after, err := h.store.Read(t.Context(), "c:acme:ahead", library.ContentQuery{})
	if err != nil || after.Header.MTS <= before.Header.MTS {
		t.Errorf("from %s it went to %s, %v", before.Header.MTS, after.Header.MTS, err)
	}
}

// A gateway that looks for the changes of others finds them after its own clock,
// which ran an hour ahead, is corrected.
func TestFollow_FindsChangesOfOthersAfterTheClockIsSetBack(t *testing.T) {
	g := newGateways(t)
	here, clock := g.open(0, false)
	other, its := g.open(0, true) // it announces nothing
	here.user("u:acme:ann", principal.Public)
	clock.put(g.start.Add(time.Hour))
	f := here.follows(as("u:acme:ann"), "u:acme:ann", "")
	clock.put(g.start)
	its.put(g.start)
	other.note("late", principal.Private)
	// A minute passes again and again, by both clocks: after each it looks.
	for n := range 5 {
		for range 4 {
			clock.pause(t)
		}
		clock.later.Add(int64(61 * time.Second))
		clock.put(g.start.Add(time.Duration(n+1) * 61 * time.Second))
	}
	f.wants("+late")
}

// What is announced is forgotten after its time although the clock is set back.
func TestAnnouncements_EndAfterTheClockIsSetBack(t *testing.T) {
	g := newGateways(t)
	h, clock := g.open(0, false)
	clock.put(g.start.Add(time.Hour))
	h.user("u:acme:ann", principal.Public)
	h.user("u:acme:ben", principal.Public)
	h.note("first", principal.Private, "u:acme:ben=VIEWER")
	h.quiet()
	announced := func() (ps []principal.ID) {
		as, err := g.store.Announcements(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range as {
			for _, touch := range a.Touched {
				ps = append(ps, touch.Principal)
			}
		}
		return ps
	}
	awaits := func(n int) {
		t.Helper()
		for range 2000 {
			if len(announced()) == n {
				return
			}
			clock.pause(t)
		}
		t.Fatalf("announced are %v, want %d", announced(), n)
	}
	awaits(2)
	clock.put(g.start)
	clock.later.Add(int64(time.Minute))
	h.note("second", principal.Private)
	h.quiet()
	awaits(1)
}

// pause waits a moment for another task.
func (d *dial) pause(t *testing.T) {
	t.Helper()
	if err := d.After(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
}
