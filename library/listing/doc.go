// Package listing reads the pages of libraries: scans of a bucket, filters, the search for words, and
// cursors. Package library decides which items a viewer sees. Package listing does not know how an answer is shown. It
// changes nothing itself: it requests the repair of entries that it finds to be stale.
package listing
