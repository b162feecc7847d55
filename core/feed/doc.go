// Package feed keeps feeds: lists of ids, newest first, that grow without end. A feed is split into days, so that
// no partition grows with the feed. In a remote store, a day has several partitions. Entries are derived from other
// rows, for example those of pastes. Each page checks its entries against these rows, so an entry that its row no
// longer confirms is not shown. The package does not know what the ids name.
//
// The newest page is made from the head of the feed, its newest entries. A process reads them at most once a second,
// so that not every page reads past the entries that have expired or were removed.
package feed
