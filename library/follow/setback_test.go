package follow_test

import (
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestFollow_ResumesAfterTheClockIsSetBack: a gateway whose clock was an hour ahead dates its
// changes by the corrected clock at once, so that followers can resume from the events.
func TestFollow_ResumesAfterTheClockIsSetBack(t *testing.T) {
	g := domaintest.NewGateways(t)
	h, wall := g.Open(0, true)
	wall.Set(g.Start.Add(time.Hour))
	h.User("u:acme:ann", principal.Public)
	h.Note("ahead", principal.Private)
	h.Quiet()
	wall.Set(g.Start)
	f := h.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	first := h.Note("first", principal.Private)
	f.Want("+first")
	f.Close()
	h.Note("second", principal.Private)
	h.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", f.LastCursor).Want("+first", "+second")

	rows, err := h.Store.Contents.Read(t.Context(), first, library.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if at := rows.Header.MTS; at > clock.Of(g.Start).Add(time.Second) {
		t.Errorf("an item made after the correction is dated %s", at)
	}
	// The earlier item is changed after its creation.
	before, err := h.Store.Contents.Read(t.Context(), "c:acme:ahead", library.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	title := "changed"
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: "c:acme:ahead", Title: input.Some(&title)}); err != nil {
		t.Fatal(err)
	}
	after, err := h.Store.Contents.Read(t.Context(), "c:acme:ahead", library.ContentQuery{})
	if err != nil || after.Header.MTS <= before.Header.MTS {
		t.Errorf("from %s it went to %s, %v", before.Header.MTS, after.Header.MTS, err)
	}
}

// TestFollow_FindsChangesOfOthersAfterTheClockIsSetBack: a gateway finds the changes of others
// after its own clock, which was an hour ahead, is corrected.
func TestFollow_FindsChangesOfOthersAfterTheClockIsSetBack(t *testing.T) {
	g := domaintest.NewGateways(t)
	here, clock := g.Open(0, false)
	other, its := g.Open(0, true) // it announces nothing
	here.User("u:acme:ann", principal.Public)
	clock.Set(g.Start.Add(time.Hour))
	f := here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	clock.Set(g.Start)
	its.Set(g.Start)
	other.Note("late", principal.Private)
	// A minute passes several times, by both clocks. After each the gateway makes a full look.
	for n := range 5 {
		for range 4 {
			waitForPause(clock, t)
		}
		clock.Later.Add(int64(61 * time.Second))
		clock.Set(g.Start.Add(time.Duration(n+1) * 61 * time.Second))
	}
	f.Want("+late")
}

// TestAnnouncements_EndAfterTheClockIsSetBack: an announcement is removed after its time
// although the clock is set back.
func TestAnnouncements_EndAfterTheClockIsSetBack(t *testing.T) {
	g := domaintest.NewGateways(t)
	h, clock := g.Open(0, false)
	clock.Set(g.Start.Add(time.Hour))
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	h.Note("first", principal.Private, "u:acme:ben=VIEWER")
	h.Quiet()
	announced := func() (ps []principal.ID) {
		as, err := g.Store.Announcements(t.Context())
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
			waitForPause(clock, t)
		}
		t.Fatalf("the announcements name %v, want %d principals", announced(), n)
	}
	awaits(2)
	clock.Set(g.Start)
	clock.Later.Add(int64(time.Minute))
	h.Note("second", principal.Private)
	h.Quiet()
	awaits(1)
}

// waitForPause waits a moment for another task.
func waitForPause(d *domaintest.GatewayClock, t *testing.T) {
	t.Helper()
	if err := d.After(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
}
