// Package collation orders texts as people expect in a list of names: by the Unicode Collation Algorithm with the root
// table of CLDR, and numbers by their value.
package collation

import (
	"bytes"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// Version is that of the keys. A key is only compared with keys of the same version. It changes with the tables of
// golang.org/x/text/collate, and with Key; TestKey_IsOfThisVersion fails when it must.
const Version = 1

// The first characters of a text decide its place, and of their key the first bytes: a few characters have a key of
// their own of more than a hundred bytes.
const (
	maxCharacters = 64
	// MaxKey is the length of the longest key, in bytes.
	MaxKey = 1024
)

// Key is what texts are ordered by, byte by byte. It is never empty and contains no zeros. Texts that differ may have the same key: those
// whose first characters are equal, or differ only in characters without a place in the order.
type Key string

// collators are not safe for concurrent use.
var collators = sync.Pool{New: func() any {
	return &collator{Collator: collate.New(language.Und, collate.Numeric)}
}}

type collator struct {
	*collate.Collator
	buffer collate.Buffer
}

// Of returns the key of a text.
func Of(text string) Key {
	c := collators.Get().(*collator)
	defer collators.Put(c)
	c.buffer.Reset()
	return Key(short(c.KeyFromString(&c.buffer, Beginning(text))))
}

// Hash identifies the part of a text that decides its place. Texts with the same hash have the same key, except by
// chance: it is a 64-bit FNV-1a hash, which costs a hundredth of Of.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(Beginning(text)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Same reports whether the same parts of two texts decide their places.
func Same(a, b string) bool { return Beginning(a) == Beginning(b) }

// Beginning returns the part of a text that decides its place: the first maxCharacters characters.
func Beginning(text string) string {
	n := 0
	for at := range text {
		if n++; n > maxCharacters {
			return text[:at]
		}
	}
	return text
}

// short removes from a key what does not change the order: common weights at the end of the levels, and empty levels.
//
// A key has the primary weights, two zeros, the secondary weights of two bytes each, two zeros, and the tertiary
// weights of one byte each. No weight is 0, and no secondary or tertiary weight is less than the common one. The levels
// are found from the end, because primary weights may contain zeros.
func short(key []byte) []byte {
	const commonTertiary = 2
	third := bytes.LastIndexByte(key, 0) + 1
	second := third - 2
	for second >= 2 && (key[second-1] != 0 || key[second-2] != 0) {
		second -= 2
	}
	levels := append(make([]byte, 0, len(key)), key[:second]...)
	secondary := key[second : third-2]
	for len(secondary) > 0 && secondary[len(secondary)-1] == 0x20 && secondary[len(secondary)-2] == 0 {
		secondary = secondary[:len(secondary)-2]
	}
	tertiary := bytes.TrimRight(key[third:], string(rune(commonTertiary)))
	levels = append(levels, secondary...)
	levels = append(append(levels, 0, 0), tertiary...)
	levels = bytes.TrimRight(levels, "\x00")
	escaped := make([]byte, 0, len(levels)+16)
	for _, c := range levels {
		if c <= 1 { // zeros mark the end of a key where something follows it
			escaped = append(escaped, 1)
			c++
		}
		escaped = append(escaped, c)
	}
	if len(escaped) == 0 {
		return []byte{1}
	}
	return escaped[:min(len(escaped), MaxKey)]
}
