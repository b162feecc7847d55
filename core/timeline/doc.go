// Package timeline keeps feeds: lists of ids, newest first, that grow without end. A feed is stored
// by days, so that no partition grows with the feed. In a remote store, a day has several partitions.
// Entries are derived from rows of a domain. Each page checks its entries against these rows, so an
// obsolete entry is not shown. The package does not know what the ids name.
package timeline
