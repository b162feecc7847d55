// Package listing reads the pages of libraries: scans of a bucket, filters and the search for words,
// cursors, prefetched pages, and copies of headers that serve entries. Which items a viewer sees is
// decided in package library, which every scan asks. It does not know how an answer is shown, and
// changes nothing but entries that it finds to be stale, whose repair it requests.
package listing
