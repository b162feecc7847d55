// Package ablations switches rules of the write protocol off, one at a time, so that the
// simulator can show that it finds a wrong library without them.
//
// An ablation is a patch: lines of the product's source, and their replacement. The product
// itself has no switches. All patches are applied at once, as an overlay of the go command,
// when the simulator is compiled for TestAblations; the inserted code calls commit.Ablated,
// which the overlay adds, to find out whether its rule is the one that is off. The environment
// variable CARREL_ABLATION names it. TestMain of the simulator refuses a name that is not in
// the table, and builds the patched program if a name is given to another:
//
//	CARREL_ABLATION=no-fence go test -run TestSchedules ./test/simulator -args -count 1000
//
// To add an ablation, add a row to All, and one to the table in docs/write-protocol.md. A patch
// must match the source exactly once: when the source changes, TestAblations reports which
// patch no longer applies. Code of more than a line goes into a file below testdata/added,
// which the overlay adds to the package of the same path.
package ablations
