package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"carrel/principal"
)

// What is compared with PostgreSQL, on the users, groups and items of peers/data.mjs.
const (
	peerDepth   = 100_000 // edges before the deep page
	peerWalk    = 100     // edges of a page on the way there
	peerReaders = 1000    // libraries that show the item that is updated
)

const (
	postgraphileName = "PostGraphile on PostgreSQL"

	updateQuery = `mutation Update($id: ID!, $title: String!) {
	updateContent(input: {id: $id, title: $title}) { content { title } fanOut { state } } }`

	// postgraphilePage is pageQuery in PostGraphile's schema.
	postgraphilePage = `query Page($owner: String!, $after: Cursor) { user: principalByRowId(rowId: $owner) {
	library(first: 20, after: $after, orderBy: [LAST_MODIFIED_ASC]) {
	edges { cursor node { id: rowId title link visibility lastModified createdBy: creator { id: rowId displayName } } }
	pageInfo { hasNextPage endCursor } } } }`
	postgraphileUpdate = `mutation Update($id: String!, $title: String!) {
	updateContentByRowId(input: {rowId: $id, contentPatch: {title: $title}}) { content { title } } }`
)

// speakPostgraphile turns the pages of the owners' libraries into queries for PostGraphile.
func (p *peer) speakPostgraphile(owners []principal.ID) {
	carrel := p.pages
	p.same, p.page, p.change, p.pages = sameAsPostGraphile, postgraphilePage, postgraphileUpdate, nil
	for i, page := range carrel {
		p.pages = append(p.pages, &pageRequest{page.token, pageBody(pageSpec{query: p.page, owner: owners[i]}), page.want})
	}
}

// sameAsPostGraphile is sameButCursors for PostGraphile, which writes UTC as an offset.
func sameAsPostGraphile(got, want []byte) bool {
	return sameButCursors(bytes.ReplaceAll(got, []byte("+00:00"), []byte("Z")), want)
}

// compareWithPostgres measures what depends on how the database is asked. The first peer is Carrel.
func compareWithPostgres(ctx context.Context, out io.Writer, s *served, pair []*peer) error {
	carrel, plan := pair[0], peerPlan{rounds: 5, long: 2 * time.Second, most: 500_000}
	for _, c := range []struct {
		title         string
		viewer, owner principal.ID
		depth         int
	}{
		{fmt.Sprintf("A page after %d edges", peerDepth), largeOwner, largeOwner, peerDepth},
		{"The first page of what a user shares with the viewer's 300 groups, one item in ten", "u:bench:grouped", "u:bench:sharer", 0},
	} {
		token, err := s.token(ctx, c.viewer)
		if err != nil {
			return err
		}
		if c.viewer != c.owner { // the policies of PostgreSQL always include what is shared
			carrel.page = strings.Replace(pageQuery, "first: 20", "first: 20, includeShared: true", 1)
		}
		for _, p := range pair {
			if err := p.goTo(ctx, token, c.owner, c.depth); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			p.pages[0].want = carrel.pages[0].want
		}
		results, err := measureInTurns(ctx, pair, plan)
		if err != nil {
			return err
		}
		if err := printPeers(out, c.title, results); err != nil {
			return err
		}
	}
	owner, err := s.token(ctx, mediumOwner)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nAn update until %d libraries show it, median of %d and the furthest from it\n", peerReaders, plan.rounds)
	for _, p := range pair {
		took := make([]float64, plan.rounds+1)
		for n := range took {
			if took[n], err = p.update(ctx, owner, peerReaders, fmt.Sprint("Title ", n)); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		fmt.Fprintf(out, "%16s %s\n", medianOf(took[1:]).in("%.0f ms"), p.name)
	}
	return nil
}

// goTo makes the page after depth edges of the library the only one to measure, with p's answer.
func (p *peer) goTo(ctx context.Context, token string, owner principal.ID, depth int) (err error) {
	client, at := &http.Client{Timeout: peerTimeout}, pageSpec{owner: owner}
	at.query = strings.Replace(p.page, "first: 20", fmt.Sprint("first: ", peerWalk), 1)
	for range depth / peerWalk {
		answer, err := (&pageRequest{token: token, body: pageBody(at)}).send(ctx, client, p.url)
		if err != nil {
			return err
		}
		at.after = endCursor(answer)
	}
	at.query = p.page
	page := &pageRequest{token: token, body: pageBody(at)}
	p.pages = []*pageRequest{page}
	if page.want, err = page.send(ctx, client, p.url); err == nil {
		err = whole(http.StatusOK, page.want)
	}
	return err
}

// update changes the title of mediumOwner's item. It returns the milliseconds until the libraries of its owner
// and of the readers below the given number show it, each in its new place.
func (p *peer) update(ctx context.Context, token string, readers int, title string) (float64, error) {
	client, began := &http.Client{Timeout: peerTimeout}, time.Now()
	change := &pageRequest{token: token, body: string(body(p.change, map[string]any{"id": itemID(mediumOwner, 0), "title": title}))}
	answer, err := change.send(ctx, client, p.url)
	took := time.Since(began)
	if err == nil && bytes.Contains(answer, []byte("RUNNING")) {
		err = fmt.Errorf("the answer did not wait for all libraries: %.300q", answer)
	}
	for n, late := 0, false; n < readers && err == nil; {
		at := pageSpec{owner: mediumOwner, query: p.page}
		if n > 0 {
			at.owner = reader(n)
		}
		answer, err = (&pageRequest{token: token, body: pageBody(at)}).send(ctx, client, p.url)
		missing := !bytes.Contains(answer, fmt.Appendf(nil, "%q", title))
		if late || missing {
			took = time.Since(began)
		}
		if late = missing; !missing {
			n++
		} else if err == nil && took > peerTimeout {
			err = fmt.Errorf("the library of %s does not show %q: %.300q", at.owner, title, answer)
		}
	}
	return inUnits(took, time.Millisecond), err
}
