package listing

import (
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"carrel/core/fault"
	"carrel/core/input"
)

// Limits of a search text, which is typed by hand or copied from a title.
const (
	maxSearchText  = 200 // characters
	maxSearchWords = 10
)

// search has the words of a search text. Only one page at a time may use it.
type search struct {
	folding *folding
	words   []string // folded, each once
	longest int      // bytes
	word    []byte   // the word of the searched text, as far as it is compared
}

// newSearch returns nil for a text without words.
func (f *folding) newSearch(text string) (*search, error) {
	if input.TooLong(text, maxSearchText) {
		return nil, fault.BadInputf("filter.text has at most %d characters; this one has %d", maxSearchText, utf8.RuneCountInString(text))
	}
	s := &search{folding: f}
	for text != "" {
		var word strings.Builder
		for text != "" {
			key, n := f.first(text)
			text = text[n:]
			if key == separator {
				break
			}
			word.WriteString(key)
		}
		if w := word.String(); w != "" && !slices.Contains(s.words, w) {
			s.words, s.longest = append(s.words, w), max(s.longest, len(w))
		}
	}
	if len(s.words) > maxSearchWords {
		return nil, fault.BadInputf("filter.text has at most %d words; this one has %d: leave out the most frequent of them",
			maxSearchWords, len(s.words))
	}
	if len(s.words) == 0 {
		return nil, nil
	}
	return s, nil
}

// matches reports whether each word begins a word of one of the texts.
func (s *search) matches(texts ...string) bool {
	missing := uint(1)<<len(s.words) - 1
	for _, text := range texts {
		if missing = s.find(text, missing); missing == 0 {
			return true
		}
	}
	return false
}

// find returns those of the missing words, one bit for each, that are not the beginning of a
// word of the text.
func (s *search) find(text string, missing uint) uint {
	s.word = s.word[:0]
	compared := false // the current word
	for text != "" && missing != 0 {
		key, n := s.folding.first(text)
		text = text[n:]
		switch {
		case key == separator:
			missing = s.compare(missing)
			compared = false
		case !compared:
			if s.word = append(s.word, key...); len(s.word) >= s.longest {
				missing = s.compare(missing)
				compared = true
			}
		}
	}
	return s.compare(missing)
}

// compare clears the bits of the words that are the beginning of the current word.
func (s *search) compare(missing uint) uint {
	for i, w := range s.words {
		if missing&(1<<i) != 0 && len(s.word) >= len(w) && string(s.word[:len(w)]) == w {
			missing &^= 1 << i
		}
	}
	s.word = s.word[:0]
	return missing
}

// folding converts characters to the form in which words are compared: without accents and case. It
// computes the keys of 256 characters at a time, when it first meets one of them, because Unicode's
// tables take a hundred times as long as a look-up in its own.
type folding struct {
	blocks [foldedChars >> 8]atomic.Pointer[[256]string]
}

// foldedChars is greater than all letters, digits and marks of Unicode except variation selectors.
const foldedChars = 0x40000

// separator is the key of characters that belong to no word.
const separator = " "

// first folds the first character of a text; n is the number of bytes of that character. The key
// is empty for an accent, and separator if the character ends a word.
func (f *folding) first(text string) (key string, n int) {
	r, n := rune(text[0]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(text)
	}
	if r >= foldedChars {
		return fold(r), n
	}
	block := f.blocks[r>>8].Load()
	if block == nil {
		block = new([256]string)
		for i := range block {
			block[i] = fold(r&^0xff + rune(i))
		}
		f.blocks[r>>8].Store(block)
	}
	return block[r&0xff], n
}

// fold returns the key of a character: its canonical decomposition without accents and
// invisible characters, in Unicode's full case folding. Cherokee letters need the lower
// case after that, because package cases exchanges their cases.
func fold(r rune) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			return -1
		}
		return r
	}, norm.NFD.String(string(r)))
	key := strings.ToLower(cases.Fold().String(letters))
	for _, r := range key {
		if !unicode.In(r, unicode.L, unicode.N, unicode.Mc) {
			return separator
		}
	}
	return key
}
