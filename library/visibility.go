package library

import "carrel/principal"

// Bucket is the part of a library that viewers of one class read. A bucket is named by the
// visibility whose readers it serves: the Private bucket contains everything, the Public one
// what everybody may see.
type Bucket = principal.Visibility

// AllBuckets are all buckets of a library, in their order in the store.
var AllBuckets = [...]Bucket{principal.Private, principal.LoggedIn, principal.Public}

// InBucket reports whether an item of visibility v belongs in bucket b of owner's library. It
// is the one function that decides this, on every path: share, update, rebuild, audit and read.
//
// A LOGGEDIN item is in the LOGGEDIN bucket only of libraries of its own tenant: readers of
// that bucket are signed in to the owner's tenant.
func InBucket(b Bucket, v principal.Visibility, item ContentID, owner principal.ID) bool {
	switch b {
	case principal.Private:
		return true
	case principal.LoggedIn:
		return v == principal.Public || v == principal.LoggedIn && item.Tenant() == owner.Tenant()
	case principal.Public:
		return v == principal.Public
	}
	return false
}
