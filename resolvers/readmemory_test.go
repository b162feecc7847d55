package resolvers_test

import (
	"strings"
	"testing"

	answers "carrel/answer"
	"carrel/graph"
)

// TestMemory_WhatIsReadCounts: the texts of what is read are held for the answer, also if they are not
// selected, however the operation is executed.
func TestMemory_WhatIsReadCounts(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(20)
	text := strings.Repeat("x", 10_000)
	ids := make([]string, 0, 20)
	for _, n := range []string{"000", "001", "002", "003", "004", "005", "006", "007", "008", "009"} {
		id := "c:acme:item" + n
		g.must(admin(), `mutation($id: ID!, $d: String) { updateContent(input: {id: $id, description: $d, visibility: PUBLIC}) { userErrors { code } } }`, "id", id, "d", text)
		g.must(admin(), `mutation($b: String!) { createPaste(input: {body: $b}) { userErrors { code } } }`, "b", text[:3000]) // not a long one
		ids = append(ids, `"`+id+`"`)
	}
	const items = 100_000 // bytes
	for name, c := range map[string]struct {
		query string
		read  int
	}{
		"latest content": {`{ latestContent(tenant: "acme", first: 100) { nodes { id } } }`, items},
		"nothing of it":  {`{ latestContent(tenant: "acme", first: 100) { __typename } }`, items},
		"two aliases": {`{ latestContent(tenant: "acme", first: 100) { __typename } b: latestContent(tenant: "acme") { __typename } }`,
			2 * items},
		"a library":        {`{ user(id: "u:acme:eve") { library(first: 100) { nodes { id } } } }`, items},
		"an unplanned one": {`{ user(id: "u:acme:eve") { email library(first: 100) { nodes { id createdBy { id email } } } } }`, items},
		"nodes":            {`{ nodes(ids: [` + strings.Join(ids, ",") + `]) { id } }`, items},
		"latest pastes":    {`{ latestPastes(first: 100) { nodes { id } } }`, 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			for way, exec := range map[string]graph.Executor{"planned": g.exec, "unplanned": g.slow} {
				if _, err := g.boundedIn(answers.NewMemory(c.read+70_000, 1<<20), exec, as("u:acme:eve"), c.query, 1<<20); err != nil {
					t.Errorf("%s: with memory for it: %v", way, err)
				}
				if _, err := g.boundedIn(answers.NewMemory(c.read-2_000, 1<<20), exec, as("u:acme:eve"), c.query, 1<<20); err != answers.ErrNoMemory {
					t.Errorf("%s: without memory for it: %v", way, err)
				}
			}
		})
	}
	t.Run("a planned operation", func(t *testing.T) {
		text := `{ user(id: "u:acme:eve") { library(first: 100) { nodes { id } } } }`
		e := g.execution(as("u:acme:eve"), text, nil)
		e.Plans, e.Body = graph.NewPlanCache(text), answers.New(1<<20, answers.NewMemory(items-2_000, 1<<20), "", nil)
		plans := &answering{Executor: g.exec, counts: map[string]int{}}
		errs := plans.Execute(t.Context(), e)
		if e.Body.Release(); plans.last != "planned" || len(errs) > 0 || e.Body.Err() != answers.ErrNoMemory {
			t.Errorf("%s, %v, %v", plans.last, errs, e.Body.Err())
		}
	})
}
