// Package timeline keeps feeds: lists of ids, newest first, that grow without end. A feed is split into
// days, so that no partition grows with the feed. In a remote store, a day has several partitions. Entries
// are derived from other rows, for example those of pastes. Each page checks its entries against these
// rows, so an entry that its row no longer confirms is not shown. The package does not know what the ids
// name.
//
// A gap is a time span in which a feed has no entry to show. A process remembers gaps, and pages skip them.
// To verify a gap is to read its span again. A gap is due seven seconds after it was last read, old after
// ten, and stale after twelve: then no page skips it. A read that passes many removed or expired entries
// finds a gap. Background tasks find and verify gaps, so that pages need not: a verification reads known
// gaps again, a search looks for one where this process has just removed many entries, and a forecast reads
// the newest entries, and remembers when spans whose entries all expire will become gaps.
package timeline
