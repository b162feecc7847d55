// Package headercache keeps headers that were read: those of items, each with the member rows that were read with
// it, and those of users and groups. It is a proxy over the Stores that the domain reads them by. Exact is for a
// store that only this process writes, Checked for one that other processes write too. The package does not know who
// sees what.
package headercache

import (
	"context"
	"math"
	"slices"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/lru"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// cache keeps the headers that were used last. It is safe for concurrent use.
type cache struct {
	*lru.Cache[key, *entry]
	limit int // of bytes
	// absent reports that items, users and groups that do not exist are kept, too: otherwise a look-up of a hidden
	// one would take less time than one of a missing one.
	absent bool
}

// key identifies an entry: the id of an item, a user or a group, and the members whose rows were read with an item.
type key struct {
	id            string
	first, second principal.ID
}

// entry is a header that was read. All readers share it, so nobody may change it.
type entry struct {
	key
	value any // *library.ContentRows or *principal.Header
	bytes int
	mts   clock.Instant // of the state that was read
	at    moment
}

// moment is when an entry was read, as the rules of freshness need it: Exact the version, Checked the time.
type moment struct {
	version
	sched.Moment
}

func newCache(limit int) *cache {
	return &cache{limit: limit, Cache: lru.New[key](math.MaxInt, limit, func(e *entry) int { return e.bytes }, nil)}
}

// find sets the values of keys whose entries serve accepts. It returns the indexes of all others.
func find[V any](c *cache, values []V, keyOf func(i int) key, serve func(i int, e *entry) bool) (missing []int) {
	for i := range values {
		if e, ok := c.Get(keyOf(i)); ok && serve(i, e) {
			values[i] = e.value.(V)
		} else {
			missing = append(missing, i)
		}
	}
	return missing
}

// put keeps the entries that have a value, except those of which it has a later state.
func (c *cache) put(entries []*entry) {
	for _, e := range entries {
		if e == nil || e.value == nil {
			continue
		}
		if old, ok := c.Get(e.key); !ok || old.mts <= e.mts {
			c.Put(e.key, e)
		}
	}
}

// items reads the missing ones of the items with the rows of members, and keeps those that exist, or all of them if
// absent is set. at is called before the read; ok reports whether what is read may be kept.
func (c *cache) items(ctx context.Context, store library.ContentStore, keyOf func(i int) key, members []principal.ID,
	rows []*library.ContentRows, missing []int, at func(id string) (m moment, ok bool)) ([]*library.ContentRows, error) {
	if len(missing) == 0 {
		return rows, nil
	}
	ids, entries := make([]library.ContentID, len(missing)), make([]*entry, len(missing))
	for n, i := range missing {
		k := keyOf(i)
		ids[n] = library.ContentID(k.id)
		if m, ok := at(k.id); ok {
			entries[n] = &entry{key: k, at: m}
		}
	}
	read, err := store.ReadMany(ctx, ids, members)
	if err != nil {
		return nil, err
	}
	for n, i := range missing {
		rows[i] = &read[n]
		if entries[n] != nil && (read[n].Header.State == commit.Live || c.absent) {
			rows[i] = entries[n].setItem(&read[n])
		}
	}
	c.put(entries)
	return rows, nil
}

// headers is items for users and groups.
func (c *cache) headers(ctx context.Context, store principal.Store, ids []principal.ID, headers []*principal.Header,
	missing []int, at func(id string) (m moment, ok bool)) ([]*principal.Header, error) {
	if len(missing) == 0 {
		return headers, nil
	}
	wanted, entries := make([]principal.ID, len(missing)), make([]*entry, len(missing))
	for n, i := range missing {
		wanted[n] = ids[i]
		if m, ok := at(string(ids[i])); ok {
			entries[n] = &entry{key: key{id: string(ids[i])}, at: m}
		}
	}
	read, err := store.ReadPrincipals(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for n, i := range missing {
		headers[i] = &read[n]
		if entries[n] != nil && (read[n].State.Used() || c.absent) {
			headers[i] = entries[n].setHeader(&read[n])
		}
	}
	c.put(entries)
	return headers, nil
}

// The memory of an entry without its texts, with its places in the map and the list; and of a member row.
const (
	itemBytes      = 960
	principalBytes = 560
	memberBytes    = 60
)

// setItem sets the value of an entry to a copy of rows, which it returns. Its texts are in memory of their own: those
// of rows share memory with everything else that was read at the same time.
func (e *entry) setItem(rows *library.ContentRows) *library.ContentRows {
	kept := &library.ContentRows{Header: rows.Header, Members: slices.Clone(rows.Members)}
	h := &kept.Header
	h.Page = slices.Clone(h.Page)
	texts := []*string{&e.id, (*string)(&e.first), (*string)(&e.second), (*string)(&h.ID), (*string)(&h.Creator), &h.Title,
		&h.FormerTitle, &h.CanonicalURL}
	for _, text := range []**string{&h.Description, &h.Link} {
		if *text != nil {
			copied := **text
			*text = &copied
			texts = append(texts, &copied)
		}
	}
	if h.ExpiresAt != nil {
		copied := *h.ExpiresAt
		h.ExpiresAt = &copied
	}
	for i := range kept.Members {
		texts = append(texts, (*string)(&kept.Members[i].Principal))
	}
	e.value, e.mts = kept, h.MTS
	e.bytes = itemBytes + len(h.Page) + memberBytes*len(kept.Members) + own(texts)
	return kept
}

// setHeader is setItem for a user or a group.
func (e *entry) setHeader(header *principal.Header) *principal.Header {
	kept := *header
	e.value, e.mts = &kept, kept.MTS
	e.bytes = principalBytes + own([]*string{&e.id, (*string)(&kept.ID), &kept.DisplayName, &kept.Email})
	return &kept
}

// own moves texts into memory of their own, and returns its size.
func own(texts []*string) int {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(*text)
	}
	all := b.String()
	for _, text := range texts {
		*text, all = all[:len(*text)], all[len(*text):]
	}
	return b.Len()
}
