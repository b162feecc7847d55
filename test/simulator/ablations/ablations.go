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

// Ablation switches one rule of the write protocol off.
type Ablation struct {
	// Name is how a process is told of it, and how a replay names it.
	Name string
	// Without says what happens where the rule is off.
	Without string
	// Followers reports that only those who follow libraries see the loss of the rule.
	Followers bool
	Patches   []Patch
}

// All are the rules that can be switched off. Patches of one place are in the order of
// the table: a later one sees what an earlier one has put in.
var All = []Ablation{
	{"entry-after-commit", "the in-flight entry is written after the compare-and-set", false, []Patch{
		{"core/commit/decide.go", "if err := g.journal.Begin(early, a.Entry); err != nil {", "if err := g.ablatedBegin(ctx, early, a); err != nil {"},
		{"core/commit/decide.go", "\tg.journal.Decided(a.Entry.ID)\n", "\tif err := g.ablatedAfter(firm, a, kept); err != nil {\n\t\treturn false, err\n\t}\n\tg.journal.Decided(a.Entry.ID)\n"},
	}},
	{"entry-before-read", "the entry's base is read before the attempt reads the state again", false, []Patch{
		{"core/commit/decide.go", "g.attempt(ctx, early, a)", "g.attempt(withTry(ctx, try), early, a)"},
	}},
	{"commit-before-ack", "the compare-and-set is sent before the write of the list with its entry was acknowledged", false, nil},
	{"no-fence", "a change that was not decided is dropped without a fence", false, []Patch{
		{"library/recovery.go", "if !e.Decided {", `if !e.Decided && !commit.Ablated("no-fence") {`},
		{"library/settle.go", "if w.oldest.Seq <= w.entry.Base {", `if w.oldest.Seq <= w.entry.Base && !commit.Ablated("no-fence") {`},
	}},
	{"lane-dropped-newer", "a list is deleted with a newer timestamp than the one that was read", false, []Patch{
		{"core/journal/takeover.go", "j.store.DropLane(ctx, l.ID, l.Stamp)", "j.store.DropLane(ctx, l.ID, j.ablatedStamp(l.Stamp))"},
	}},
	{"settle-before-enforce", "positions are settled before the fan-out", false, []Patch{
		{"library/walk.go", "\tif e.Scope == commit.ScopeListed {\n\t\terr := w.listed(", "\tif err := w.s.ablatedFinish(ctx, e); err != nil {\n\t\treturn err\n\t}\n\tif e.Scope == commit.ScopeListed {\n\t\terr := w.listed("},
	}},
	{"entry-ends-before-enforce", "the entry leaves the list before the fan-out", false, []Patch{
		{"library/fanoutqueue.go", "\terr := w.run(ctx)\n\tended(err)\n", "\ts.ablatedRunTogether(batch)\n\terr := w.run(ctx)\n\tended(err)\n"},
	}},
	{"only-last-position", "only the position that was superseded last is deleted", false, []Patch{
		{"library/derive.go", "range h.Unsettled {", "range ablatedUnsettled(h.Unsettled) {"},
	}},
	{"narrow-settles-all", "a change of a few members settles the positions of all", false, []Patch{
		{"library/settle.go", "if w.entry.Scope == commit.ScopeAll {", `if w.entry.Scope == commit.ScopeAll || commit.Ablated("narrow-settles-all") {`},
	}},
	{"member-dropped-at-once", "the row of a member that was removed is not kept as leaving", false, []Patch{
		{"library/fanoutqueue.go", "\tswitch {\n\tcase e.Scope != commit.ScopeNone:\n", "\ts.ablatedComplete(ctx, e)\n\tswitch {\n\tcase e.Scope != commit.ScopeNone:\n"},
	}},
	{"later-leaving-dropped", "a leaving row that is newer than the snapshot is dropped", false, []Patch{
		{"library/settle.go", "if m.Seq <= w.oldest.Seq {", `if m.Seq <= w.oldest.Seq || commit.Ablated("later-leaving-dropped") {`},
		{"library/walk.go", "w.enforce(ctx, &page.Header, rows)", "w.enforce(ctx, w.ablatedHeader(&page.Header), rows)"},
	}},
	{"wall-clock", "the timestamp of a state is the wall clock, and may be below that of the state before", false, []Patch{
		{"core/commit/engine.go", "\treturn NextMTS(g.Now(), prev)\n", "\tif Ablated(\"wall-clock\") {\n\t\treturn g.Now()\n\t}\n\treturn NextMTS(g.Now(), prev)\n"},
	}},
	{"tombstone-old-timestamp", "an entry is deleted at its own timestamp", false, []Patch{
		{"test/simulator/derived.go", "\t\t\tts := int64(h.MTS)\n", "\t\t\tts := int64(h.MTS)\n\t\t\tif commit.Ablated(\"tombstone-old-timestamp\") {\n\t\t\t\tts = int64(k.Position)\n\t\t\t}\n"},
		{"test/simulator/derived.go", "\t\"carrel/library\"\n", "\t\"carrel/core/commit\"\n\t\"carrel/library\"\n"},
	}},
	{"plain-share", "a share is a plain write, and no compare-and-set", false, []Patch{
		{"library/sharequeue.go", "\tvar batch []*shareJob\n\t// Others may", "\tvar batch []*shareJob\n\tvar before *Header\n\t// Others may"},
		{"library/sharequeue.go", "\t\treturn s.planShares(ctx, batch)\n", "\t\ts.ablatedBefore(ctx, j.id, &before)\n\t\treturn s.planShares(ctx, batch)\n"},
		{"library/sharequeue.go", "\tvar fan *fanOut\n", "\tif s.ablatedShare(ctx, e, decided, before) {\n\t\tdecided = false\n\t}\n\tvar fan *fanOut\n"},
	}},
	{"unmoved-last-visibility", "at a position that stays, entries are deleted from the buckets of the last visibility only", false, []Patch{
		{"library/derive.go", "case b <= h.Widest:", `case b <= h.Widest && (!commit.Ablated("unmoved-last-visibility") || b <= h.Visibility):`},
	}},
	{"former-name-forgotten", "a change of name leaves the rows of the former name in the directory", false, []Patch{
		{"principal/finish.go", "\treturn s.EnforceDirectory(ctx, h, e.Former)\n", "\tif commit.Ablated(\"former-name-forgotten\") {\n\t\te.Former = \"\"\n\t}\n\treturn s.EnforceDirectory(ctx, h, e.Former)\n"},
	}},
	{"left-is-deleted", "a change says that an item has left every bucket from which its entries are deleted", true, []Patch{
		{"library/left.go", "func (h *Header) Left(m Member) Buckets {\n", "func (h *Header) Left(m Member) Buckets {\n\tif left, ablated := h.ablatedLeft(m); ablated {\n\t\treturn left\n\t}\n"},
	}},
	{"missed-before-feed", "a follower reads what it has missed before it joins the feed", true, []Patch{
		{"library/feed/following.go", "\tif err := f.join(ctx); err != nil {\n\t\treturn err\n\t}\n\tvar missed", "\tif done, err := f.ablatedBegin(ctx, since); done || err != nil {\n\t\treturn err\n\t}\n\tif err := f.join(ctx); err != nil {\n\t\treturn err\n\t}\n\tvar missed"},
	}},
	{"recovery-silent", "who finishes the change of another writes no changes of libraries", true, []Patch{
		{"library/walk.go", "\t\tif w.quiet {\n", "\t\tif w.quiet || w.serial && commit.Ablated(\"recovery-silent\") {\n"},
	}},
}

// Find returns the ablation of a name. The error lists the names that there are.
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
