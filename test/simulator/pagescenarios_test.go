package simulator

import "carrel/note"

// pageScenarios are all operations on texts, in all forms in which they write differently.
func pageScenarios() []Scenario {
	key, one, two := "key", 1, 2
	call := func(kind opKind, by string, c pageCall) *Operation {
		o := &Operation{kind: kind, viewer: ann, content: item, title: "title-" + by, page: &c}
		if kind == opSuggest {
			o.viewer = bob
		}
		return o
	}
	first := call(opSave, "first", pageCall{locale: "en", publish: true, long: true})
	second := call(opSave, "second", pageCall{locale: "en", publish: true, long: true})
	keyed := call(opSave, "keyed", pageCall{locale: "en", publish: true, long: true})
	keyed.key = &key
	suggested := call(opSuggest, "suggested", pageCall{locale: "en", long: true})
	suggestedKeyed := suggested.again()
	suggestedKeyed.key = &key
	forked := call(opBranch, "", pageCall{locale: "en", copyFrom: &one})
	forkedKeyed := forked.again()
	forkedKeyed.key = &key
	decide := func(d note.Decision) *Operation {
		return call(opDecide, "", pageCall{locale: "en", decision: d})
	}
	rollback := call(opPublish, "", pageCall{locale: "en", branch: &one})
	all := []Scenario{
		{Name: "saveRevision", op: first},
		{Name: "saveRevision with a key", op: keyed},
		{Name: "saveRevision that is not published", before: []*Operation{first}, op: call(opSave, "hidden", pageCall{locale: "en", long: true})},
		{Name: "saveRevision on a base", before: []*Operation{first},
			op: call(opSave, "based", pageCall{locale: "en", publish: true, based: true})},
		{Name: "saveRevision on another base", before: []*Operation{first, second},
			op: call(opSave, "stale", pageCall{locale: "en", base: new(int)}), refused: true},
		{Name: "publishRevision", before: []*Operation{first, second}, op: rollback},
		{Name: "createBranch", before: []*Operation{first}, op: forked},
		{Name: "createBranch with a key", before: []*Operation{first}, op: &forkedKeyed},
		{Name: "setCurrentBranch", before: []*Operation{first, forked}, op: call(opCurrent, "", pageCall{locale: "en", branch: &two})},
		{Name: "suggestRevision", before: []*Operation{first}, op: suggested},
		{Name: "suggestRevision with a key", before: []*Operation{first}, op: &suggestedKeyed},
		{Name: "decideSuggestion accepts", before: []*Operation{first, suggested}, op: decide(note.Accept)},
		{Name: "decideSuggestion rejects", before: []*Operation{first, suggested}, op: decide(note.Reject)},
		{Name: "decideSuggestion accepts twice", before: []*Operation{first, suggested, decide(note.Accept)},
			op: decide(note.Accept), refused: true},
		{Name: "delete of an item with texts", before: []*Operation{first, suggested, forked},
			op: &Operation{kind: opDelete, viewer: ann, content: item}},
	}
	for i := range all {
		all[i].prepare = func(st *Store) { st.makeNote(item) }
	}
	return all
}
