package library

import "carrel/principal"

// Bucket is the part of a library that readers of one class read. A bucket is
// named by the visibility whose readers it serves: the Private bucket holds
// everything, the Public one what everybody may see.
type Bucket = principal.Visibility

// Buckets are all buckets of a library, in the order in which they stand.
var AllBuckets = [...]Bucket{principal.Private, principal.LoggedIn, principal.Public}

// InBucket tells whether an item of visibility v belongs in bucket b of
// owner's library. It is the one function that decides this, on every path:
// share, update, rebuild, audit and read.
//
// A LOGGEDIN item stands in the LOGGEDIN bucket of libraries of its own tenant
// only: readers of that bucket are signed in to the owner's tenant.
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
