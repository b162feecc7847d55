package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"carrel/library"
)

// wantedOfCompression is the highest cost of a compressed page, in uncompressed pages, at
// which compression is on by default (ADR 40).
const wantedOfCompression = 1.1

// measureCompression compares a page with the same page compressed.
func measureCompression(ctx context.Context, o *options, t *table) error {
	g, err := o.fresh(ctx, filepath.Join(o.dir, "compression"), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.createLibrary(ctx, mediumOwner, smallSize); err != nil {
		return err
	}
	var plainBytes, bytes int
	plain, err := g.viaEncoding(ctx, pageSpec{owner: mediumOwner}, "identity", &plainBytes)
	if err != nil {
		return err
	}
	compressed, err := g.viaEncoding(ctx, pageSpec{owner: mediumOwner}, "gzip", &bytes)
	if err != nil {
		return err
	}
	costs, err := compare(subject{"plain", plain}, subject{"compressed", compressed})
	if err != nil {
		return err
	}
	t.title("A page of 20 edges with creator, compressed (CPU a page, of the handler without its connection)")
	t.figure("uncompressed", micros(costs[0].cpu))
	t.ratio("compressed, as with --compress", micros(costs[1].cpu), ratio(costs[1], costs[0]), wantedOfCompression)
	t.figure("bytes of the page; compressed", fmt.Sprintf("%d; %d", plainBytes, bytes))
	return nil
}

// viaEncoding is viaEdge for a client that accepts an encoding. bytes is set to the size
// of the response.
func (g *gateway) viaEncoding(ctx context.Context, p pageSpec, encoding string, bytes *int) (func() error, error) {
	h, token, err := g.handler(p.owner)
	if err != nil {
		return nil, err
	}
	body, w := pageBody(p), newSink()
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, body)
		if err != nil {
			return err
		}
		r.Header.Set("Accept-Encoding", encoding)
		w.reset()
		h.ServeHTTP(w, r)
		encoded := w.header.Get("Content-Encoding") == "gzip"
		if *bytes = w.body.Len(); w.status != http.StatusOK || encoded != (encoding == "gzip") {
			return fmt.Errorf("status %d, encoded %q", w.status, w.header.Get("Content-Encoding"))
		}
		return nil
	}, nil
}
