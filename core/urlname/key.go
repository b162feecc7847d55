package urlname

import (
	"strconv"
	"strings"
)

// Kind is the kind of thing that a key names.
type Kind uint8

// The kinds of keys.
const (
	Content    Kind = 1
	Branch     Kind = 2
	Revision   Kind = 3
	Draft      Kind = 4
	Suggestion Kind = 5
)

// Key names a page or a part of it. Its text has one of these forms, in which
// content is a canonical URL, or the id of an item without one:
//
//	content
//	content#branch
//	content#[locale/]branch.revision
//	content#user/userid/[locale/]branch
//	content#suggestion/[locale/]branch.id
//
// In userid the characters / # % are percent-encoded. Numbers are decimal,
// without leading zeros, and at most MaxNumber.
type Key struct {
	Kind    Kind
	Content string
	// Branch is set in keys of all kinds except Content, and Revision only in keys of the kind
	// Revision.
	Branch, Revision int
	Locale           string // empty: none
	User             string // of a Draft
	Suggestion       string // the id of a Suggestion
}

// MaxNumber is the largest number of a branch or a revision: GraphQL's Int has
// 32 bits.
const MaxNumber = 1<<31 - 1

// maxSuggestion is the most characters of a suggestion's id.
const maxSuggestion = 64

const (
	userPrefix       = "user/"
	suggestionPrefix = "suggestion/"
)

// IsID reports whether the key names its item by id and not by URL.
func (k Key) IsID() bool { return strings.HasPrefix(k.Content, "c:") }

// String formats the key. ParseKey(k.String()) = k for every key that ParseKey
// returns.
func (k Key) String() string {
	locale := k.Locale
	if locale != "" {
		locale += "/"
	}
	branch := locale + strconv.Itoa(k.Branch)
	switch k.Kind {
	case Branch:
		return k.Content + "#" + branch
	case Revision:
		return k.Content + "#" + branch + "." + strconv.Itoa(k.Revision)
	case Draft:
		return k.Content + "#" + userPrefix + encodeUser(k.User) + "/" + branch
	case Suggestion:
		return k.Content + "#" + suggestionPrefix + branch + "." + k.Suggestion
	}
	return k.Content
}

// encodeUser escapes the characters that would end the user's part of a key.
func encodeUser(id string) string {
	return strings.NewReplacer("%", "%25", "#", "%23", "/", "%2F").Replace(id)
}

// ParseKey parses a key and brings its URL and its locale into canonical form.
// The ids of items and users in it are not checked. s has at most MaxText bytes. Its error is an
// *Error.
func ParseKey(s string) (Key, error) {
	if err := checkLength(s); err != nil {
		return Key{}, err
	}
	content, part, hasPart := strings.Cut(s, "#")
	k := Key{Kind: Content, Content: content}
	if !k.IsID() {
		canonical, err := Canonical(content)
		if err != nil {
			return Key{}, err
		}
		k.Content = canonical
	}
	if !hasPart {
		return k, nil
	}
	if err := k.parsePart(part); err != nil {
		return Key{}, err
	}
	return k, nil
}

// parsePart parses what follows the first "#".
func (k *Key) parsePart(s string) error {
	if rest, found := strings.CutPrefix(s, userPrefix); found {
		return k.parseDraft(rest)
	}
	rest, isSuggestion := strings.CutPrefix(s, suggestionPrefix)
	rest, err := k.cutLocale(rest)
	if err != nil {
		return err
	}
	branch, end, hasEnd := strings.Cut(rest, ".")
	if k.Branch, err = number(branch); err != nil {
		return err
	}
	switch {
	case isSuggestion:
		k.Kind, k.Suggestion = Suggestion, end
		return checkSuggestion(end)
	case hasEnd:
		k.Kind = Revision
		k.Revision, err = number(end)
		return err
	case k.Locale != "":
		return malformed("the key of a branch has no locale: it ends with # and a number, such as #1")
	}
	k.Kind = Branch
	return nil
}

func (k *Key) parseDraft(s string) error {
	user, rest, found := strings.Cut(s, "/")
	if !found {
		return malformed("the key of a draft ends with #user/, the user's id, and a branch, such as #user/u:demo:ann/1")
	}
	var err error
	if k.User, err = decodeUser(user); err != nil {
		return err
	}
	if rest, err = k.cutLocale(rest); err != nil {
		return err
	}
	k.Kind = Draft
	k.Branch, err = number(rest)
	return err
}

// cutLocale parses the locale in front of a branch, if there is one.
func (k *Key) cutLocale(s string) (rest string, err error) {
	locale, rest, found := strings.Cut(s, "/")
	if !found {
		return s, nil
	}
	k.Locale, err = Locale(locale)
	return rest, err
}

// decodeUser decodes the percent escapes of a user's id, including unnecessary ones.
func decodeUser(s string) (string, error) {
	if s == "" {
		return "", malformed("the key of a draft names a user")
	}
	user, err := decode(s)
	if err == nil {
		err = checkCharacters(user)
	}
	return user, err
}

// number parses the number of a branch or a revision.
func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || s != strconv.FormatUint(n, 10) {
		return 0, malformed("a number in a key is decimal, without leading zeros, and at most %d", MaxNumber)
	}
	return int(n), nil
}

func checkSuggestion(id string) error {
	if id == "" || len(id) > maxSuggestion {
		return malformed("the key of a suggestion ends with its id, 1 to %d characters", maxSuggestion)
	}
	for i := 0; i < len(id); i++ {
		if c := id[i]; !isUnreserved(c) || c == '.' || c == '~' {
			return malformed("the id of a suggestion is made of letters, digits, - and _")
		}
	}
	return nil
}
