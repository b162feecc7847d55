package pebblestore

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs: existing stores can no longer be read. Got:\n%s", path, got)
	}
}

// TestKeys_Golden pins every form of key, and that the forms sort in this order.
func TestKeys_Golden(t *testing.T) {
	const c, u, g = library.ContentID("c:acme:a/b"), principal.ID("u:acme:ann"), principal.ID("g:acme:team")
	const pasted = paste.ID("p:00112233445566778899aabbccddeeff")
	request := commit.RequestKey{0: 0xab, 31: 0xcd}
	at := clock.Instant(1767225600123456)
	forms := []struct {
		name string
		key  []byte
	}{
		{"row of a paste before 1970", appendPasteRowKey(nil, pasted, -1)},
		{"row of a paste", appendPasteRowKey(nil, pasted, at)},
		{"claim", appendClaimKey(nil, claim.Email("acme", "ann@e.com"))},
		{"claim, next name", appendClaimKey(nil, claim.Email("acme", "ann@e.com.au"))},
		{"claim, longer space", appendClaimKey(nil, claim.Email("acme-2", "ann@e.com"))},
		{"claim of a url", appendClaimKey(nil, claim.URL("acme", "https://e.com/a"))},
		{"built", appendSingle(nil, tableBuilt, string(u))},
		{"content, header", appendHeaderKey(nil, tableContent, string(c))},
		{"content, member", appendMemberKey(nil, tableContent, string(c), u)},
		{"content, request", appendRequestKey(nil, tableContent, string(c), &request)},
		{"content, further row", appendRowKey(nil, c, library.RowKey{Kind: 3, Key: "0001/en"})},
		{"content, further row of the next kind", appendRowKey(nil, c, library.RowKey{Kind: 4})},
		{"due", appendDueKey(nil, commit.Reminder{At: at, Kind: commit.Content, Key: string(c)})},
		{"due, another kind", appendDueKey(nil, commit.Reminder{At: at, Kind: 'x', Key: "key"})},
		{"lease", appendSingle(nil, tableLease, "l:00112233445566778899aabbccddeeff")},
		{"format", []byte{tableFormat}},
		{"membership", appendPair(nil, tableMembership, string(u), string(g))},
		{"change", appendChangeKey(nil, u, &library.ChangeKey{At: at, Content: c, MTS: at - 1})},
		{"change, longer content", appendChangeKey(nil, u, &library.ChangeKey{At: at, Content: c + "/b", MTS: -1})},
		{"change, longer owner", appendChangeKey(nil, u+"/b", &library.ChangeKey{At: at, Content: c, MTS: at - 1})},
		{"change, next minute", appendChangeKey(nil, u, &library.ChangeKey{At: at.Add(time.Minute), Content: c, MTS: at - 1})},
		{"in-flight list", appendSingle(nil, tableInFlight, "00000000-0000-4000-8000-000000000001")},
		{"creation", appendSingle(nil, tableCreation, string(request[:]))},
		{"entry before 1970", appendEntryKey(nil, u, principal.Private, library.EntryKey{Position: -1, Content: c})},
		{"entry", appendEntryKey(nil, u, principal.Private, library.EntryKey{Position: at, Content: c})},
		{"entry, public", appendEntryKey(nil, u, principal.Public, library.EntryKey{Position: at, Content: c})},
		{"entry by title", appendEntryKey(nil, u, principal.Private, library.EntryKey{Title: "\x01\x02t", Content: c})},
		{"entry by title, public", appendEntryKey(nil, u, principal.Public, library.EntryKey{Title: "t", Content: c})},
		{"entry, longer owner", appendEntryKey(nil, u+"/b", principal.Private, library.EntryKey{Position: at, Content: c})},
		{"copy", []byte{tableCopy}},
		{"block", appendSingle(nil, tableBlock, "host-1")},
		{"pointer to a paste", appendPasteKey(nil, pasted)},
		{"principal, header", appendHeaderKey(nil, tablePrincipal, string(g))},
		{"principal, member", appendMemberKey(nil, tablePrincipal, string(g), u)},
		{"principal, request", appendRequestKey(nil, tablePrincipal, string(g), &request)},
		{"principal, escaped", appendHeaderKey(nil, tablePrincipal, "x\x00\x01\x02")},
		{"directory, whole", appendDirectoryKey(nil, principal.DirectoryKey{Whole: true, Name: "ann b"}, u)},
		{"directory", appendDirectoryKey(nil, principal.DirectoryKey{Name: "ann"}, u)},
		{"directory, longer", appendDirectoryKey(nil, principal.DirectoryKey{Name: "ann b"}, u)},
		{"shared", appendPair(nil, tableShared, string(u), string(c))},
		{"setting", appendSingle(nil, tableSetting, "cursor keys")},
		{"text of a page", appendTextKey(nil, note.TextID{1, 15: 2})},
		{"rebuild", appendSingle(nil, tableRebuild, string(u))},
		{"entry of a feed before 1970", appendFeedKey(nil, feed.Partition{Feed: "content:acme", Day: -1},
			feed.Entry{Created: -1, ID: string(c)})},
		{"entry of a feed", appendFeedKey(nil, feed.Partition{Feed: "content:acme", Day: 20454}, feed.Entry{Created: at, ID: string(c)})},
		{"entry of a feed, next shard", appendFeedKey(nil, feed.Partition{Feed: "content:acme", Day: 20454, Shard: 1},
			feed.Entry{Created: at, ID: string(c)})},
		{"entry of a feed, next day", appendFeedKey(nil, feed.Partition{Feed: "content:acme", Day: 20455},
			feed.Entry{Created: at, ID: string(c)})},
		{"draft", appendDraftKey(nil, u, "c:acme:n1/0000000001/en")},
		{"expiry", appendExpiryKey(nil, at, appendSingle(nil, tableCreation, string(request[:])))},
		{"body of a paste", appendBodyKey(nil, paste.BodyRef{Paste: "p:00112233445566778899aabbccddeeff", Body: paste.BodyID{1, 15: 2}})},
		{"day of a feed before 1970", appendBucketKey(nil, "pastes", -1)},
		{"day of a feed", appendBucketKey(nil, "pastes", 20454)},
	}
	var lines strings.Builder
	for n, f := range forms {
		fmt.Fprintf(&lines, "%-20s %q\n", f.name, f.key)
		if n > 0 && bytes.Compare(forms[n-1].key, f.key) >= 0 {
			t.Errorf("%s does not sort after %s", f.name, forms[n-1].name)
		}
	}
	golden(t, "keys.golden", lines.String())
}

// TestRows_Golden pins every form of value.
func TestRows_Golden(t *testing.T) {
	description, link, expires := "D", "https://e.com", clock.Instant(99)
	h := library.Header{State: commit.Live, Seq: 300, MTS: 7, Position: 6, Widest: principal.Public, MovesSince: 5,
		Moves: 4, Managers: 1, Members: 2,
		Unsettled: []library.Superseded{{Position: 3, Widest: principal.LoggedIn}},
		Writers:   []commit.Writer{{Seq: 299, Entry: commit.EntryID{1}}, {Seq: 300, Entry: commit.EntryID{2}}}}
	turned := h
	turned.LoggedInUntil, turned.PublicUntil = 5, 4
	moved := turned
	moved.MovedAt = 8
	h.Kind, h.Title, h.Description, h.Link, h.ExpiresAt = library.Link, "T", &description, &link, &expires
	h.Visibility, h.Creator, h.CreatedAt, h.LastModified, h.Version = principal.LoggedIn, "u:a:b", 1, 6, 2
	renamed := h
	renamed.UnsettledTitles = []library.SupersededTitle{{At: 9, Title: "t", Widest: principal.Public}}
	named := h
	named.CanonicalURL, named.Page = "https://e.com/", []byte{1}
	p := principal.Header{DisplayName: "N", Visibility: principal.Public, Email: "a@b", CreatedAt: 1, State: commit.Live,
		Seq: 2, MTS: 3, Managers: 4, Members: 5,
		Writers: []commit.Writer{{Seq: 2, Entry: commit.EntryID{9}}}}
	l := commit.InFlightList{Stamp: 5,
		Block: storetest.Block(commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:a:b", Base: 2, Due: 8, Decided: true,
			Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:a:c"}, All: true}})}
	forms := []struct {
		name string
		row  []byte
	}{
		{"header", appendHeader(nil, &h)},
		{"header, narrowed", appendHeader(nil, &turned)},
		{"header, moved", appendHeader(nil, &moved)},
		{"header, named", appendHeader(nil, &named)},
		{"header, renamed", appendHeader(nil, &renamed)},
		{"further row", appendBytes(nil, []byte("V"))},
		{"member", appendGroupMember(nil, &principal.GroupMemberRow{Role: 3, Leaving: true, Seq: 300, Since: 9})},
		{"membership", appendMembership(nil, 2, 9)},
		{"member of content", appendContentMember(nil, &library.Member{Role: 3, Leaving: true, Seq: 300, Since: 9, RemovedFrom: 14})},
		{"request", appendRequest(nil, &commit.RequestRow{InputHash: [32]byte{1}, Answer: []byte("A"), Until: 4})},
		{"entry", appendEntry(nil, &library.Entry{Role: library.Manages, MTS: 7})},
		{"entry by title", appendEntry(nil, &library.Entry{EntryKey: library.EntryKey{Title: "t"}, Role: library.Manages, MTS: 7,
			TitleHash: 258})},
		{"change", appendChange(nil, library.Buckets(0).With(principal.LoggedIn).With(principal.Public),
			library.Buckets(0).With(principal.Private), library.Cause{Reason: library.ReasonRole, By: "u:a:b"})},
		{"change by nobody", appendChange(nil, 0, 0, library.Cause{Reason: library.ReasonExpired})},
		{"role", appendRole(nil, 2)},
		{"principal", appendPrincipal(nil, &p)},
		{"directory", appendDirectoryRow(nil, principal.LoggedIn, 7)},
		{"in-flight list", appendInFlightList(nil, &l)},
		{"renaming", appendInFlightList(nil, &commit.InFlightList{Stamp: 5,
			Block: storetest.Block(commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:a:b", Base: 2,
				Reach: commit.Reach{Scope: commit.ScopeListed, Former: "N"}})})},
		{"due", appendDue(nil, 7)},
		{"creation", appendCreation(nil, &commit.Creation{InputHash: [32]byte{2}, ID: "c:a:b", Until: 4})},
		{"setting", appendBytes(nil, []byte("v"))},
		{"next", appendNext(nil, 1001)},
		{"rebuild", appendRebuild(nil, 7, []byte("N"))},
		{"text of a page", appendPageText(nil, &note.Text{Item: "c:a:b", Row: library.RowKey{Kind: 4, Key: "1/en/2"}, Body: "body"})},
		{"draft", appendDraft(nil, &note.DraftRow{Token: note.TextID{1, 15: 2}, Value: []byte("V")})},
		{"claim", appendClaim(nil, &claim.Claim{Record: "c:a:b", Token: claim.Token{1, 15: 2}, Until: 7})},
		{"lease", appendSeqRow(nil, lease.Row{Seq: 2, Data: []byte("D")})},
		{"paste", appendSeqRow(nil, paste.Row{Seq: 2, Data: []byte("D")})},
		{"pointer to a paste", appendPointer(nil, 1767225600123456)},
		{"entry of a feed", appendFeedEntry(nil, 300, 400)},
		{"day of a feed", appendBucketRow(nil, 64)},
	}
	var lines strings.Builder
	for _, f := range forms {
		fmt.Fprintf(&lines, "%-10s %q\n", f.name, f.row)
	}
	golden(t, "rows.golden", lines.String())
}

// entryParts are the parts of an entry's key.
type entryParts struct {
	owner   string
	bucket  byte
	at      int64
	content string
}

func (p entryParts) key() []byte {
	return appendEntryKey(nil, principal.ID(p.owner), library.Bucket(p.bucket),
		library.EntryKey{Position: clock.Instant(p.at), Content: library.ContentID(p.content)})
}

func (p entryParts) compare(q entryParts) int {
	return cmp.Or(cmp.Compare(p.owner, q.owner), cmp.Compare(p.bucket, q.bucket), cmp.Compare(p.at, q.at), cmp.Compare(p.content, q.content))
}

func FuzzKeyOrder(f *testing.F) {
	f.Add("u:a:b", byte(1), int64(0), "c:a:x", "u:a:b/c", byte(1), int64(-1), "c:a:x")
	f.Add("u:a:b", byte(1), int64(5), "c:a:x", "u:a:b", byte(2), int64(4), "c:a:x/y")
	f.Add("a\x00", byte(3), int64(math.MaxInt64), "", "a", byte(0), int64(math.MinInt64), "\xff")
	f.Add("a\x01b", byte(3), int64(1), "\x00", "a\x00\x02", byte(0), int64(1), "")
	f.Fuzz(func(t *testing.T, o1 string, b1 byte, p1 int64, c1, o2 string, b2 byte, p2 int64, c2 string) {
		one, two := entryParts{o1, b1, p1, c1}, entryParts{o2, b2, p2, c2}
		k1, k2 := one.key(), two.key()
		if got, want := bytes.Compare(k1, k2), one.compare(two); got != want {
			t.Fatalf("keys of %+v and %+v compare as %d, want %d", one, two, got, want)
		}
		owner, rest, err := cutString(k1[1:])
		if err != nil || owner != o1 || rest[0] != b1 {
			t.Fatalf("owner %q was decoded as %q, bucket %d: %v", o1, owner, rest[0], err)
		}
		at, content, err := cutInstant(rest[1:])
		if err != nil || int64(at) != p1 || string(content) != c1 {
			t.Fatalf("%+v was decoded as %d %q: %v", one, at, content, err)
		}
		if o1 != o2 && bytes.HasPrefix(k2, appendPartition(nil, tableLibrary, o1)) {
			t.Fatalf("a row of %q sorts among those of %q", o2, o1)
		}
		end := prefixEnd(appendPartition(nil, tableLibrary, o1))
		if bytes.Compare(k1, end) >= 0 {
			t.Fatalf("a row of %q sorts after its end", o1)
		}
		if o2 > o1 && bytes.Compare(k2, end) < 0 {
			t.Fatalf("a row of %q sorts before the end of %q", o2, o1)
		}
	})
}

// FuzzRows decodes arbitrary bytes as every kind of row. Decoding must not panic or allocate more
// memory than the row has, and what it accepts must encode to the same bytes.
func FuzzRows(f *testing.F) {
	h := library.Header{Seq: 2, MovedAt: 3, Writers: []commit.Writer{{Seq: 2}}, Unsettled: []library.Superseded{{Position: 1, Widest: 1}}}
	f.Add(appendHeader(nil, &h))
	f.Add(appendPrincipal(nil, &principal.Header{Seq: 2}))
	f.Add(appendInFlightList(nil, &commit.InFlightList{Stamp: 1,
		Block: storetest.Block(commit.Entry{Kind: commit.Content, Base: 1, Reach: commit.Reach{Principals: []string{"u:a:b"}}})}))
	f.Add(appendGroupMember(nil, &principal.GroupMemberRow{Role: 1, Leaving: true, Seq: 5, Since: 9}))
	f.Add(appendCreation(nil, &commit.Creation{ID: "x"}))
	f.Add([]byte{rowVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, row []byte) {
		again := func(what string, written []byte, read func([]byte) ([]byte, error)) {
			t.Helper()
			back, err := read(written)
			if err != nil || !bytes.Equal(back, written) {
				t.Fatalf("%s %x was written as %x and read as %x: %v", what, row, written, back, err)
			}
		}
		kinds := []struct {
			name string
			read func([]byte) ([]byte, error)
		}{
			{"header", func(b []byte) ([]byte, error) {
				var h library.Header
				err := decodeHeader("c:a:b", b, &h)
				return appendHeader(nil, &h), err
			}},
			{"principal", func(b []byte) ([]byte, error) {
				var h principal.Header
				err := decodePrincipal("u:a:b", b, &h)
				return appendPrincipal(nil, &h), err
			}},
			{"in-flight list", func(b []byte) ([]byte, error) {
				l, err := decodeInFlightList("x", b)
				return appendInFlightList(nil, &l), err
			}},
			{"request", func(b []byte) ([]byte, error) {
				r, err := decodeRequest(commit.RequestKey{}, b)
				return appendRequest(nil, r), err
			}},
			{"creation", func(b []byte) ([]byte, error) {
				c, err := decodeCreation(commit.RequestKey{}, b)
				return appendCreation(nil, &c), err
			}},
			{"member", func(b []byte) ([]byte, error) {
				var m principal.GroupMemberRow
				err := decodeGroupMember(b, &m)
				return appendGroupMember(nil, &m), err
			}},
			{"membership", func(b []byte) ([]byte, error) {
				role, since, err := decodeMembership(b)
				return appendMembership(nil, role, since), err
			}},
			{"member of content", func(b []byte) ([]byte, error) {
				var m library.Member
				err := decodeContentMember(b, &m)
				return appendContentMember(nil, &m), err
			}},
			{"entry", func(b []byte) ([]byte, error) {
				var e library.Entry
				err := decodeEntry(b, library.ByChange, &e)
				return appendEntry(nil, &e), err
			}},
			{"entry by title", func(b []byte) ([]byte, error) {
				e := library.Entry{EntryKey: library.EntryKey{Title: "t"}}
				err := decodeEntry(b, library.ByTitle, &e)
				return appendEntry(nil, &e), err
			}},
			{"directory", func(b []byte) ([]byte, error) {
				visibility, mts, err := decodeDirectoryRow(b)
				return appendDirectoryRow(nil, visibility, mts), err
			}},
			{"due", func(b []byte) ([]byte, error) {
				mts, err := decodeDue(b)
				return appendDue(nil, mts), err
			}},
			{"next", func(b []byte) ([]byte, error) {
				n, err := decodeNext(b)
				return appendNext(nil, n), err
			}},
			{"pointer to a paste", func(b []byte) ([]byte, error) {
				created, err := decodePointer(b)
				return appendPointer(nil, created), err
			}},
		}
		for _, k := range kinds {
			if written, err := k.read(row); err == nil {
				again(k.name, written, k.read)
			}
		}
	})
}

// TestRows_DamagedAreRefused truncates and lengthens each row. All but the original must be
// refused, unless the last part of the row runs to its end.
func TestRows_DamagedAreRefused(t *testing.T) {
	h := library.Header{Seq: 2, Writers: []commit.Writer{{Seq: 2}}, Unsettled: []library.Superseded{{Position: 1, Widest: 1}},
		UnsettledTitles: []library.SupersededTitle{{At: 500, Title: "t", Widest: 2}}}
	byTitle := library.Entry{EntryKey: library.EntryKey{Title: "t"}, Role: 1, MTS: 500, TitleHash: 1}
	l := commit.InFlightList{Stamp: 1, Block: storetest.Block(commit.Entry{Kind: commit.Content, Base: 1,
		Reach: commit.Reach{Principals: []string{"u:a:b"}}})}
	for _, c := range []struct {
		name string
		row  []byte
		read func([]byte) error
	}{
		{"header", appendHeader(nil, &h), func(b []byte) error { return decodeHeader("c:a:b", b, new(library.Header)) }},
		{"principal", appendPrincipal(nil, &principal.Header{Seq: 2}),
			func(b []byte) error { return decodePrincipal("u:a:b", b, new(principal.Header)) }},
		{"header as it is shown", appendHeader(nil, &h), func(b []byte) error {
			return decodeShown("c:a:b", string(b), new(library.Header), new(optional))
		}},
		{"principal as it is shown", appendPrincipal(nil, &principal.Header{Seq: 2, Writers: []commit.Writer{{Seq: 2}}}), func(b []byte) error {
			return decodeShownPrincipal("u:a:b", string(b), new(principal.Header))
		}},
		{"in-flight list", appendInFlightList(nil, &l), func(b []byte) error { _, err := decodeInFlightList("x", b); return err }},
		{"member", appendGroupMember(nil, &principal.GroupMemberRow{Role: 1, Leaving: true, Seq: 500, Since: 500}), func(b []byte) error {
			return decodeGroupMember(b, new(principal.GroupMemberRow))
		}},
		{"membership", appendMembership(nil, 1, 500), func(b []byte) error { _, _, err := decodeMembership(b); return err }},
		{"entry", appendEntry(nil, &library.Entry{Role: 1, MTS: 500}), func(b []byte) error {
			return decodeEntry(b, library.ByChange, new(library.Entry))
		}},
		{"entry by title", appendEntry(nil, &byTitle), func(b []byte) error {
			return decodeEntry(b, library.ByTitle, new(library.Entry))
		}},
		{"directory", appendDirectoryRow(nil, 1, 500), func(b []byte) error { _, _, err := decodeDirectoryRow(b); return err }},
		{"role", appendRole(nil, 1), func(b []byte) error { _, err := decodeRole(b); return err }},
		{"next", appendNext(nil, 500), func(b []byte) error { _, err := decodeNext(b); return err }},
		{"pointer to a paste", appendPointer(nil, 500), func(b []byte) error { _, err := decodePointer(b); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.read(c.row); err != nil {
				t.Fatal(err)
			}
			for n := range c.row {
				if c.read(c.row[:n]) == nil {
					t.Errorf("the first %d bytes of %x were accepted", n, c.row)
				}
			}
			if c.read(append(slices.Clone(c.row), 0)) == nil {
				t.Error("a row with an extra byte was accepted")
			}
			other := slices.Clone(c.row)
			other[0] = rowVersion + 1
			if c.read(other) == nil {
				t.Error("a row of another version was accepted")
			}
		})
	}
}
