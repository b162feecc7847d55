package principal

// Visibility says who may see an item or a principal. It is ordered: a greater one is wider.
// Stores write it as this number.
type Visibility uint8

// The visibilities, from the narrowest to the widest.
const (
	Private  Visibility = 1 // those it was shared with
	LoggedIn Visibility = 2 // anyone signed in to its tenant
	Public   Visibility = 3 // everyone
)

// String returns the name of the visibility in the API.
func (v Visibility) String() string {
	switch v {
	case Private:
		return "PRIVATE"
	case LoggedIn:
		return "LOGGEDIN"
	case Public:
		return "PUBLIC"
	}
	return ""
}

// Valid reports whether v is one of the three.
func (v Visibility) Valid() bool { return v >= Private && v <= Public }

// ParseVisibility parses the name in the API; ok is false for any other text.
func ParseVisibility(s string) (v Visibility, ok bool) {
	for _, v := range []Visibility{Private, LoggedIn, Public} {
		if v.String() == s {
			return v, true
		}
	}
	return 0, false
}
