// Package ablations disables rules of the write protocol, one at a time, so that tests can
// show that the simulator finds a violation without them.
//
// An ablation is a patch: lines of the product's source, and their replacement. The product
// itself has no switches. All patches are applied at once, as an overlay of the go command,
// when the simulator is compiled for TestAblations; the inserted code calls commit.Ablated,
// which the overlay adds, to ask whether its rule is disabled. The environment variable
// CARREL_ABLATION names the disabled rule. TestMain of the simulator refuses a name that is not in
// All, and builds and runs the patched tests if the running ones are unpatched:
//
//	CARREL_ABLATION=no-fence go test -run TestSchedules ./test/simulator -args -count 1000
//
// To add an ablation, add a row to All, and one to the table in docs/write-protocol.md,
// docs/unique-names.md or docs/pastes.md. A patch must match the source exactly once: when the
// source changes, TestAblations reports which patch no longer applies. Code of more than a line goes
// into a file below testdata/added, which the overlay adds to the package of the same path.
package ablations
