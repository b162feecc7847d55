package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	wantedStart  = 2 * time.Second
	wantedMemory = 400 << 20
	pagesRead    = 20_000
)

// measureStart starts the built gateway on the large store, and measures the time from
// the command to the line that contains its address, and its memory before and after it
// has served pages from all over the library.
func measureStart(ctx context.Context, o *options, t *table) error {
	if err := seedLarge(ctx, o); err != nil {
		return err
	}
	p, err := o.serve(ctx, o.largeDir())
	if err != nil {
		return err
	}
	defer p.stop()
	token, err := p.token(ctx, largeOwner)
	if err != nil {
		return err
	}
	idle, _, err := residentOf(p.command.Process.Pid)
	if err != nil {
		return err
	}
	if err := readPages(ctx, p.address, token); err != nil {
		return err
	}
	now, peak, err := residentOf(p.command.Process.Pid)
	if err != nil {
		return err
	}
	t.title("The built gateway on a store with %d entries", o.entries)
	t.required("start, until the address is printed", millis(p.took), "<= 2 s", p.took <= wantedStart)
	t.figure("resident after the start", mebibytes(idle))
	t.required(fmt.Sprintf("resident after %d pages of the library", pagesRead), mebibytes(now), "<= 400 MiB", now <= wantedMemory)
	t.required("the most it had resident", mebibytes(peak), "<= 400 MiB", peak <= wantedMemory)
	return nil
}

// readPages walks the large library with several parallel clients, each in its own way.
func readPages(ctx context.Context, address, token string) error {
	return parallel(clients, func(n int) error {
		at := pageSpec{owner: largeOwner, descending: n%2 == 1}
		for range pagesRead / clients {
			answer, err := (&pageRequest{token: token, body: pageBody(at)}).send(ctx, http.DefaultClient, "http://"+address+"/graphql")
			if err = errors.Join(err, whole(http.StatusOK, answer)); err != nil {
				return err
			}
			if !bytes.Contains(answer, []byte(`"hasNextPage":true`)) {
				return nil // the library is shorter than the walk
			}
			at.after = endCursor(answer)
		}
		return nil
	})
}

// endCursor returns the end cursor of a page.
func endCursor(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte(`"endCursor":"`))
	cursor, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(cursor)
}
