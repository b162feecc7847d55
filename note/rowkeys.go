package note

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"carrel/core/clock"
	"carrel/library"
)

// The kinds of rows that a page adds to its item.
const (
	branchKind     = library.FirstRowKind     // branches, and their locales
	revisionKind   = library.FirstRowKind + 1 // revisions
	suggestionKind = library.FirstRowKind + 2 // suggestions
)

// Numbers in keys have ten digits, so that keys are ordered by number.
const digits = "%010d"

func branchKey(branch int) library.RowKey {
	return library.RowKey{Kind: branchKind, Key: fmt.Sprintf(digits, branch)}
}

func localeKey(branch int, locale string) library.RowKey {
	return library.RowKey{Kind: branchKind, Key: fmt.Sprintf(digits+"/%s", branch, locale)}
}

func revisionKey(branch int, locale string, number int) library.RowKey {
	return library.RowKey{Kind: revisionKind, Key: fmt.Sprintf(digits+"/%s/"+digits, branch, locale, number)}
}

func suggestionKey(id TextID) library.RowKey {
	return library.RowKey{Kind: suggestionKind, Key: id.String()}
}

// localeSlice returns the slice of the locales of a branch. "0" is the byte after "/".
func localeSlice(id library.ContentID, branch int) library.RowSlice {
	key := branchKey(branch).Key
	return library.RowSlice{Content: id, Kind: branchKind, From: key + "/", To: key + "0"}
}

// localeOf returns the locale in the key of its row.
func localeOf(key string) string {
	_, locale, _ := strings.Cut(key, "/")
	return locale
}

// revisionOf parses the key of a revision.
func revisionOf(key string) (branch int, locale string, number int, err error) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return 0, "", 0, errRow
	}
	branch, err = strconv.Atoi(parts[0])
	if err == nil {
		number, err = strconv.Atoi(parts[2])
	}
	if err != nil {
		return 0, "", 0, errRow
	}
	return branch, parts[1], number, nil
}

// TextID identifies a text, and a suggestion with its text. It begins with the time of its
// creation, so that ids are ordered by time: milliseconds, then the remaining microseconds.
type TextID [16]byte

// The number of bytes of a TextID for the milliseconds of its time, and for its whole time.
const (
	millisBytes = 6
	timeBytes   = millisBytes + 2
)

// newTextID returns the id of a text that is created now. random fills the other bytes.
func newTextID(now clock.Instant, random func([]byte)) (id TextID) {
	var t [8]byte
	binary.BigEndian.PutUint64(t[:], uint64(now/1000))
	copy(id[:millisBytes], t[2:])
	binary.BigEndian.PutUint16(id[millisBytes:], uint16(now%1000))
	random(id[timeBytes:])
	return id
}

// At returns the time of the id in whole milliseconds.
func (id TextID) At() clock.Instant {
	var t [8]byte
	copy(t[2:], id[:millisBytes])
	return clock.Instant(binary.BigEndian.Uint64(t[:])) * 1000
}

// String returns the id in hexadecimal digits.
func (id TextID) String() string { return hex.EncodeToString(id[:]) }

// ParseTextID parses an id. ok is false for any other text.
func ParseTextID(s string) (id TextID, ok bool) {
	if len(s) != hex.EncodedLen(len(id)) {
		return TextID{}, false
	}
	b, err := hex.DecodeString(s)
	if err != nil || s != strings.ToLower(s) {
		return TextID{}, false
	}
	return TextID(b), true
}
