// Package simulator drives the product's own Service and journal, step by
// step, on a simulated store, and looks for wrong libraries.
//
// It answers for an adversary: a scheduler that decides from a seed which task
// goes next and when time passes, a store whose writes fail, arrive late or
// arrive after they failed, processes whose clocks disagree and which die at
// any step; and for the judges that know nothing of how the product works:
// checks written from the store's cells and the history of what was decided.
// It must not know the product's rules from the product: where it calls
// library.StandsIn or Enforcement.Derive it stands for a backend, and the
// judges do neither.
//
// The same seed is the same run, down to the hash of its trace.
package simulator
