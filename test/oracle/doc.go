// Package oracle plays random operations of many viewers on the Services of
// libraries and of pastes over any Store, and compares every answer with a plain
// model in memory that was written from the description of the behaviour alone:
// no positions, no buckets, no compare-and-set, only who has which role on what,
// and which pastes there are.
//
// It answers for the rules as callers meet them. What happens under crashes
// and races is the simulator's matter: here one operation runs at a time.
package oracle
