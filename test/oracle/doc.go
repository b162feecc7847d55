// Package oracle runs random operations of many viewers on the Services of libraries and of
// pastes over any Store, and compares every answer with a plain model in memory. The model
// follows only the documented behaviour: it has no positions, buckets or compare-and-set, only
// the roles of principals on items, and the pastes.
//
// It checks the rules as callers see them, with one operation at a time. The simulator checks
// crashes and races.
package oracle
