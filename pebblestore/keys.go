package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// A key is a table's byte, then its parts in order. Keys sort as their parts
// do, part by part:
//
//	a string that another part follows: its bytes, 0x00 and 0x01 escaped as
//	    0x01 0x01 and 0x01 0x02, then 0x00, so that "a:b" sorts before "a:b/c"
//	    and no string's rows lie among those of another one
//	a string that ends the key: its bytes as they are
//	an instant: 8 bytes, big-endian, sign bit inverted
//	a minute: that of an instant, in the same form, so that one range deletion
//	    removes all old rows
//	a hash: its 32 bytes
//	a kind, a bucket, a list: 1 byte
//
// The tables. After a release they are not renamed and a byte is never used again.
//
//	'a' space, name                         claim of a name
//	'b' owner                               library is built
//	'c' content, kindHeader                 header of a content
//	'c' content, kindMember, principal      member row of a content
//	'c' content, kindRequest, hash          answered request of a content
//	'c' content, kind from 3, key           further row of a content
//	'd' instant, kind and key               reminder (commit.Reminder)
//	'e' lease                               lease
//	'f'                                     format of this store
//	'g' member, group                       group that a principal is in (derived)
//	'h' minute, owner, instant, content, mts
//	                                        change of a library (derived)
//	'j' list                                in-flight list of a process
//	'k' hash                                id reserved for a creation
//	'l' owner, bucket, position, content    entry of a library (derived)
//	'l' owner, bucket+16, title, 0x00, content
//	                                        the same in the order of titles (derived)
//	'm'                                     note of a copy into this store
//	'n' host                                next number of a host's id blocks
//	'O' instant, paste                      paste, by its creation
//	'o' paste                               the instant in the key of that paste
//	'p' principal, kindHeader               header of a user or a group
//	'p' group, kindMember, principal        member row of a group
//	'p' principal, kindRequest, hash        answered request of a principal
//	'q' tenant, list, name, principal       row of the directory (derived)
//	'r' owner, content                      role on a content (derived)
//	's' name                                setting
//	't' text                                text of a page
//	'u' owner                               note of a rebuild
//	'v' feed, day, shard, instant, id       entry of a feed (derived)
//	'w' user, name                          draft of a user
//	'x' instant, key                        when the request row or creation of that key expires
//	'y' paste, body                         long body of a paste
//	'z' feed, day                           partitions of a day of a feed (derived)
const (
	tableClaim      = 'a'
	tableBuilt      = 'b'
	tableContent    = 'c'
	tableDue        = 'd'
	tableLease      = 'e'
	tableFormat     = 'f'
	tableMembership = 'g'
	tableChange     = 'h'
	tableInFlight   = 'j'
	tableCopy       = 'm'
	tableCreation   = 'k'
	tableLibrary    = 'l'
	tableBlock      = 'n'
	tablePasteRow   = 'O'
	tablePaste      = 'o'
	tablePrincipal  = 'p'
	tableDirectory  = 'q'
	tableShared     = 'r'
	tableSetting    = 's'
	tableText       = 't'
	tableRebuild    = 'u'
	tableFeed       = 'v'
	tableDraft      = 'w'
	tableExpiry     = 'x'
	tableBody       = 'y'
	tableBucket     = 'z'
)

// The kinds of rows of a partition, in the order of their keys.
const (
	kindHeader  = 0
	kindMember  = 1
	kindRequest = 2
)

// The lists of a tenant's directory.
const (
	listWhole      = 0 // rows for whole names
	listBeginnings = 1 // rows that match a prefix of a name
)

// errKey reports that a stored key has none of the forms above.
var errKey = errors.New("a key of an unknown format")

// appendString appends a string that is followed by another part.
func appendString(b []byte, s string) []byte {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, 1) < 0 {
		return append(append(b, s...), 0)
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= 1 {
			b = append(b, 1, s[i]+1)
			continue
		}
		b = append(b, s[i])
	}
	return append(b, 0)
}

// cutString splits off k a string that is followed by another part.
func cutString(k []byte) (s string, rest []byte, err error) {
	escaped := false
	for i, c := range k {
		switch c {
		case 0:
			if !escaped {
				return string(k[:i]), k[i+1:], nil
			}
			s, err = unescape(k[:i])
			return s, k[i+1:], err
		case 1:
			escaped = true
		}
	}
	return "", nil, errKey
}

// unescape reverses the escapes of appendString.
func unescape(k []byte) (string, error) {
	b := make([]byte, 0, len(k))
	for i := 0; i < len(k); i++ {
		if k[i] != 1 {
			b = append(b, k[i])
			continue
		}
		i++
		if i == len(k) || k[i] != 1 && k[i] != 2 {
			return "", errKey
		}
		b = append(b, k[i]-1)
	}
	return string(b), nil
}

// appendPasteKey appends the key of the pointer to the row of a paste.
func appendPasteKey(b []byte, id paste.ID) []byte { return appendSingle(b, tablePaste, string(id)) }

// appendPasteRowKey appends the key of the row of a paste: by its creation, so that the pastes of
// a page of a feed are neighbours.
func appendPasteRowKey(b []byte, id paste.ID, created clock.Instant) []byte {
	return append(appendInstant(append(b, tablePasteRow), created), id...)
}

// appendInstant appends an instant so that earlier ones sort first.
func appendInstant(b []byte, i clock.Instant) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(i)^(1<<63))
}

// cutInstant splits an instant off k.
func cutInstant(k []byte) (clock.Instant, []byte, error) {
	if len(k) < 8 {
		return 0, nil, errKey
	}
	return clock.Instant(binary.BigEndian.Uint64(k) ^ (1 << 63)), k[8:], nil
}

// appendPartition appends the common prefix of all keys of a partition.
func appendPartition(b []byte, table byte, id string) []byte {
	return appendString(append(b, table), id)
}

// appendHeaderKey appends the key of a partition's header. table is tableContent or tablePrincipal.
func appendHeaderKey(b []byte, table byte, id string) []byte {
	return append(appendPartition(b, table, id), kindHeader)
}

// appendMemberKey appends the key of a member row.
func appendMemberKey(b []byte, table byte, id string, member principal.ID) []byte {
	return append(append(appendPartition(b, table, id), kindMember), member...)
}

// appendRequestKey appends the key of an answered request.
func appendRequestKey(b []byte, table byte, id string, key *commit.RequestKey) []byte {
	return append(append(appendPartition(b, table, id), kindRequest), key[:]...)
}

// appendRowKey appends the key of a further row of a content.
func appendRowKey(b []byte, id library.ContentID, k library.RowKey) []byte {
	return append(append(appendPartition(b, tableContent, string(id)), byte(k.Kind)), k.Key...)
}

// titleBuckets is added to the bucket in keys of the order of titles.
const titleBuckets = 16

// appendBucket appends the common prefix of all keys of a visibility bucket of a library in one order.
func appendBucket(b []byte, owner principal.ID, bucket library.Bucket, o library.Order) []byte {
	return append(appendPartition(b, tableLibrary, string(owner)), byte(bucket)+byte(o)*titleBuckets)
}

// appendEntryKey appends the key of an entry of a library.
func appendEntryKey(b []byte, owner principal.ID, bucket library.Bucket, k library.EntryKey) []byte {
	b = appendBucket(b, owner, bucket, k.Order())
	if k.Title != "" {
		return append(append(append(b, k.Title...), 0), k.Content...) // it contains no zeros
	}
	return append(appendInstant(b, k.Position), k.Content...)
}

// cutEntryKey reads the part of an entry's key that follows the bucket. title is empty in the order of the last change.
// Title and content alias k.
func cutEntryKey(k []byte, o library.Order) (position clock.Instant, title, content []byte, err error) {
	if o == library.ByTitle {
		title, content, found := bytes.Cut(k, []byte{0})
		if !found || len(title) == 0 {
			return 0, nil, nil, errKey
		}
		return 0, title, content, nil
	}
	position, content, err = cutInstant(k)
	return position, nil, content, err
}

// appendPair appends a key of two strings: tableShared, tableMembership.
func appendPair(b []byte, table byte, first, second string) []byte {
	return append(appendPartition(b, table, first), second...)
}

// appendSingle appends a key of one string or hash: tableBuilt, tableRebuild,
// tableInFlight, tableLease, tableCreation, tableBlock, tablePaste, tableSetting.
func appendSingle(b []byte, table byte, part string) []byte {
	return append(append(b, table), part...)
}

// appendDirectory appends the common prefix of all keys of a tenant's list.
func appendDirectory(b []byte, tenant string, whole bool) []byte {
	list := byte(listBeginnings)
	if whole {
		list = listWhole
	}
	return append(appendPartition(b, tableDirectory, tenant), list)
}

// appendDirectoryKey appends the key of a row of the directory.
func appendDirectoryKey(b []byte, k principal.DirectoryKey, p principal.ID) []byte {
	return append(appendString(appendDirectory(b, p.Tenant(), k.Whole), k.Name), p...)
}

// cutDirectoryKey reads the key of a row of the directory.
func cutDirectoryKey(k []byte) (principal.DirectoryKey, principal.ID, error) {
	_, rest, err := cutString(k[1:])
	if err != nil || len(rest) == 0 || rest[0] > listBeginnings {
		return principal.DirectoryKey{}, "", errKey
	}
	name, id, err := cutString(rest[1:])
	return principal.DirectoryKey{Whole: rest[0] == listWhole, Name: name}, principal.ID(id), err
}

// appendDueKey appends the key of a reminder.
func appendDueKey(b []byte, d commit.Reminder) []byte {
	return append(appendInstant(append(b, tableDue), d.At), d.Row()...)
}

// minuteOf returns the first microsecond of the minute that contains an instant.
func minuteOf(at clock.Instant) clock.Instant {
	const unit = clock.Instant(time.Minute / time.Microsecond)
	into := at % unit
	if into < 0 {
		into += unit
	}
	return at - into
}

// appendMinute appends the common prefix of all keys of the changes of a minute.
func appendMinute(b []byte, at clock.Instant) []byte {
	return appendInstant(append(b, tableChange), minuteOf(at))
}

// appendChanges appends the common prefix of all keys of a library's changes of a minute.
func appendChanges(b []byte, owner principal.ID, at clock.Instant) []byte {
	return appendString(appendMinute(b, at), string(owner))
}

// appendChangeKey appends the key of a change.
func appendChangeKey(b []byte, owner principal.ID, k *library.ChangeKey) []byte {
	b = appendInstant(appendChanges(b, owner, k.At), k.At)
	return appendInstant(appendString(b, string(k.Content)), k.MTS)
}

// cutChangeKey reads the part of a change's key that follows the owner.
func cutChangeKey(k []byte) (c library.ChangeKey, err error) {
	if c.At, k, err = cutInstant(k); err != nil {
		return c, err
	}
	content, k, err := cutString(k)
	if err != nil {
		return c, err
	}
	c.Content = library.ContentID(content)
	if c.MTS, k, err = cutInstant(k); err == nil && len(k) > 0 {
		err = errKey
	}
	return c, err
}

// appendExpiryKey appends the key that records when the row of key expires.
func appendExpiryKey(b []byte, until clock.Instant, key []byte) []byte {
	return append(appendInstant(append(b, tableExpiry), until), key...)
}

// appendAfter turns k into the smallest key after it. As a lower bound it excludes k from a scan,
// as an upper bound it includes k.
func appendAfter(k []byte) []byte { return append(k, 0) }

// prefixEnd turns a prefix that ends in a byte below 0xff, in place, into the smallest key after
// all keys with that prefix. Every prefix of a scan ends in such a byte: in that of a table, the end
// of a string, a kind, a bucket, a list or a shard, or in the last byte of a name in UTF-8.
func prefixEnd(k []byte) []byte {
	k[len(k)-1]++
	return k
}
