package ablations

// copies are the rules of serving pages from copies of headers.
var copies = []Ablation{
	{"unknown-outcome-ends", "the entry of a change leaves the list although its outcome is unknown", Copies, []Patch{
		{"core/commit/decide.go", "\t\tif kept {\n\t\t\tg.journal.FinishLater(a.Entry)\n",
			"\t\tif kept && Ablated(\"unknown-outcome-ends\") {\n\t\t\tg.journal.End(a.Entry.ID)\n\t\t} else if kept " +
				"{\n\t\t\tg.journal.FinishLater(a.Entry)\n"},
	}},
	{"take-over-first-entry", "a list is deleted when its first entry has been finished", Copies, []Patch{
		{"core/journal/takeover.go", "\tfor _, e := range l.Entries {\n", "\tfor _, e := range ablatedEntries(l.Entries) {\n"},
	}},
	{"coarse-list-clock", "the timestamp of a list is the time in seconds, and does not rise with each write", Copies, []Patch{
		{"core/journal/journal.go", "j.stamp = max(j.stamp+1, int64(clock.Of(j.rt.Now())))",
			"j.stamp = j.ablatedNow(max(j.stamp+1, int64(clock.Of(j.rt.Now()))))"},
	}},
	{"list-name-again", "a list has the name of the list of another process", Copies, []Patch{
		{"core/journal/journal.go", "commit.ListID(hex.EncodeToString(id[:]))", "commit.ListID(ablatedName(hex.EncodeToString(id[:])))"},
	}},
	{"deferred-unlisted", "the entry of a deferred move leaves the list before the move", Copies, []Patch{
		{"core/journal/journal.go", "\tfor i, e := range j.entries {\n\t\tentries[i] = e.Entry\n\t}\n",
			"\tfor i, e := range j.entries {\n\t\tentries[i] = e.Entry\n\t}\n\tentries = j.ablatedList(entries)\n"},
	}},
	{"in-place-unapplied", "a change of expiresAt reaches no library", Copies, []Patch{
		{"library/contentupdate.go", "\t\te.Scope, libraries = commit.ScopeAll, h.Members\n",
			"\t\tif !commit.Ablated(\"in-place-unapplied\") {\n\t\t\te.Scope, libraries = commit.ScopeAll, h.Members\n\t\t}\n"},
	}},
	{"slice-before-set", "a slice is read before what is in flight", Copies, []Patch{
		{"library/listing/inflight.go", "\to, err := p.s.libraries.OpenLibrary(ctx, q, false)\n", "\to, err = p.ablatedOpen(ctx, q, o)\n"},
		{"library/listing/inflight.go", "\t// Without an in-flight set, every header is read.\n",
			"\to, err := p.ablatedAhead(ctx, q)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n"},
	}},
	{"bound-after-set", "the bound of a walk is read after what is in flight", Copies, []Patch{
		{"library/listing/inflight.go", "\tif len(last.Entries) == 1 {\n",
			"\tif newest && commit.Ablated(\"bound-after-set\") {\n\t\tif last, err = p.s.libraries.OpenLibrary(ctx, " +
				"library.Slice{Owner: q.Owner, Bucket: q.Bucket, Limit: 1}, false); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t}\n" +
				"\tif len(last.Entries) == 1 {\n"},
	}},
	{"entry-mts-ignored", "a copy serves an entry that a later state has written", Copies, []Patch{
		{"headercache/checked.go", "e.mts < es[i].MTS", "e.mts < ablatedMTS(es[i].MTS)"},
	}},
	{"title-unconfirmed", "a copy serves an entry in the order of titles, which not every state writes", Copies, []Patch{
		{"headercache/checked.go", "if set != nil && len(es) > 0 && es[0]",
			`if set != nil && len(es) > 0 && !commit.Ablated("title-unconfirmed") && es[0]`},
	}},
	{"flight-ignored", "a copy serves although a change of its item is in flight", Copies, []Patch{
		{"headercache/checked.go", "set != nil && set.Has(commit.Content, e.id)",
			"set != nil && !commit.Ablated(\"flight-ignored\") && set.Has(commit.Content, e.id)"},
	}},
	{"linger-too-short", "a change of a principal lingers for less time than copies are served", Copies, []Patch{
		{"core/journal/linger.go", "j.rt.Elapsed() + j.linger[kind]}", "j.rt.Elapsed() + ablatedLinger(j.linger[kind])}"},
	}},
	{"take-over-drops-ended", "a take-over drops the changes of principals that linger", Copies, []Patch{
		{"core/journal/linger.go", "\t\tif e := &entries[i]; j.linger[e.Kind] > 0 {\n",
			"\t\tif e := &entries[i]; j.linger[e.Kind] > 0 && !commit.Ablated(\"take-over-drops-ended\") {\n"},
	}},
	{"age-by-monotonic-clock", "the age of a copy is judged by the monotonic clock alone", Copies, []Patch{
		{"headercache/checked.go", "now.Since(e.at.Moment) >= c.maxAge", "ablatedAge(now, e.at.Moment) >= c.maxAge"},
	}},
	{"age-by-wall-clock", "the age of a copy is judged by the wall clock alone", Copies, nil},
	{"principal-flight-ignored", "a copy of a principal serves although a list names the principal", Copies, []Patch{
		{"headercache/checked.go", "set.MayHaveChanged(commit.Principal, e.id)",
			"!commit.Ablated(\"principal-flight-ignored\") && set.MayHaveChanged(commit.Principal, e.id)"},
	}},
	{"pages-by-visibility", "a page with a cursor shows an entry wherever its item is now", Copies, []Patch{
		{"library/listing/scan.go", "\tcase e.PlacedBy(h):\n",
			"\tcase e.PlacedBy(h), !w.fresh && commit.Ablated(\"pages-by-visibility\"):\n"},
	}},
	{"slice-at-one", "a slice of a library is read from one replica", Copies, nil},
	{"header-at-one", "a header is read from one replica", Copies, nil},
	{"index-at-one", "an entry of a library counts as written when one replica has it", Copies, nil},
	{"set-at-one", "what is in flight is read from one replica", Copies, []Patch{
		{"test/simulator/replicas.go", "\treturn quorum // whatever the call is\n", "\treturn ablatedQuorum(call)\n"},
	}},
}
