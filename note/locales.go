package note

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"carrel/core/urlname"
)

// anyLocale in a list of preferences matches every locale.
const anyLocale = "*"

// maxAccepted is how many ranges of an Accept-Language header are read. Browsers send up to ten.
const maxAccepted = 20

// fallback are the locales that are used if no preference matches, best first. "" is text that is
// not translatable.
var fallback = []string{"en", urlname.Neutral, ""}

// AcceptedLocales returns the locales of an Accept-Language header, the preferred first. It reads at
// most 20 ranges, and ignores what it cannot parse.
func AcceptedLocales(header string) []string {
	type preference struct {
		locale string
		q      float64
	}
	var ps []preference
	ranges := 0
	for part := range strings.SplitSeq(header, ",") {
		if ranges++; ranges > maxAccepted {
			break
		}
		tag, params, _ := strings.Cut(part, ";")
		p := preference{acceptedLocale(strings.TrimSpace(tag)), quality(params)}
		if p.locale != "" && p.q > 0 {
			ps = append(ps, p)
		}
	}
	slices.SortStableFunc(ps, func(a, b preference) int { return cmp.Compare(b.q, a.q) })
	locales := make([]string, len(ps))
	for i, p := range ps {
		locales[i] = p.locale
	}
	return locales
}

// acceptedLocale returns the locale of a language tag: its language and its country. Other parts,
// such as a script, are ignored. It returns "" if the tag is not a locale.
func acceptedLocale(tag string) string {
	if tag == anyLocale {
		return anyLocale
	}
	parts := strings.Split(tag, "-")
	country := slices.IndexFunc(parts[1:], func(p string) bool { return len(p) == 2 })
	name := parts[0]
	if country >= 0 {
		name += "_" + parts[1+country]
	}
	locale, err := urlname.Locale(name)
	if err != nil {
		return ""
	}
	return locale
}

// quality returns the weight of a language in Accept-Language: 1 if there is none, 0 if it cannot be
// parsed.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, found := strings.Cut(strings.TrimSpace(param), "=")
		if !found || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}

// choose returns the available locale that matches the preferences best. ok is false if none does.
// own is the item's own locale.
func choose(available, preferred []string, own string) (locale string, ok bool) {
	for _, p := range slices.Concat(preferred, fallback) {
		if p == anyLocale {
			if own != "" && slices.Contains(available, own) {
				return own, true
			}
			if i := slices.IndexFunc(available, func(l string) bool { return l != "" }); i >= 0 {
				return available[i], true
			}
			continue
		}
		if slices.Contains(available, p) {
			return p, true
		}
		if language, _, found := strings.Cut(p, "_"); found && slices.Contains(available, language) {
			return language, true
		}
	}
	return "", false
}
