package note

import (
	"fmt"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/core/urlname"
)

// describe returns a text for an edit: the new head, the rows, and whether visitors see it.
func (e *edit) describe(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "own=%q last=%d current=%d working=%d open=%d", e.head.Locale, e.head.Last, e.head.Current, e.head.Working, e.head.Open)
	for _, r := range e.rows {
		fmt.Fprintf(&b, "; %d:%s", r.Kind, r.Key)
		if r.Kind == branchKind && strings.Contains(r.Key, "/") {
			l, err := decodeLocaleRow(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "=%d,%d,%d", l.Last, l.Current, l.Working)
		}
	}
	if e.visible {
		fmt.Fprintf(&b, "; visible %v %q", e.head.Shown, e.head.Title)
	}
	if e.title != nil {
		fmt.Fprintf(&b, "; title=%q", *e.title)
	}
	return b.String()
}

func TestEdits_ChangeHeadAndRows(t *testing.T) {
	begun := Head{Begun: true, Locale: "en", Last: 2, Current: 1, Working: 1}
	begun.Shown, begun.Title = []Shown{{"de", 7}, {"en", 2}}, "old"
	row := revisionRow{Title: "T"}
	localeRows := []storedLocale{{"", noRevisions}, {"de", LocaleRow{3, None, 3}}, {"en", LocaleRow{4, 1, 4}}, {"fr", LocaleRow{5, 0, 5}}}
	for _, c := range []struct {
		name string
		head Head
		do   func(e *edit) (any, error)
		want string
	}{
		{"the first revision gives the item its locale", newHead,
			func(e *edit) (any, error) { return e.save(branchLocale{1, "fr"}, noRevisions, row, true) },
			`0: own="fr" last=1 current=1 working=1 open=0; 3:0000000001/fr=0,0,0; 4:0000000001/fr/0000000000; visible [{fr 0}] "T"; title="T"`},
		{"a first revision that is not published gives the item its locale too", newHead,
			func(e *edit) (any, error) { return e.save(branchLocale{1, "fr"}, noRevisions, row, false) },
			`0: own="fr" last=1 current=1 working=1 open=0; 3:0000000001/fr=0,-1,0; 4:0000000001/fr/0000000000`},
		{"an item whose first text has no locale keeps none", Head{Begun: true, Last: 1, Current: 1, Working: 1},
			func(e *edit) (any, error) { return e.save(branchLocale{1, "en"}, noRevisions, row, true) },
			`0: own="" last=1 current=1 working=1 open=0; 3:0000000001/en=0,0,0; 4:0000000001/en/0000000000; visible [{en 0}] ""`},
		{"a save after a rollback gets the number last+1", begun,
			func(e *edit) (any, error) { return e.save(branchLocale{1, "en"}, LocaleRow{7, 2, 7}, row, true) },
			`8: own="en" last=2 current=1 working=1 open=0; 3:0000000001/en=8,8,8; 4:0000000001/en/0000000008; visible [{de 7} {en 8}] "T"; title="T"`},
		{"a save that is not published does not change current", begun,
			func(e *edit) (any, error) { return e.save(branchLocale{1, "en"}, LocaleRow{7, 2, 7}, row, false) },
			`8: own="en" last=2 current=1 working=1 open=0; 3:0000000001/en=8,2,8; 4:0000000001/en/0000000008`},
		{"visitors do not see another branch", begun, func(e *edit) (any, error) { return e.save(branchLocale{2, "en"}, noRevisions, row, true) },
			`0: own="en" last=2 current=1 working=1 open=0; 3:0000000002/en=0,0,0; 4:0000000002/en/0000000000`},
		{"another locale does not change the title", begun,
			func(e *edit) (any, error) { return e.save(branchLocale{1, "de"}, noRevisions, row, true) },
			`0: own="en" last=2 current=1 working=1 open=0; 3:0000000001/de=0,0,0; 4:0000000001/de/0000000000; visible [{de 0} {en 2}] "old"`},
		{"a rollback does not change working", begun, func(e *edit) (any, error) {
			return e.publish(branchLocale{1, "en"}, LocaleRow{7, 7, 7}, 2, row, "T"), nil
		},
			`true: own="en" last=2 current=1 working=1 open=0; 3:0000000001/en=7,2,7; visible [{de 7} {en 2}] "T"; title="T"`},
		{"publishing what is current changes nothing", begun, func(e *edit) (any, error) {
			return e.publish(branchLocale{1, "en"}, LocaleRow{7, 2, 7}, 2, row, "T"), nil
		},
			`false: own="en" last=2 current=1 working=1 open=0`},
		{"publishing what is current changes an item with another title", begun, func(e *edit) (any, error) {
			return e.publish(branchLocale{1, "en"}, LocaleRow{7, 2, 7}, 2, row, "U"), nil
		},
			`true: own="en" last=2 current=1 working=1 open=0; 3:0000000001/en=7,2,7; visible [{de 7} {en 2}] "T"; title="T"`},
		{"publishing what is current in another locale does not change the title", begun, func(e *edit) (any, error) {
			return e.publish(branchLocale{1, "de"}, LocaleRow{7, 2, 7}, 2, row, "U"), nil
		},
			`false: own="en" last=2 current=1 working=1 open=0`},
		{"a branch begins with copies", begun, func(e *edit) (any, error) {
			return e.branch(branchRow{CreatedAt: 5, CopiedFrom: 1}, []copied{{"de", row}, {"en", row}})
		}, `3: own="en" last=3 current=1 working=1 open=0; 3:0000000003; 3:0000000003/de=0,0,0; 4:0000000003/de/0000000000; 3:0000000003/en=0,0,0; 4:0000000003/en/0000000000`},
		{"another branch gives the item its title", begun, func(e *edit) (any, error) { return e.makeCurrent(2, localeRows, &row), nil },
			`true: own="en" last=2 current=2 working=1 open=0; visible [{en 1} {fr 0}] "T"; title="T"`},
		{"a branch without the item's own locale gives it no title", begun,
			func(e *edit) (any, error) { return e.makeCurrent(2, localeRows, nil), nil },
			`true: own="en" last=2 current=2 working=1 open=0; visible [{en 1} {fr 0}] ""`},
		{"making the current branch current changes nothing", begun,
			func(e *edit) (any, error) { return e.makeCurrent(1, localeRows, &row), nil },
			`false: own="en" last=2 current=1 working=1 open=0`},
		{"a suggestion is open", begun, func(e *edit) (any, error) { return "", e.suggest(TextID{1}, suggestionRow{State: Open}) },
			`: own="en" last=2 current=1 working=1 open=1; 5:01000000000000000000000000000000`},
	} {
		e := &edit{head: c.head}
		result, err := c.do(e)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := fmt.Sprintf("%v: %s", result, e.describe(t)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestEdits_BeyondALimitAreRefused(t *testing.T) {
	for name, do := range map[string]func() error{
		"branches": func() error {
			_, err := (&edit{head: Head{Last: MaxBranches}}).branch(branchRow{}, nil)
			return err
		},
		"open suggestions": func() error { return (&edit{head: Head{Open: MaxOpen}}).suggest(TextID{}, suggestionRow{}) },
		"revisions": func() error {
			_, err := (&edit{head: newHead}).save(branchLocale{1, ""}, LocaleRow{Last: urlname.MaxNumber}, revisionRow{}, true)
			return err
		},
	} {
		if err := do(); fault.ReasonOf(err) != fault.ReasonTooMany {
			t.Errorf("too many %s: %v", name, err)
		}
	}
	if n, err := (&edit{head: Head{Last: MaxBranches - 1}}).branch(branchRow{}, nil); n != MaxBranches || err != nil {
		t.Errorf("branch %d, %v", n, err)
	}
	if err := (&edit{head: Head{Open: MaxOpen - 1}}).suggest(TextID{}, suggestionRow{}); err != nil {
		t.Error(err)
	}
}

func TestCheckBase_RefusesAnotherRevisionThanTheCurrentOne(t *testing.T) {
	two, none := 2, None
	for _, c := range []struct {
		base    *int
		current int
		ok      bool
	}{{nil, 5, true}, {nil, None, true}, {&two, 2, true}, {&two, 3, false}, {&two, None, false}, {&none, None, true}, {&none, 0, false}} {
		err := checkBase(c.base, LocaleRow{Last: 9, Current: c.current, Working: 2}, "baseRevision")
		if (err == nil) != c.ok {
			t.Errorf("base %v, current %d: %v", c.base, c.current, err)
		}
		if err == nil {
			continue
		}
		if fault.ReasonOf(err) != fault.ReasonRevision || c.current != None &&
			!strings.Contains(err.Error(), fmt.Sprint("revision ", c.current, " is current")) {
			t.Errorf("base %v, current %d: %v", c.base, c.current, err)
		}
	}
}

func TestDecide_SuggestionIsDecidedOnce(t *testing.T) {
	open := suggestionRow{Branch: 1, Locale: "en", Title: "S", Size: 9000, Author: "u:t:a", Base: 4, State: Open, Revision: None}
	h := Head{Begun: true, Locale: "en", Last: 1, Current: 1, Working: 1, Open: 3}
	e := &edit{head: h}
	n, err := e.accept(someText, open, LocaleRow{4, 4, 4}, "u:t:ed", 9, false)
	if n != 5 || err != nil {
		t.Fatalf("revision %d, %v", n, err)
	}
	const want = `own="en" last=1 current=1 working=1 open=2; 3:0000000001/en=5,5,5; 4:0000000001/en/0000000005; 5:010200000000000000000000000000ff; visible [{en 5}] "S"; title="S"`
	if got := e.describe(t); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	revision, err := decodeRevision(e.rows[1].Value)
	if err != nil || revision != (revisionRow{Title: "S", Text: text{ID: someText, Size: 9000}, Author: "u:t:ed",
		CreatedAt: 9, Base: 4, Suggestion: someText.String()}) {
		t.Errorf("revision %+v, %v", revision, err)
	}
	decided, err := decodeSuggestion(e.rows[2].Value)
	if err != nil || decided.State != Accepted || decided.DecidedBy != "u:t:ed" || decided.Revision != 5 || decided.Title != "S" {
		t.Errorf("suggestion %+v, %v", decided, err)
	}
	if _, err := (&edit{head: h}).accept(someText, decided, LocaleRow{5, 5, 5}, "u:t:ed", 9, true); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("accepted again: %v", err)
	}
	for _, to := range []State{Rejected, Withdrawn} {
		if err := (&edit{head: h}).decide(someText, decided, to, "u:t:ed", None); fault.CodeOf(err) != fault.Conflict ||
			fault.ReasonOf(err) != fault.ReasonVersion {
			t.Errorf("%s after it was accepted: %v", to, err)
		}
		e := &edit{head: h}
		if err := e.decide(someText, open, to, "u:t:ed", None); err != nil || e.head.Open != 2 || e.visible || len(e.rows) != 1 {
			t.Errorf("%s: %v, %s", to, err, e.describe(t))
		}
	}
	moved := LocaleRow{6, 6, 6}
	if _, err := (&edit{head: h}).accept(someText, open, moved, "u:t:ed", 9, false); fault.ReasonOf(err) != fault.ReasonRevision {
		t.Errorf("accepted on another base: %v", err)
	}
	if n, err := (&edit{head: h}).accept(someText, open, moved, "u:t:ed", 9, true); n != 7 || err != nil {
		t.Errorf("accepted by force: %d, %v", n, err)
	}
}
