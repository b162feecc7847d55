// Package timeline keeps feeds: lists of ids, newest first, that grow without end. A feed is split into days,
// so that no partition grows with the feed. In a remote store, a day has several partitions. Entries are
// derived from other rows, for example those of pastes. Each page checks its entries against these rows, so a
// stale entry is not shown. The package does not know what the ids name.
package timeline
