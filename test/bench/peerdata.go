package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"carrel/principal"
)

// A pageRequest is the request for the first page of one library, with Carrel's answer.
type pageRequest struct {
	token, body string
	want        []byte
}

// The data of the peers: a list of libraries.
type (
	peerLibrary struct {
		Owner peerUser   `json:"owner"`
		Edges []peerEdge `json:"edges"`
	}
	peerUser struct {
		ID          principal.ID `json:"id"`
		DisplayName string       `json:"displayName"`
	}
	peerEdge struct {
		Cursor string `json:"cursor"`
		Node   struct {
			ID           string   `json:"id"`
			Title        string   `json:"title"`
			Link         string   `json:"link"`
			Visibility   string   `json:"visibility"`
			LastModified string   `json:"lastModified"`
			CreatedBy    peerUser `json:"createdBy"`
		} `json:"node"`
	}
)

// A shownPage is the page of a library in a response.
type shownPage struct {
	Edges    []peerEdge `json:"edges"`
	PageInfo struct {
		HasNextPage bool   `json:"hasNextPage"`
		EndCursor   string `json:"endCursor"`
	} `json:"pageInfo"`
}

// exportForPeers reads the libraries from Carrel at the URL, writes them to the file, and returns
// the requests for their first pages.
func exportForPeers(ctx context.Context, url string, owners []principal.ID, tokens []string, file string) ([]*pageRequest, error) {
	client := &http.Client{Timeout: peerTimeout}
	libraries, pages := make([]peerLibrary, len(owners)), make([]*pageRequest, len(owners))
	for i, owner := range owners {
		libraries[i].Owner = peerUser{ID: owner, DisplayName: displayName(owner)}
		var err error
		if libraries[i].Edges, pages[i], err = readLibrary(ctx, client, url, owner, tokens[i]); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(libraries)
	if err != nil {
		return nil, err
	}
	return pages, os.WriteFile(file, text, 0o600)
}

// readLibrary pages through a library. It also returns the request for the first page.
func readLibrary(ctx context.Context, client *http.Client, url string, owner principal.ID, token string) (edges []peerEdge,
	first *pageRequest, err error) {
	at := pageSpec{owner: owner}
	for range peerEntries { // a page has at least one
		page := &pageRequest{token: token, body: pageBody(at)}
		if page.want, err = page.send(ctx, client, url); err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = page
		}
		shown, err := shownIn(page.want)
		if err != nil {
			return nil, nil, err
		}
		edges = append(edges, shown.Edges...)
		if !shown.PageInfo.HasNextPage {
			return edges, first, nil
		}
		at.after = shown.PageInfo.EndCursor
	}
	return nil, nil, fmt.Errorf("the library of %s does not end", owner)
}

// shownIn parses an answer.
func shownIn(answer []byte) (shownPage, error) {
	var parsed struct {
		Data struct {
			User struct {
				Library shownPage `json:"library"`
			} `json:"user"`
		} `json:"data"`
	}
	err := json.Unmarshal(answer, &parsed)
	return parsed.Data.User.Library, err
}

// sameButCursors reports whether two answers differ only in their cursors: Carrel's
// cursors contain the minute in which they were sealed.
func sameButCursors(a, b []byte) bool {
	for {
		beforeA, restA, foundA := bytes.Cut(a, []byte(`ursor":"`))
		beforeB, restB, foundB := bytes.Cut(b, []byte(`ursor":"`))
		if !bytes.Equal(beforeA, beforeB) || foundA != foundB {
			return false
		}
		if !foundA {
			return true
		}
		_, a, _ = bytes.Cut(restA, []byte(`"`))
		_, b, _ = bytes.Cut(restB, []byte(`"`))
	}
}

// peerTimeout bounds each request.
const peerTimeout = 10 * time.Second
