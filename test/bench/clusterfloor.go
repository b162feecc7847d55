package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/gocql/gocql"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// clusterFloor is a handler that answers only this page from Cassandra. It sends only the
// statements that the page needs, in parallel where possible, by the same driver with the same
// settings. It has no authentication, visibility, GraphQL, sealed cursors, limits on requests in
// flight, or retries.
type clusterFloor struct{ session *gocql.Session }

// The statements of the page: its owner, the slice, the newest entry, the headers with
// the owner's member rows, and their creators.
const (
	floorPrincipal = `SELECT display_name, visibility, state FROM principal WHERE principal_id = ? AND kind = 0 AND key = '~'`
	floorSlice     = `SELECT position, content_id, mts, role, built FROM library_by_principal
 WHERE principal_id = ? AND bucket = 1 AND (position, content_id) > (?, '') ORDER BY bucket DESC, position ASC, content_id ASC LIMIT ?`
	floorNewest = `SELECT position, content_id FROM library_by_principal WHERE principal_id = ? AND bucket = 1 LIMIT 1`
	floorItem   = `SELECT kind, state, role, mseq, title, description, link, present, visibility, position, last_modified, creator, version, expires_at
 FROM content WHERE content_id = ? AND (kind, key) IN ((0, '~'), (1, ?))`
)

func newClusterFloor(hosts, keyspace string) (*clusterFloor, error) {
	cfg := gocql.NewCluster(strings.Split(hosts, ",")...)
	cfg.ProtoVersion, cfg.Keyspace, cfg.NumConns = 4, keyspace, 2
	cfg.Consistency, cfg.WriteCoalesceWaitTime = gocql.LocalQuorum, 0
	cfg.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	session, err := cfg.CreateSession()
	if err != nil {
		return nil, err
	}
	return &clusterFloor{session}, nil
}

// together calls do for 0 to n-1 in parallel and returns the errors.
func together(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// page sends the statements in four rounds: for the owner; for the slice and the newest entry; for
// the headers; and for their creators.
func (f *clusterFloor) page(ctx context.Context, owner string, out []byte) ([]byte, error) {
	if _, err := f.person(ctx, owner); err != nil {
		return out, err
	}
	var (
		entries []library.Entry
		newest  int64
	)
	err := together(2, func(i int) (err error) {
		if i == 0 {
			entries, err = f.slice(ctx, owner)
			return err
		}
		var id string
		return f.session.Query(floorNewest, owner).WithContext(ctx).Scan(&newest, &id)
	})
	if err != nil {
		return out, err
	}
	items := make([]library.Content, len(entries))
	active := make([]bool, len(entries))
	err = together(len(entries), func(i int) (err error) {
		items[i].ID = entries[i].Content
		active[i], err = f.item(ctx, owner, &items[i])
		return err
	})
	if err != nil {
		return out, err
	}
	shown := 0
	for i := range items {
		if active[i] && int64(entries[i].Position) <= newest {
			items[shown], entries[shown] = items[i], entries[i]
			shown++
		}
	}
	more := shown > pageSize
	items, entries = items[:min(shown, pageSize)], entries[:min(shown, pageSize)]
	people, err := f.creators(ctx, items)
	if err != nil {
		return out, err
	}
	return appendPage(out, entries, more, func(i int) (*library.Content, *principal.Header) { return &items[i], people[i] }), nil
}

// creators returns the creators of the items. It reads each creator only once.
func (f *clusterFloor) creators(ctx context.Context, items []library.Content) ([]*principal.Header, error) {
	people := make([]*principal.Header, len(items))
	at := map[principal.ID]int{}
	var distinct []int
	for i := range items {
		if _, known := at[items[i].Creator]; !known {
			at[items[i].Creator] = i
			distinct = append(distinct, i)
		}
	}
	err := together(len(distinct), func(n int) (err error) {
		i := distinct[n]
		people[i], err = f.person(ctx, string(items[i].Creator))
		return err
	})
	for i := range items {
		people[i] = people[at[items[i].Creator]]
	}
	return people, err
}

func (f *clusterFloor) person(ctx context.Context, id string) (*principal.Header, error) {
	h := &principal.Header{ID: principal.ID(id)}
	var visibility, state int8
	err := f.session.Query(floorPrincipal, id).WithContext(ctx).Scan(&h.DisplayName, &visibility, &state)
	return h, err
}

func (f *clusterFloor) slice(ctx context.Context, owner string) ([]library.Entry, error) {
	iter := f.session.Query(floorSlice, owner, int64(-1)<<63, pageSize+1).WithContext(ctx).Iter()
	es := make([]library.Entry, 0, pageSize+1)
	var (
		position, mts int64
		id            string
		role          int8
		built         bool
	)
	for iter.Scan(&position, &id, &mts, &role, &built) {
		es = append(es, library.Entry{EntryKey: library.EntryKey{Position: clock.Instant(position), Content: library.ContentID(id)}})
	}
	return es, iter.Close()
}

// item reads an item; active reports whether the owner is a member of it.
func (f *clusterFloor) item(ctx context.Context, owner string, c *library.Content) (active bool, err error) {
	iter := f.session.Query(floorItem, string(c.ID), owner).WithContext(ctx).Iter()
	var (
		kind, state, role, present, visibility  int8
		mseq, position, lastModified, expiresAt int64
		title, description, link, creator       string
		version                                 int
		live, member                            bool
	)
	for iter.Scan(&kind, &state, &role, &mseq, &title, &description, &link, &present, &visibility, &position, &lastModified,
		&creator, &version, &expiresAt) {
		if kind == 1 {
			member = state == 0
			continue
		}
		text := link
		live = state == int8(commit.Live)
		c.Title, c.Link, c.Visibility, c.Creator = title, &text, principal.Visibility(visibility), principal.ID(creator)
		c.LastModified = clock.Instant(lastModified)
	}
	return live && member, iter.Close()
}
