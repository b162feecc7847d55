package listing_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// cursorFixture is a library of ten items.
func cursorFixture(t testing.TB) *domaintest.Rows {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "g:acme:team")
	for i := range 10 {
		r.Item(numberedID(i), clock.Instant(10*i+10), principal.Public,
			domaintest.ContentMember("u:acme:ann", library.Viewing), domaintest.ContentMember("u:acme:bob", library.Viewing))
	}
	return r
}

func readAfter(r *domaintest.Rows, v *principal.Viewer, owner principal.ID, cursor string,
	q library.LibraryQuery) (*library.LibraryConnection, error) {
	q.PageArgs = domaintest.FirstAfter(20, &cursor)
	return r.Listing.Library(r.T.Context(), v, owner, q)
}

// TestCursor_IsBoundToItsConnection: a cursor works for viewers who read the same connection in the
// same way, and for nobody else.
func TestCursor_IsBoundToItsConnection(t *testing.T) {
	r := cursorFixture(t)
	r.Item("c:acme:group", 5, principal.Public, domaintest.ContentMember("g:acme:team", library.Viewing))
	cursor := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[4].Cursor()
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		owner  principal.ID
		q      library.LibraryQuery
		good   bool
	}{
		{"the same", domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}, true},
		{"another viewer of the same bucket", domaintest.Eve(), "u:acme:ann", library.LibraryQuery{}, true},
		{"another bucket", domaintest.Bob(), "u:acme:ann", library.LibraryQuery{}, false},
		{"the owner", domaintest.Ann(), "u:acme:ann", library.LibraryQuery{}, false},
		{"another order", domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Descending: true}, false},
		{"with includeShared", domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{IncludeShared: true}, false},
		{"another library", domaintest.Anonymous(), "u:acme:bob", library.LibraryQuery{}, false},
		{"a group's library", domaintest.Anonymous(), "g:acme:team", library.LibraryQuery{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := readAfter(r, c.viewer, c.owner, cursor, c.q)
			if !c.good {
				domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
				return
			}
			if err != nil || len(conn.Edges) != 5 {
				t.Errorf("%v, %v", conn, err)
			}
		})
	}
	t.Run("another kind of connection", func(t *testing.T) {
		members, err := r.Library.Members(t.Context(), domaintest.Anonymous(), numberedID(0), domaintest.First(1))
		r.Must(err)
		_, err = readAfter(r, domaintest.Anonymous(), "u:acme:ann", members.Edges[0].Cursor(), library.LibraryQuery{})
		domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
		_, err = r.Library.Members(t.Context(), domaintest.Anonymous(), numberedID(1),
			domaintest.FirstAfter(1, domaintest.Ptr(members.Edges[0].Cursor())))
		domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
		_, err = r.Library.Members(t.Context(), domaintest.Anonymous(), numberedID(0), domaintest.FirstAfter(1, &cursor))
		domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
	})
}

// TestCursor_ModifiedIsRefused: no modified cursor is accepted, however small the change.
func TestCursor_ModifiedIsRefused(t *testing.T) {
	r := cursorFixture(t)
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{})
	cursor := conn.Edges[4].Cursor()
	if _, err := readAfter(r, domaintest.Anonymous(), "u:acme:ann", cursor, library.LibraryQuery{}); err != nil {
		t.Fatalf("the cursor itself: %v", err)
	}
	bytes, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatalf("not base64url without padding: %v", err)
	}
	if strings.Contains(string(bytes), "acme") {
		t.Error("the cursor shows what is in it")
	}
	bad := map[string]string{
		"cut": cursor[:len(cursor)-4], "padded": cursor + "=", "twice": cursor + cursor, "line break": cursor[:9] + "\n" + cursor[9:],
		"longer": cursor + "AAAA", "very long": strings.Repeat("A", 1<<20), "one character": "A", "NUL": "\x00", "not ASCII": "ü" + cursor,
		"upper case": strings.ToUpper(cursor),
	}
	for i := range bytes {
		for bit := range 8 {
			changed := append([]byte(nil), bytes...)
			changed[i] ^= 1 << bit
			bad[fmt.Sprintf("bit %d of byte %d", bit, i)] = base64.RawURLEncoding.EncodeToString(changed)
		}
	}
	for name, c := range bad {
		if _, err := readAfter(r, domaintest.Anonymous(), "u:acme:ann", c, library.LibraryQuery{}); fault.ReasonOf(err) != fault.ReasonBadCursor {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCursor_IsStable: a walk's edge has one cursor, however often and by whichever process it is
// read, and edges have different ones of one length.
func TestCursor_IsStable(t *testing.T) {
	fs := vfs.NewMem()
	store, err := pebblestore.Open("store", pebblestore.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	r := domaintest.NewRows(t)
	r.Store = store
	r.Services = r.OpenProcess(store.Store)
	r.Principals("u:acme:ann")
	addNumbered(r, 10)
	q := library.LibraryQuery{Descending: true}
	before := r.Read(domaintest.Ann(), "u:acme:ann", q)
	again := r.OpenProcess(store.Store)
	r.Must(store.Close())
	if store, err = pebblestore.Open("store", pebblestore.Options{FS: fs}); err != nil {
		t.Fatal(err)
	}
	defer func() { r.Must(store.Close()) }()
	r.Store = store
	r.Services = r.OpenProcess(store.Store)
	after := r.Read(domaintest.Ann(), "u:acme:ann", q)
	seen := map[string]bool{}
	for i, e := range before.Edges {
		if e.Cursor() != after.Edges[i].Cursor() {
			t.Errorf("edge %d has another cursor after a restart", i)
		}
		if seen[e.Cursor()] || len(e.Cursor()) != 104 {
			t.Errorf("edge %d has the cursor %s", i, e.Cursor())
		}
		seen[e.Cursor()] = true
	}
	if again == nil || len(seen) != 10 {
		t.Errorf("%d cursors", len(seen))
	}
	conn, err := readAfter(r, domaintest.Ann(), "u:acme:ann", before.Edges[4].Cursor(), q)
	if err != nil || len(conn.Edges) != 5 {
		t.Errorf("a cursor from before the restart: %v, %v", conn, err)
	}
	// Another store has other keys.
	foreign := cursorFixture(t)
	_, err = readAfter(foreign, domaintest.Ann(), "u:acme:ann", before.Edges[4].Cursor(), q)
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
}

// TestCursor_HoldsTheLongestIDs: cursors hold ids of any legal length.
func TestCursor_HoldsTheLongestIDs(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	for i, n := range []int{1, 128, 60} {
		id := library.ContentID("c:" + strings.Repeat("t", 32) + ":" + strings.Repeat("x", n))
		r.Item(id, clock.Instant(i+1), principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
	}
	got := walkAll(r, domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}, 1, true)
	wantSame(r, []string{strings.Repeat("x", 1), strings.Repeat("x", 128), strings.Repeat("x", 60)}, got)
}

// TestKeyRing_InvalidIsRefused: a setting that is no key ring stops the process at start. Otherwise
// it would make cursors that no other process can read.
func TestKeyRing_InvalidIsRefused(t *testing.T) {
	ring := func(n int, ids ...byte) []byte {
		b := []byte{1}
		for _, id := range ids {
			b = append(b, append([]byte{id}, make([]byte, n)...)...)
		}
		return b
	}
	for _, c := range []struct {
		name string
		ring []byte
		good bool
	}{
		{"one key", ring(64, 1), true},
		{"three keys", ring(64, 3, 1, 2), true},
		{"empty", nil, false},
		{"no key", []byte{1}, false},
		{"short key", ring(63, 1), false},
		{"another version", append([]byte{2}, ring(64, 1)[1:]...), false},
		{"two keys of one id", ring(64, 1, 1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			if _, err := store.Registers.PutSettingIfAbsent(t.Context(), "cursor-keys", c.ring); err != nil {
				t.Fatal(err)
			}
			_, err = domain.Open(t.Context(), domain.Config{Store: store.Store, Runtime: sched.NewReal(), Journal: &domaintest.RepairLog{}})
			if (err == nil) != c.good {
				t.Errorf("error %v, want none: %v", err, c.good)
			}
		})
	}
}

// TestKeyRing_OlderKeysAreAccepted: what an older key of the ring has sealed can still be read.
func TestKeyRing_OlderKeysAreAccepted(t *testing.T) {
	key := func(id byte) []byte {
		b := make([]byte, 65)
		for i := range b {
			b[i] = id
		}
		return b
	}
	build := func(ring []byte) *domaintest.Rows {
		r := domaintest.NewRows(t)
		store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		_, err = store.Registers.PutSettingIfAbsent(t.Context(), "cursor-keys", ring)
		r.Must(err)
		r.Store = store
		r.Services = r.OpenProcess(store.Store)
		r.Principals("u:acme:ann")
		addNumbered(r, 3)
		return r
	}
	old := build(append([]byte{1}, key(1)...))
	rotated := build(append(append([]byte{1}, key(2)...), key(1)...))
	cursor := old.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[0].Cursor()
	conn, err := readAfter(rotated, domaintest.Anonymous(), "u:acme:ann", cursor, library.LibraryQuery{})
	if err != nil {
		t.Fatalf("a cursor of the older key: %v", err)
	}
	rotated.WantNames(conn, "n01", "n02")
	_, err = readAfter(old, domaintest.Anonymous(), "u:acme:ann", conn.Edges[0].Cursor(), library.LibraryQuery{})
	domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
}

// FuzzCursor: whatever a client sends is one of the cursors that were issued, or BAD_CURSOR; it
// never causes a crash.
func FuzzCursor(f *testing.F) {
	r := cursorFixture(f)
	given := map[string]bool{}
	for range 2 {
		conn, err := r.Listing.Library(f.Context(), domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{})
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range conn.Edges {
			given[e.Cursor()] = true
			f.Add(e.Cursor())
		}
	}
	for _, s := range []string{"", "A", "AQE", "====", "AQH_", strings.Repeat("A", 104), strings.Repeat("_", 296), "ü", "\n", "eyJhIjoxfQ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, from string) {
		_, err := r.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann",
			library.LibraryQuery{PageArgs: cursor.PageArgs{After: &from}})
		if given[from] != (err == nil) {
			t.Errorf("cursor %q, given out: %v: %v", from, given[from], err)
		}
		if err != nil && fault.ReasonOf(err) != fault.ReasonBadCursor {
			t.Errorf("cursor %q: %v", from, err)
		}
	})
}
