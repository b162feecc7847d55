// Package ablations switches rules of the write protocol off, one at a time, so that the
// simulator can show that it finds a wrong library without them.
//
// An ablation is a patch: lines of the product's source, and what takes their place. The
// product itself has no switches. All patches are applied at once, as an overlay of the
// go command, when the simulator is compiled for TestAblations; what they put in asks
// commit.Ablated, which the overlay adds, whether its rule is the one that is off. The
// environment variable CARREL_ABLATION names it.
//
// To add an ablation, add a row to All. A patch must match the source exactly once: when
// the source changes, TestAblations says which patch no longer applies. What takes more
// than a line goes into a file below testdata/added, which the overlay adds to the package
// of the same path.
package ablations
