package urlname

import (
	"strings"

	"golang.org/x/text/language"
)

// Neutral is the locale of text that is the same in all languages.
const Neutral = "xx"

// Locale returns the canonical form of a locale: ll or ll_CC, with a language of ISO 639-1 and a
// country of ISO 3166-1, or Neutral. On input the parts are separated by "_" or "-" and have any
// case. Its error is an *Error.
func Locale(s string) (string, error) {
	if len(s) > len("ll_CC") {
		return "", malformed("a locale is a language of two letters, and may have a country of two letters, such as en or en_GB")
	}
	languageCode, country, hasCountry := strings.Cut(strings.Replace(s, "-", "_", 1), "_")
	languageCode, country = strings.ToLower(languageCode), strings.ToUpper(country)
	if languageCode == Neutral && !hasCountry {
		return Neutral, nil
	}
	base, err := language.ParseBase(languageCode)
	if len(languageCode) != 2 || err != nil || base.String() != languageCode {
		return "", malformed("a locale begins with a language of two letters, such as en or en_GB")
	}
	if !hasCountry {
		return languageCode, nil
	}
	region, err := language.ParseRegion(country)
	if len(country) != 2 || err != nil || region.String() != country || !region.IsCountry() {
		return "", malformed("a locale ends with a country of two letters, such as GB in en_GB")
	}
	return languageCode + "_" + country, nil
}
