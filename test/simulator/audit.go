package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The kinds of violations. An ablation must lead to one of those in promised (ablations_test.go).
const (
	wrongLibrary  = "wrong library"   // the derived rows are not what the headers justify
	leftOver      = "left over"       // a leaving row, an unsettled position, an entry in flight
	lostChange    = "lost change"     // an answer that is not true
	wrongPage     = "wrong page"      // a reader saw what it must not, or something twice
	wrongFollower = "wrong follower"  // a subscriber got an event that it must not get, or missed one
	falseAnswer   = "false answer"    // COMPLETE was answered when it was not
	brokenHeader  = "broken header"   // the chain of states is not what operations explain
	noReminder    = "no reminder"     // an item that expires, and no reminder of it
	noEnd         = "no end"          // changes under way are never finished
	defect        = "defect"          // a panic
	disagreement  = "audit disagrees" // the product's own audit says otherwise
	lostKey       = "lost key"        // a key was taken from its holder, or is held without one
	wrongLease    = "wrong lease"     // an answer about a lease that is not true
	wrongText     = "wrong text"      // a text, or an answer about one, that is not what was saved
	wrongPaste    = "wrong paste"     // a paste, or an answer about one, that is not what was stored
	wrongFeed     = "wrong feed"      // the feed has a paste that its row does not justify, or lacks one
)

// Violation is a wrong result of a schedule.
type Violation struct {
	Seed uint64
	Kind string
	What string
}

func (v *Violation) Error() string { return fmt.Sprintf("seed %d: %s: %s", v.Seed, v.Kind, v.What) }

// expected is an entry that a library must hold.
type expected struct {
	bucket   library.Bucket
	position clock.Instant
	title    string // its key; "" in the order of the last change
	content  library.ContentID
}

// inBucket reports whether an item belongs in a bucket, according to docs/visibility.md. The
// checks share no code with the product.
func inBucket(b library.Bucket, v principal.Visibility, itemTenant, ownerTenant string) bool {
	switch v {
	case principal.Public:
		return true
	case principal.LoggedIn:
		return b == principal.Private || b == principal.LoggedIn && itemTenant == ownerTenant
	}
	return b == principal.Private
}

// tenant returns the middle part of an id.
func tenant(id string) string { return strings.Split(id, ":")[1] }

// audit compares all derived cells with those that follow from the headers, when nothing is in
// flight any more.
func (st *Store) audit(report func(kind, format string, args ...any)) {
	for _, l := range st.inFlightLists {
		if l.isPending() {
			report(leftOver, "list %x still holds %s", l.id, entryList(l.block))
		}
	}
	for _, p := range st.contents {
		st.auditContent(p, report)
		for _, m := range p.members {
			st.library(m.Principal) // principals that have no derived row at all, too
		}
	}
	for _, p := range st.principals {
		st.auditDeleted(p, report)
		if p.header.State == commit.Live && !st.library(p.id).built.live {
			report(wrongLibrary, "%s exists, and its library is not marked complete", p.id)
		}
	}
	for _, lib := range st.libraries {
		st.auditLibrary(lib, report)
		st.auditShared(lib, report)
		st.auditGroups(lib, report)
	}
	st.auditDirectory(report)
}

func (st *Store) auditContent(p *contentPart, report func(kind, format string, args ...any)) {
	h := &p.header
	managers, members := 0, 0
	for _, m := range p.members {
		switch {
		case m.Leaving:
			report(leftOver, "%s: %s is still leaving since seq %d", p.id, m.Principal, m.Seq)
		case h.State != commit.Live:
			report(leftOver, "%s: a member row of %s, but the item is in state %d", p.id, m.Principal, h.State)
		default:
			members++
			if m.Role == library.Manages {
				managers++
			}
		}
	}
	if !h.Settled() {
		report(leftOver, "%s: unsettled %v %v", p.id, h.Unsettled, h.UnsettledTitles)
	}
	if h.State == commit.Live {
		if h.FormerTitle != "" {
			report(leftOver, "%s: is ordered by %q, its title is %q", p.id, h.FormerTitle, h.Title)
		}
		if h.Position != h.LastModified {
			report(leftOver, "%s: is at %d, last modified %d", p.id, h.Position, h.LastModified)
		}
		if h.Managers != managers || h.Members != members {
			report(brokenHeader, "%s: counts %d managers and %d members, has %d and %d", p.id, h.Managers, h.Members, managers, members)
		}
		if managers == 0 && !st.anyDeleted() {
			report(brokenHeader, "%s: no manager", p.id)
		}
		if h.ExpiresAt != nil && !st.due(commit.Reminder{At: *h.ExpiresAt, Kind: commit.Content, Key: string(p.id)}).live {
			report(noReminder, "%s expires at %d", p.id, *h.ExpiresAt)
		}
	}
	if h.State == commit.Deleted && (h.Title != "" || h.Position != 0) {
		report(leftOver, "%s: deleted, but not reduced", p.id)
	}
}

// auditLibrary compares the entries of each bucket, and their order.
func (st *Store) auditLibrary(lib *libraryPart, report func(kind, format string, args ...any)) {
	var want, got []expected
	for _, p := range st.contents {
		if p.header.State != commit.Live {
			continue
		}
		for _, m := range p.members {
			if m.Principal != lib.id || m.Leaving {
				continue
			}
			for b := principal.Private; b <= principal.Public; b++ {
				if inBucket(b, p.header.Visibility, tenant(string(p.id)), tenant(string(lib.id))) {
					want = append(want, expected{b, p.header.Position, "", p.id},
						expected{b, 0, string(collation.Of(p.header.Title)), p.id})
				}
			}
		}
	}
	slices.SortFunc(want, func(a, b expected) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.position, b.position), cmp.Compare(a.title, b.title),
			cmp.Compare(a.content, b.content))
	})
	for _, c := range lib.entries {
		if c.live {
			got = append(got, expected{c.bucket, c.entry.Position, string(c.entry.Title), c.entry.Content})
			if p := st.content(c.entry.Content); p != nil && !placedBy(&c.entry, &p.header) {
				report(wrongLibrary, "%s: the entry of %s is not at its place", lib.id, c.entry.Content)
			}
			if role := st.roleOn(c.entry.Content, lib.id); role != c.entry.Role {
				report(wrongLibrary, "%s: the entry of %s has role %v, want %v", lib.id, c.entry.Content, c.entry.Role, role)
			}
		}
	}
	if !slices.Equal(want, got) {
		report(wrongLibrary, "%s: has %v, should have %v", lib.id, got, want)
	}
}

func (st *Store) roleOn(id library.ContentID, p principal.ID) library.ContentRole {
	if c := st.content(id); c != nil && c.header.State == commit.Live {
		if i, ok := find(c.members, p, byMember); ok && !c.members[i].Leaving {
			return c.members[i].Role
		}
	}
	return library.NoRole
}

func (st *Store) auditShared(lib *libraryPart, report func(kind, format string, args ...any)) {
	for _, p := range st.contents {
		want, got := st.roleOn(p.id, lib.id), library.NoRole
		for _, c := range lib.shared {
			if c.live && c.content == p.id {
				got = c.role
			}
		}
		if want != got {
			report(wrongLibrary, "content_by_principal of %s has role %v on %s, want %v", lib.id, got, p.id, want)
		}
	}
}

func (st *Store) auditGroups(lib *libraryPart, report func(kind, format string, args ...any)) {
	for _, p := range st.principals {
		want, got := principal.NotInGroup, principal.NotInGroup
		for _, m := range p.members {
			if m.Principal == lib.id && m.Leaving {
				report(leftOver, "%s: %s is still leaving", p.id, lib.id)
			} else if m.Principal == lib.id {
				want = m.Role
			}
		}
		for _, c := range lib.groups {
			if c.live && c.group == p.id {
				got = c.role
			}
		}
		if want != got {
			report(wrongLibrary, "groups_by_member of %s has role %v in %s, want %v", lib.id, got, p.id, want)
		}
	}
}

// entryList formats entries for a trace.
func entryList(block []byte) string {
	es, _ := commit.Decode(block) // the product wrote them
	var b strings.Builder
	for _, e := range es {
		fmt.Fprintf(&b, "[%.4x %s base %d %+v due %d decided %v] ", e.ID[:2], e.Key, e.Base, e.Reach, e.Due, e.Decided)
	}
	return b.String()
}
