// Package journal keeps the in-flight list of a process, which it writes before each
// compare-and-set. It also takes over the lists of dead processes, and runs deferred changes,
// expiries, repairs and the scrubber.
//
// It decides when background work runs; its Service decides what that work does. It
// must not know any rule of visibility, or any backend.
package journal
