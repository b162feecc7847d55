package principal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/input"
)

// The directory is an index by which users and groups are found. It is derived from their
// headers. Its rows contain the texts that a typed prefix is compared with, cut to directoryKey
// bytes. They are only hints: every reader checks them against the header.

// Limits of the directory. A search text is at most as long as a display name may be. A row is
// no larger than a position in a cursor; what is longer is compared with the header. Names have
// two or three words, and 16 rows do not let one principal fill the directory.
const (
	maxPrefix     = maxDisplayName     // characters
	directoryKey  = cursor.LongestName // bytes of a key
	maxBeginnings = 16                 // words of a display name at which it is found
)

// DirectoryKey identifies a row among those of its principal.
type DirectoryKey struct {
	// Whole rows contain the whole display name, one for each principal: they serve look-ups
	// without a prefix. The others contain the texts that a prefix is compared with.
	Whole bool
	// Name is folded, and at most directoryKey bytes long.
	Name string
}

// DirectoryPosition is a position in the order of a look-up: by name, then by id.
type DirectoryPosition struct {
	Name      string
	Principal ID
}

// Less reports whether p comes before q.
func (p DirectoryPosition) Less(q DirectoryPosition) bool {
	return p.Name < q.Name || p.Name == q.Name && p.Principal < q.Principal
}

// DirectoryRow is a row of the directory, in the tenant of its principal.
type DirectoryRow struct {
	DirectoryKey
	Principal ID
	// Visibility is the principal's, and MTS that of its state, at the time of the write.
	Visibility Visibility
	MTS        clock.Instant
}

// Position returns the row's position in its list.
func (r *DirectoryRow) Position() DirectoryPosition { return DirectoryPosition{r.Name, r.Principal} }

// DirectorySlice describes consecutive rows of one tenant's directory.
type DirectorySlice struct {
	Tenant string
	// Prefix is the folded beginning of the names; if it is empty the slice is of the whole names.
	Prefix string
	// After is the position after which the slice starts; nil: at the first row.
	After *DirectoryPosition
	Limit int
}

// DirectoryUpdate updates the rows of a principal to a snapshot.
type DirectoryUpdate struct {
	Header *Header
	// Former is the display name of an earlier state; empty if unknown.
	Former string
}

// Derive returns the keys of the rows to write for the principal, and the keys of the rows of its
// former name to delete. No key is in both. h must be e.Header or a newer reading of it.
func (e *DirectoryUpdate) Derive(h *Header) (put, drop []DirectoryKey) {
	put = DirectoryKeys(h)
	if e.Former == "" {
		return put, nil
	}
	former := *h
	former.State, former.DisplayName = commit.Live, e.Former
	for _, k := range DirectoryKeys(&former) {
		if !slices.Contains(put, k) {
			drop = append(drop, k)
		}
	}
	return put, drop
}

// DirectoryKeys returns all keys of a principal, the whole name first.
func DirectoryKeys(h *Header) []DirectoryKey {
	if h.State != commit.Live {
		return nil
	}
	whole := foldName(h.DisplayName)
	keys := []DirectoryKey{{Whole: true, Name: cutName(whole)}}
	for _, b := range beginnings(whole, h.ID) {
		k := DirectoryKey{Name: cutName(b)}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// directoryName returns the name under which a look-up shows a principal: the first, in order, of
// its row names that start with the prefix, so that a principal is shown once; without a prefix,
// the whole name. ok is false if the look-up does not find it.
func directoryName(h *Header, prefix string) (name string, ok bool) {
	whole := foldName(h.DisplayName)
	if prefix == "" {
		return cutName(whole), true
	}
	for _, b := range beginnings(whole, h.ID) {
		if !strings.HasPrefix(b, prefix) {
			continue
		}
		if b = cutName(b); !ok || b < name {
			name, ok = b, true
		}
	}
	return name, ok
}

// beginnings returns the texts that a prefix is compared with: the display name, the rest of it
// from each further word on, and the name in the id. A word starts at a letter or digit that does
// not follow a letter, a digit or a mark on one of these.
func beginnings(whole string, id ID) []string {
	all := make([]string, 0, 4)
	if whole != "" {
		all = append(all, whole)
	}
	within := false
	words := 0
	for i, r := range whole {
		if letter := unicode.IsLetter(r) || unicode.IsNumber(r); letter && !within {
			if words++; words > maxBeginnings {
				break
			}
			if i > 0 {
				all = append(all, whole[i:])
			}
			within = true
		} else if !letter && !unicode.IsMark(r) {
			within = false
		}
	}
	return append(all, id.Name())
}

// foldName converts a name, or the beginning of one, to the form in which names are compared:
// without case (Unicode's full folding, canonically: folded in NFD, kept in NFC), without format
// characters and the dot of a Turkish capital I, with each run of white space as one space, and
// without white space at the ends. On the characters of ids it does the same as id.Lower.
func foldName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	var previous rune
	s = strings.Map(func(r rune) rune {
		if r == '\u0307' && previous == 'i' {
			return -1
		}
		previous = r
		return r
	}, cases.Fold().String(norm.NFD.String(s)))
	s = norm.NFC.String(s)
	return strings.Join(strings.Fields(s), " ")
}

// cutName returns the part of a folded name that a row contains, in whole characters.
func cutName(s string) string {
	if len(s) <= directoryKey {
		return s
	}
	end := directoryKey
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// checkPrefix checks a search text. Its error has code Invalid.
func checkPrefix(s string) error { return input.CheckText(s, "a prefix", maxPrefix, "") }
