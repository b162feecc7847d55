package library

// Visibility says who may see a thing. Ordered: a greater one is wider.
// As a number it is also what stores write.
type Visibility uint8

// The visibilities, from the narrowest to the widest.
const (
	Private  Visibility = 1 // those it was shared with
	LoggedIn Visibility = 2 // anyone signed in to its tenant
	Public   Visibility = 3 // everyone
)

// Bucket is the part of a library that readers of one class read. A bucket is
// named by the visibility whose readers it serves: the Private bucket holds
// everything, the Public one what everybody may see.
type Bucket = Visibility

// Buckets are all buckets of a library, in the order in which they stand.
var allBuckets = [...]Bucket{Private, LoggedIn, Public}

// StandsIn tells whether an item of visibility v belongs in bucket b of
// owner's library. It is the one function that decides this, on every path:
// share, update, rebuild, audit and read.
//
// A LOGGEDIN item stands in the LOGGEDIN bucket of libraries of its own tenant
// only: readers of that bucket are signed in to the owner's tenant.
func StandsIn(b Bucket, v Visibility, item ContentID, owner PrincipalID) bool {
	switch b {
	case Private:
		return true
	case LoggedIn:
		return v == Public || v == LoggedIn && item.Tenant() == owner.Tenant()
	case Public:
		return v == Public
	}
	return false
}

// String is the contract's name of the visibility.
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

// Valid tells whether v is one of the three.
func (v Visibility) Valid() bool { return v >= Private && v <= Public }

// ParseVisibility reads the contract's name; ok is false for any other text.
func ParseVisibility(s string) (v Visibility, ok bool) {
	for _, v := range allBuckets {
		if v.String() == s {
			return v, true
		}
	}
	return 0, false
}
