package ablations

import (
	"fmt"
	"slices"
	"strings"
)

// Patch replaces lines of a source file.
type Patch struct {
	File     string // below the root of the module
	Old, New string
}

// Schedules is a kind of schedules.
type Schedules uint8

// The kinds of schedules.
const (
	Libraries Schedules = iota // those of libraries, few of which are followed
	Followed                   // those of libraries that are followed
	Leases                     // those of the keys of leases
	Pages                      // those of the texts of items
	Pastes                     // those of pastes
	Names                      // those of unique names
	Copies                     // those of pages that are served from copies of headers
)

// Ablation disables one rule of the write protocol.
type Ablation struct {
	// Name identifies it, for a process and for a replay.
	Name string
	// Without says what happens without the rule.
	Without string
	// In says in which schedules the loss of the rule shows.
	In      Schedules
	Patches []Patch
}

// All lists the rules that can be disabled. Patches of the same source are applied in this order: a
// later one is applied to the result of an earlier one.
var All = slices.Concat(protocol, copies)

var protocol = []Ablation{
	{"entry-after-commit", "the in-flight entry is written after the compare-and-set", Libraries, []Patch{
		{"core/commit/decide.go", "if err := g.journal.Begin(early, a.Entry); err != nil {",
			"if err := g.ablatedBegin(ctx, early, a); err != nil {"},
		{"core/commit/decide.go", "\tg.journal.Decided(a.Entry.ID)\n",
			"\tif err := g.ablatedAfter(detached, a, kept); err != nil {\n\t\treturn false, err\n\t}\n\tg.journal.Decided(a.Entry.ID)\n"},
	}},
	{"entry-before-read", "the entry's base is read before the attempt reads the state again", Libraries, []Patch{
		{"core/commit/decide.go", "g.attempt(ctx, early, began, a)", "g.attempt(withTry(ctx, try), early, began, a)"},
	}},
	{"new-member-not-read-again", "a change that adds a member does not check whether the member was deleted meanwhile", Libraries, []Patch{
		{"library/removal.go", "\tgone, err := w.s.people.DeletedOf(ctx, w.joined)\n",
			"\tif commit.Ablated(\"new-member-not-read-again\") {\n\t\treturn nil\n\t}\n\tgone, err := w.s.people.DeletedOf(ctx, w.joined)\n"},
	}},
	{"removal-without-entry", "a deletion leaves the in-flight list before everything is removed", Libraries, []Patch{
		{"principal/removal.go", "\t\terr := s.removals.Take(detached, \"\")\n",
			"\t\tif commit.Ablated(\"removal-without-entry\") {\n\t\t\ts.journal.End(e.ID)\n\t\t}\n\t\terr := s.removals.Take(detached, \"\")\n"},
	}},
	{"commit-before-ack", "the compare-and-set is sent before the write of the list with its entry was acknowledged", Libraries, nil},
	{"no-fence", "a change that was not decided is dropped without a fence", Libraries, []Patch{
		{"library/recovery.go", "if !e.Decided {", `if !e.Decided && !commit.Ablated("no-fence") {`},
		{"library/cleanup.go", "if w.oldest.Seq <= w.entry.Base {", `if w.oldest.Seq <= w.entry.Base && !commit.Ablated("no-fence") {`},
	}},
	{"list-dropped-newer", "a list is deleted with a newer timestamp than the one that was read", Libraries, []Patch{
		{"core/journal/takeover.go", "j.store.DeleteInFlightList(ctx, l.ID, l.Stamp)",
			"j.store.DeleteInFlightList(ctx, l.ID, j.ablatedStamp(l.Stamp))"},
	}},
	{"cleanup-before-index", "positions are cleaned up before the fan-out", Libraries, []Patch{
		{"library/walk.go", "\tif e.Scope == commit.ScopeListed {\n\t\terr := w.listed(",
			"\tif err := w.s.ablatedFinish(ctx, e); err != nil {\n\t\treturn err\n\t}\n\tif e.Scope == commit.ScopeListed {\n\t\terr := w.listed("},
	}},
	{"entry-ends-before-index", "the entry leaves the list before the fan-out", Libraries, []Patch{
		{"library/fanoutqueue.go", "\terr := w.run(ctx)\n\tended(err)\n", "\ts.ablatedRunTogether(batch)\n\terr := w.run(ctx)\n\tended(err)\n"},
	}},
	{"only-last-position", "only the position that was superseded last is deleted", Libraries, []Patch{
		{"library/derive.go", "range h.Unsettled {", "range ablatedUnsettled(h.Unsettled) {"},
	}},
	{"narrow-cleans-up-all", "a change of a few members cleans up the positions of all", Libraries, []Patch{
		{"library/cleanup.go", "if w.entry.Scope == commit.ScopeAll {",
			`if w.entry.Scope == commit.ScopeAll || commit.Ablated("narrow-cleans-up-all") {`},
	}},
	{"member-dropped-at-once", "the row of a member that was removed is not kept as leaving", Libraries, []Patch{
		{"library/fanoutqueue.go", "\tswitch {\n\tcase e.Scope != commit.ScopeNone:\n",
			"\ts.ablatedComplete(ctx, e)\n\tswitch {\n\tcase e.Scope != commit.ScopeNone:\n"},
	}},
	{"later-leaving-dropped", "a leaving row that is newer than the snapshot is dropped", Libraries, []Patch{
		{"library/cleanup.go", "if m.Seq <= w.oldest.Seq {", `if m.Seq <= w.oldest.Seq || commit.Ablated("later-leaving-dropped") {`},
		{"library/walk.go", "w.applyIndex(ctx, &page.Header, rows)", "w.applyIndex(ctx, w.ablatedHeader(&page.Header), rows)"},
	}},
	{"wall-clock", "the timestamp of a state is the wall clock, and may be below that of the state before", Libraries, []Patch{
		{"core/commit/engine.go", "\treturn NextMTS(g.Now(), prev)\n",
			"\tif Ablated(\"wall-clock\") {\n\t\treturn g.Now()\n\t}\n\treturn NextMTS(g.Now(), prev)\n"},
	}},
	{"tombstone-old-timestamp", "an entry is deleted at its own timestamp", Libraries, []Patch{
		{"test/simulator/derived.go", "\t\t\tts := int64(h.MTS)\n",
			"\t\t\tts := int64(h.MTS)\n\t\t\tif commit.Ablated(\"tombstone-old-timestamp\") {\n\t\t\t\tts = int64(k.Position)\n\t\t\t}\n"},
		{"test/simulator/derived.go", "\t\"carrel/library\"\n", "\t\"carrel/core/commit\"\n\t\"carrel/library\"\n"},
	}},
	{"plain-share", "a share is a plain write, and no compare-and-set", Libraries, []Patch{
		{"library/sharequeue.go", "\tvar batch []*shareJob\n\t// Other callers may",
			"\tvar batch []*shareJob\n\tvar before *Header\n\t// Other callers may"},
		{"library/sharequeue.go", "\t\treturn s.planShares(ctx, batch)\n",
			"\t\ts.ablatedBefore(ctx, j.id, &before)\n\t\treturn s.planShares(ctx, batch)\n"},
		{"library/sharequeue.go", "\tvar fan *fanOut\n",
			"\tif s.ablatedShare(ctx, e, decided, before) {\n\t\tdecided = false\n\t}\n\tvar fan *fanOut\n"},
	}},
	{"unmoved-last-visibility", "at a position that stays, entries are deleted from the buckets of the last visibility only",
		Libraries, []Patch{
			{"library/derive.go", "case b <= h.Widest:\n\t\t\td.Delete = append(d.Delete, LibraryKey{b, h.Key(ByChange)})",
				"case b <= h.Widest && (!commit.Ablated(\"unmoved-last-visibility\") || b <= h.Visibility):\n" +
					"\t\t\td.Delete = append(d.Delete, LibraryKey{b, h.Key(ByChange)})"},
		}},
	{"superseded-title-stays", "entries under superseded titles are not deleted", Libraries, []Patch{
		{"library/derive.go", "if b <= u.Widest && !slices", `if b <= u.Widest && !commit.Ablated("superseded-title-stays") && !slices`},
	}},
	{"current-title-deleted", "a superseded title is deleted although it is the current one again", Libraries, []Patch{
		{"library/derive.go", "!slices.Contains(d.Put, key) &&", `(commit.Ablated("current-title-deleted") || !slices.Contains(d.Put, key)) &&`},
	}},
	{"narrowing-keeps-title", "a title that fewer readers see is not superseded", Libraries, []Patch{
		{"library/itemchange.go", "if !renamed && after.Visibility >= h.Visibility {",
			`if !renamed && (after.Visibility >= h.Visibility || commit.Ablated("narrowing-keeps-title")) {`},
	}},
	{"title-last-visibility", "a superseded title is deleted from the buckets of its last visibility only", Libraries, []Patch{
		{"library/itemchange.go", "if u.Title == c.SupersedeTitle.Title {",
			`if u.Title == c.SupersedeTitle.Title && !commit.Ablated("title-last-visibility") {`},
	}},
	{"titles-by-title", "a cleanup removes a superseded title whatever state has superseded it", Libraries, []Patch{
		{"library/cleanup.go", "	cleanup.Titles = titlesOf(w.oldest.UnsettledTitles)",
			"	cleanup.Titles = w.s.ablatedTitles(ctx, w.entry.content(), w.oldest.UnsettledTitles)"},
	}},
	{"move-cleans-up-titles", "a walk that does not write the order of titles cleans up titles", Libraries, []Patch{
		{"library/cleanup.go", "	if w.entry.All {", "	if w.entry.All || commit.Ablated(\"move-cleans-up-titles\") {"},
	}},
	{"move-drops-leaving", "a walk that does not write the order of titles drops the rows of former members", Libraries, []Patch{
		{"library/walk.go", "case m.Leaving && w.entry.All:", `case m.Leaving && (w.entry.All || commit.Ablated("move-drops-leaving")):`},
	}},
	{"deferred-titles-forgotten", "a deferred move does not write the order of titles for the change that it follows", Libraries, []Patch{
		{"library/hot.go", "e.All = e.All || all\n", "e.All = e.All || all && !commit.Ablated(\"deferred-titles-forgotten\")\n"},
	}},
	{"title-anywhere", "a page by title shows an entry whatever the title of its item is", Libraries, []Patch{
		{"library/content.go", "return e.TitleHash ==", `return commit.Ablated("title-anywhere") || e.TitleHash ==`},
	}},
	{"former-name-forgotten", "a change of name leaves the rows of the former name in the directory", Libraries, []Patch{
		{"principal/finish.go", "\treturn s.Upkeep.ApplyDirectory(ctx, h, e.Former)\n",
			"\tif commit.Ablated(\"former-name-forgotten\") {\n\t\te.Former = \"\"\n\t}\n\treturn s.Upkeep.ApplyDirectory(ctx, h, e.Former)\n"},
	}},
	{"change-names-all-buckets", "a change says that an item has left every bucket from which its entries are deleted", Followed, []Patch{
		{"library/removedfrom.go", "func (h *Header) RemovedFrom(m Member) Buckets {\n",
			"func (h *Header) RemovedFrom(m Member) Buckets {\n\tif removed, ablated := h.ablatedRemovedFrom(m); ablated " +
				"{\n\t\treturn removed\n\t}\n"},
	}},
	{"missed-before-feed", "a follower reads what it has missed before it joins the feed", Followed, []Patch{
		{"library/follow/subscription.go", "\tif err := f.join(ctx); err != nil {\n\t\treturn err\n\t}\n\tvar missed",
			"\tif done, err := f.ablatedBegin(ctx, since); done || err != nil {\n\t\treturn err\n\t}\n\tif err := " +
				"f.join(ctx); err != nil {\n\t\treturn err\n\t}\n\tvar missed"},
	}},
	{"recovery-silent", "a process that finishes the change of another one records no changes of libraries", Followed, []Patch{
		{"library/walk.go", "\t\tif w.quiet {\n", "\t\tif w.quiet || w.serial && commit.Ablated(\"recovery-silent\") {\n"},
	}},
	{"lease-confirmed-by-key", "the keys of a lease are confirmed one after the other", Leases, []Patch{
		{"lease/service.go", "s.store.CommitRow(ctx, row)", "s.ablatedCommit(ctx, l, row)"},
	}},
	{"lease-confirmed-late", "a lease is confirmed after its deadline", Leases, []Patch{
		{"lease/change.go", "\t\tcase before.overdue(s.engine.Now()):\n\t\t\treturn before.ended(Expired), " +
			"nil\n\t\tcase before.State != Pending:\n",
			"\t\tcase before.overdue(s.engine.Now()) && commit.Ablated(\"lease-expired-unwritten\"):\n\t\t\treturn before, " +
				"(&Lease{State: Expired}).notPending()\n\t\tcase before.overdue(s.engine.Now()) && " +
				"!commit.Ablated(\"lease-confirmed-late\"):\n\t\t\treturn before.ended(Expired), nil\n\t\tcase before.State != Pending:\n"},
	}},
	{"lease-expired-unwritten", "EXPIRED is answered before the lease has expired in the store", Leases, nil},
	{"lease-after-claims", "the row of a lease is written after its claims", Leases, []Patch{
		{"lease/acquire.go", "\t\tif err := s.putReminder(ctx, l, l.releaseAt()); err != nil {\n",
			"\t\tif _, err := s.ablatedClaim(ctx, l, true); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tif err := " +
				"s.putReminder(ctx, l, l.releaseAt()); err != nil {\n"},
		{"lease/acquire.go", "\tfence, err := s.claimKeys(ctx, l)\n", "\tfence, err := s.ablatedClaim(ctx, l, false)\n"},
	}},
	{"lease-whole-at-once", "a lease is stored with its whole time before it has its keys", Leases, []Patch{
		{"lease/acquire.go", "now.Add(min(in.ttl(), provisionalTTL))", "now.Add(in.ablatedFirst())"},
	}},
	{"refused-lease-pending", "a lease that is refused stays pending", Leases, []Patch{
		{"lease/acquire.go", "\t\tif before.State != Pending {\n",
			"\t\tif before.State != Pending || commit.Ablated(\"refused-lease-pending\") {\n"},
	}},
	{"repetition-unchecked", "a repetition does not check whether the lease holds its keys", Leases, []Patch{
		{"lease/acquire.go", "if holder != string(l.ID) {", `if holder != string(l.ID) && !commit.Ablated("repetition-unchecked") {`},
	}},
	{"claim-unfenced", "a claim is taken over from a record that was not fenced", Leases, []Patch{
		{"core/claim/claims.go", "record.Fence(ctx, current.Record, look.Base)", "ablatedFence(ctx, record, current.Record, look.Base)"},
	}},
	{"fence-refused-unread", "a record whose fence was refused is not read again", Leases, []Patch{
		{"core/claim/claims.go", "return c.excludedByChange(ctx, record, current)", "return c.ablatedMovedOn(ctx, record, current)"},
	}},
	{"until-of-the-ended", "the claim of a record that has ended is left alone until it lapses", Leases, []Patch{
		{"core/claim/claims.go", "\t\tcase look.Status == Ended:\n",
			"\t\tcase look.Status == Ended && c.ablatedWaits(current):\n\t\t\treturn 0, ErrTaken\n\t\tcase look.Status == Ended:\n"},
	}},
	{"record-not-serial", "the record of a claim is read from a replica that may lag behind", Leases, []Patch{
		{"test/simulator/rows.go", "\t\treturn c.at(id)\n", "\t\treturn c.ablatedAt(id)\n"},
	}},
	{"take-over-any-token", "a claim is replaced although it has changed since it was read", Leases, []Patch{
		{"test/simulator/claims.go", "c.st.claims[i].Token == *token:", `(c.st.claims[i].Token == *token || ablated("take-over-any-token")):`},
	}},
	{"release-any-record", "a claim is released without a check of who holds it", Leases, []Patch{
		{"test/simulator/claims.go", "if found && c.st.claims[i].Record == record &&",
			`if found && (c.st.claims[i].Record == record || ablated("release-any-record")) &&`},
	}},
	{"number-read-once", "a save that lost a race keeps the numbers that it has read first", Pages, []Patch{
		{"note/revisions.go", "\t\t\tif !in.force {\n", "\t\t\tl = body.ablatedRow(l)\n\t\t\tif !in.force {\n"},
	}},
	{"base-unchecked", "a text is saved whatever it was made from", Pages, []Patch{
		{"note/edits.go", "if base == nil || *base == l.Current {", `if base == nil || *base == l.Current || ablated("base-unchecked") {`},
	}},
	{"decided-again", "a suggestion is decided whatever was decided of it before", Pages, []Patch{
		{"note/edits.go", "\tif row.State != Open {\n\t\treturn decidedAlready(row.State)\n",
			"\tif row.State != Open && !ablated(\"decided-again\") {\n\t\treturn decidedAlready(row.State)\n"},
		{"note/edits.go", "\tif row.State != Open {\n\t\treturn 0, decidedAlready(row.State)\n",
			"\tif row.State != Open && !ablated(\"decided-again\") {\n\t\treturn 0, decidedAlready(row.State)\n"},
	}},
	{"text-unconfirmed", "a change refers to a text whose write was not confirmed", Pages, []Patch{
		{"note/service.go", "if err := s.store.PutText(ctx, t); err != nil {",
			`if err := s.store.PutText(ctx, t); err != nil && !ablated("text-unconfirmed") {`},
	}},
	{"text-of-a-lost-race", "a text that was stored for a lost race is removed although the next try refers to it", Pages, []Patch{
		{"note/service.go", "\tif p.row == row {\n", "\tif p.row == row && !p.ablatedDrop(ctx) {\n"},
	}},
	{"young-garbage", "the scrubber removes a text that no row refers to yet, however young", Pages, []Patch{
		{"note/scrub.go", "t.ID.At() > now.Add(-garbageAfter)", `t.ID.At() > now.Add(-garbageAfter) && !ablated("young-garbage")`},
	}},
	{"unmoved-publication", "a published text does not move its item", Pages, []Patch{
		{"note/edits.go", "\te.visible = true\n\tshown :=", "\te.visible = !ablated(\"unmoved-publication\")\n\tshown :="},
	}},
	{"claim-before-it-lapses", "a claim is taken over before it lapses", Names, []Patch{
		{"core/claim/claims.go", "look.Status == Idle && current.Until > c.now():\n\t\t\treturn 0, ErrTaken",
			"look.Status == Idle && current.Until > c.now() && !ablated(\"claim-before-it-lapses\"):\n\t\t\treturn 0, ErrTaken"},
	}},
	{"former-any-token", "the claim of a former name is dropped although its record has taken the name again", Names, []Patch{
		{"core/claim/former.go", "c.Drop(ctx, f.Key, f.Record, f.Token)", "c.Drop(ctx, f.Key, f.Record, f.ablatedToken())"},
	}},
	{"url-fence-any-base", "an item is fenced although it has changed since it was looked at", Names, []Patch{
		{"library/urls.go", "err != nil || rows.Header.Seq != base {",
			`err != nil || rows.Header.Seq != base && !commit.Ablated("url-fence-any-base") {`},
	}},
	{"email-fence-any-base", "a user is fenced although it has changed since it was looked at", Names, []Patch{
		{"principal/emails.go", "err != nil || rows.Header.Seq != base {",
			`err != nil || rows.Header.Seq != base && !commit.Ablated("email-fence-any-base") {`},
	}},
	{"lapsed-claim-replaced", "a claim that has lapsed is replaced without excluding its owner", Names, []Patch{
		{"core/claim/claims.go", "if current.Record != mine.Record {",
			`if current.Record != mine.Record && (current.Until > c.now() || !ablated("lapsed-claim-replaced")) {`},
	}},
	{"lapsed-owner-stays", "the url of an expired item is taken before the item is deleted", Names, []Patch{
		{"core/claim/claims.go", "case look.Status == Lapsed:\n\t\t\terr = record",
			"case look.Status == Lapsed && ablated(\"lapsed-owner-stays\"):\n\t\t\treturn 0, nil\n\t\tcase look.Status == " +
				"Lapsed:\n\t\t\terr = record"},
	}},
	{"listed-before-stored", "a paste is listed before its row says that it is public", Pastes, []Patch{
		{"paste/service.go", "stored, err := s.store.CommitRow(ctx, row)", "stored, err := s.ablatedCommit(ctx, p, row)"},
	}},
	{"list-unchecked", "an entry of the feed is shown whatever the row of its paste says", Pastes, []Patch{
		{"paste/connection.go", "if p != nil && p.listed() && p.CreatedAt == entries[i].Created {",
			`if p != nil && (p.listed() || ablated("list-unchecked")) && p.CreatedAt == entries[i].Created {`},
	}},
	{"toggle-any-version", "a change of a paste is stored whatever was stored since it was read", Pastes, []Patch{
		{"test/simulator/rows.go", "if c.at(mine.ID).Seq == mine.Seq-1 {",
			`if c.at(mine.ID).Seq == mine.Seq-1 || c.kind == "paste" && mine.Seq > 1 && ablated("toggle-any-version") {`},
	}},
	{"day-after-entry", "a day of a feed is recorded after its first entry, and nobody waits for it", Pastes, []Patch{
		{"core/feed/timelines.go",
			"\tb, err := t.buckets.record(ctx, feed, DayOf(e.Created))\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := t.store.PutEntry(",
			"\tb, err := t.ablatedRecord(ctx, feed, DayOf(e.Created))\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := t.store.PutEntry("},
		{"core/feed/timelines.go", "\t\treturn fmt.Errorf(\"adding an entry to a feed: %w\", err)\n\t}\n",
			"\t\treturn fmt.Errorf(\"adding an entry to a feed: %w\", err)\n\t}\n\t_, _ = t.buckets.record(ctx, feed, b.Day)\n"},
	}},
	{"removal-unrecorded", "an entry of a day that is not recorded is not removed", Pastes, []Patch{
		{"core/feed/timelines.go",
			"\tb, err := t.buckets.record(ctx, feed, DayOf(e.Created))\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := t.store.DropEntry(",
			"\tb, skip, err := t.ablatedLook(ctx, feed, DayOf(e.Created))\n\tif err != nil || skip {\n\t\treturn " +
				"err\n\t}\n\tif err := t.store.DropEntry("},
	}},
	{"entry-at-wall-clock", "an entry of the feed has the time of its write, and not that of the state", Pastes, []Patch{
		{"paste/finish.go", "return s.feeds.Put(ctx, feedName, p.entry(), p.MTS)",
			"return s.feeds.Put(ctx, feedName, p.entry(), s.ablatedMTS(p))"},
		{"paste/finish.go", "return s.feeds.Drop(ctx, feedName, p.entry(), p.MTS)",
			"return s.feeds.Drop(ctx, feedName, p.entry(), s.ablatedMTS(p))"},
	}},
	{"paste-unfenced", "a change of a paste that was not decided is dropped without a fence", Pastes, []Patch{
		{"paste/finish.go", "\tp, fenced, err := s.fence(ctx, e)\n", "\tp, fenced, err := s.ablatedFence(ctx, e)\n"},
	}},
	{"own-entry-later", "a process adds an entry to its head of a feed when it reads it the next time", Pastes, []Patch{
		{"core/feed/timelines.go", "\tt.heads.put(feed, e)\n", "\tif !ablated(\"own-entry-later\") {\n\t\tt.heads.put(feed, e)\n\t}\n"},
	}},
	{"reminder-set-back", "the reminder of an expiry is removed although the clock was set back before it", Pastes, []Patch{
		{"paste/tidy.go", "return p.reminder() != at, nil", `return p.reminder() != at || ablated("reminder-set-back"), nil`},
	}},
	{"look-without-overlap", "a process that looks for pastes of others looks at the last second only", Pastes, []Patch{
		{"paste/arrivals.go", "within, isFull := soonWithin, ", "within, isFull := ablatedWithin(soonWithin), "},
		{"paste/arrivals.go", "within = lateWithin + now - full", "within = ablatedWithin(lateWithin + now - full)"},
	}},
	{"resume-without-overlap", "a follower of pastes resumes right after the cursor", Pastes, []Patch{
		{"paste/follower.go", "overlap <= at.Created", "!ablated(\"resume-without-overlap\") && overlap <= at.Created"},
	}},
	{"missed-before-joined", "a follower of pastes reads what it has missed before it joins the others", Pastes, []Patch{
		{"paste/follower.go", "\t\tif _, err := s.rt.Wait(ctx, s.arrivals.join(f), 0); err != nil {\n",
			"\t\tif err := f.ablatedBegin(ctx); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tif _, err := " +
				"s.rt.Wait(ctx, s.arrivals.join(f), 0); err != nil {\n"},
	}},
}

// Find returns the ablation with a name. The error lists all names.
func Find(name string) (Ablation, error) {
	if i := slices.IndexFunc(All, func(a Ablation) bool { return a.Name == name }); i >= 0 {
		return All[i], nil
	}
	names := make([]string, len(All))
	for i, a := range All {
		names[i] = a.Name
	}
	return Ablation{}, fmt.Errorf("there is no ablation %q; there are: %s", name, strings.Join(names, ", "))
}
