package simulator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"carrel/test/simulator/ablations"
)

var (
	// overlaid reports that this program was built with the patches of all ablations.
	overlaid bool
	// without is the name of the requested ablation; empty: none.
	without = os.Getenv(ablations.Variable)
)

// TestMain runs the tests. If an ablation is requested, it builds these tests with the patches
// and runs those instead.
func TestMain(m *testing.M) {
	if without != "" {
		if _, err := ablations.Find(without); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if !overlaid {
			os.Exit(runOverlaid())
		}
	}
	goleak.VerifyTestMain(m)
}

// runOverlaid runs the tests of the patched product with the arguments of this program,
// and returns their exit code.
func runOverlaid() int {
	dir, err := os.MkdirTemp("", "ablations-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	program, err := buildOverlaid(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	inner := exec.Command(program, os.Args[1:]...)
	inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
	var failed *exec.ExitError
	switch err := inner.Run(); {
	case errors.As(err, &failed):
		return failed.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// buildOverlaid builds the tests of this package with the patches of all ablations.
func buildOverlaid(dir string) (program string, err error) {
	overlay, err := ablations.Overlay(root, dir)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "simulator.test")
	out, err := exec.Command("go", "test", "-c", "-vet", "off", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the product with the patches of the ablations: %w\n%s", err, out)
	}
	return program, nil
}
