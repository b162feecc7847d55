// Package oracle plays random operations of many viewers on the Services of libraries and of
// pastes over any Store, and compares every answer with a plain model in memory. The model was
// written from the description of the behaviour alone: no positions, no buckets, no
// compare-and-set, only who has which role on what, and which pastes there are.
//
// It checks the rules as callers see them. The simulator checks crashes and races: here one
// operation runs at a time.
package oracle
