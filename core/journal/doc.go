// Package journal keeps the in-flight list of a process: the lane it writes
// before each compare-and-set, the take-over of lanes whose owners are dead,
// deferred moves, the expiry of items, repairs and the scrubber.
//
// It answers for when something is done again, never for what: that is the
// Service's. It must not know a rule of visibility, nor a backend.
package journal
