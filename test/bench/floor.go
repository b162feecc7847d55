package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"carrel/domain"
	"carrel/library"
	"carrel/principal"
)

// floor is the cheapest handler that can answer a page of 20 edges with creator from this
// store. It is written by hand for this page, without authentication, visibility,
// GraphQL, cursor keys or limits. Whatever the gateway costs beyond it is the price of
// those.
type floor struct{ store domain.Store }

const pageSize = 20

func newFloor(store domain.Store) http.Handler { return pageHandler((&floor{store}).page) }

// pageHandler returns a handler of GET ?owner=ID. page appends the answer.
func pageHandler(page func(ctx context.Context, owner string, out []byte) ([]byte, error)) http.Handler {
	pool := sync.Pool{New: func() any { return new([]byte) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := pool.Get().(*[]byte)
		defer pool.Put(out)
		var err error
		if *out, err = page(r.Context(), r.URL.Query().Get("owner"), (*out)[:0]); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(*out))}
		_, _ = w.Write(*out)
	})
}

// page reads a slice, its headers and their creators, and appends the answer.
func (f *floor) page(ctx context.Context, owner string, out []byte) ([]byte, error) {
	entries, err := f.store.Libraries.PageLibrary(ctx, library.Slice{
		Owner: principal.ID(owner), Bucket: principal.Private, Ascending: true, Limit: pageSize + 1,
	})
	if err != nil {
		return out, err
	}
	more := len(entries) > pageSize
	if more {
		entries = entries[:pageSize]
	}
	ids := make([]library.ContentID, len(entries))
	for i, e := range entries {
		ids[i] = e.Content
	}
	items, err := f.store.Contents.ReadMany(ctx, ids, nil)
	if err != nil {
		return out, err
	}
	authors := make([]principal.ID, len(items))
	for i := range items {
		authors[i] = items[i].Header.Creator
	}
	people, err := f.store.Principals.ReadPrincipals(ctx, authors)
	if err != nil {
		return out, err
	}
	return appendPage(out, entries, more, func(i int) (*library.Content, *principal.Header) {
		return &items[i].Header.Content, &people[i]
	}), nil
}

// appendPage writes a page. of returns the item of an entry, and its creator.
func appendPage(out []byte, entries []library.Entry, more bool, of func(i int) (*library.Content, *principal.Header)) []byte {
	out = append(out, `{"data":{"user":{"library":{"edges":[`...)
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		item, by := of(i)
		out = appendEdge(out, e, item, by)
	}
	out = append(out, `],"pageInfo":{"hasNextPage":`...)
	out = strconv.AppendBool(out, more)
	out = append(out, `,"endCursor":"`...)
	if n := len(entries); n > 0 {
		out = appendCursor(out, entries[n-1])
	}
	return append(out, `"}}}}}`...)
}

func appendEdge(out []byte, e library.Entry, c *library.Content, by *principal.Header) []byte {
	out = append(out, `{"cursor":"`...)
	out = appendCursor(out, e)
	out = append(out, `","node":{"id":`...)
	out = appendText(out, string(c.ID))
	out = append(out, `,"title":`...)
	out = appendText(out, c.Title)
	out = append(out, `,"link":`...)
	out = appendText(out, linkOf(c))
	out = append(out, `,"visibility":"`...)
	out = append(out, c.Visibility.String()...)
	out = append(out, `","lastModified":"`...)
	out, _ = c.LastModified.AppendText(out) // it never fails
	out = append(out, `","createdBy":{"id":`...)
	out = appendText(out, string(by.ID))
	out = append(out, `,"displayName":`...)
	out = appendText(out, by.DisplayName)
	return append(out, `}}}`...)
}

// appendText writes a JSON string. Text without characters to escape, which is nearly all
// text, is copied.
func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string is always encoded
			}
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

// appendCursor writes the position of an entry unencrypted, so that a reader learns its
// time and id. The gateway's sealed cursors hide them.
func appendCursor(out []byte, e library.Entry) []byte {
	var place [8 + 160]byte
	binary.BigEndian.PutUint64(place[:], uint64(e.Position))
	n := 8 + copy(place[8:], e.Content)
	return base64.RawURLEncoding.AppendEncode(out, place[:n])
}

func linkOf(c *library.Content) string {
	if c.Link == nil {
		return ""
	}
	return *c.Link
}
