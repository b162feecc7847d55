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

// The directory is by what users and groups are found: an index, derived from
// their headers, of the beginnings that somebody may type. Its rows are only
// hints: whoever reads one checks it against the header.

// Bounds of the directory. What is typed is at most as long as a display name
// may be. A row is no larger than a place in a cursor; what is longer is
// compared with the header. Names have two or three words, and 16 rows do not
// let one principal fill the directory.
const (
	maxPrefix     = maxDisplayName     // characters
	directoryKey  = cursor.LongestName // bytes of a key
	maxBeginnings = 16                 // words of a display name at which it is found
)

// DirectoryKey is one row's place among those of its principal.
type DirectoryKey struct {
	// Whole rows hold the whole display name, one a principal: they serve
	// look-ups without a prefix. The others hold what a prefix may begin.
	Whole bool
	// Name is folded, and at most directoryKey bytes long.
	Name string
}

// DirectoryPlace is a place in the order of a look-up: by name, then by id.
type DirectoryPlace struct {
	Name      string
	Principal ID
}

// Less tells whether p comes before q.
func (p DirectoryPlace) Less(q DirectoryPlace) bool {
	return p.Name < q.Name || p.Name == q.Name && p.Principal < q.Principal
}

// DirectoryRow is a row of the directory, in the tenant of its principal.
type DirectoryRow struct {
	DirectoryKey
	Principal ID
	// Visibility is the principal's, and MTS that of the state, when it was
	// written.
	Visibility Visibility
	MTS        clock.Instant
}

// Place is where the row stands in its list.
func (r *DirectoryRow) Place() DirectoryPlace { return DirectoryPlace{r.Name, r.Principal} }

// DirectorySlice is a run of rows of one tenant's directory.
type DirectorySlice struct {
	Tenant string
	// Prefix is what the names begin with, folded; with an empty one the slice
	// is of the whole names.
	Prefix string
	// After is where the slice begins, not included; nil: at the first row.
	After *DirectoryPlace
	Limit int
}

// DirectoryUpdate brings the rows of a principal in line with a snapshot.
type DirectoryUpdate struct {
	Header *Header
	// Former is the display name of a state before it; empty where none is known.
	Former string
}

// Derive are the keys at which the principal stands, and those of its former
// name at which it must not: no key is in both. h must be e.Header or a newer
// reading of it.
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

// DirectoryKeys are all keys of a principal, the whole name first.
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

// directoryName is the name at which a look-up shows a principal: the least of
// the row names that the prefix begins, so that it is shown once however many of
// them there are; without a prefix the whole name. ok is false where the look-up
// does not find it.
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

// beginnings are what a prefix may begin: the display name, the rest of it from
// each further word on, and the name in the id. A word begins at a letter or a
// digit that follows neither one nor a mark on one.
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

// foldName brings a name, or the beginning of one, into the form in which names
// are compared: without case (Unicode's full folding, canonically: folded in
// NFD, kept in NFC), without characters that only format, each run of blanks
// one space, none at the ends. On what ids are made of it does what lowerASCII
// does.
func foldName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	s = norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
	return strings.Join(strings.Fields(s), " ")
}

// cutName is the part of a folded name that a row holds: whole characters.
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

// checkPrefix checks what somebody typed. Its error has code Invalid.
func checkPrefix(s string) error { return input.CheckText(s, "a prefix", maxPrefix, "") }
