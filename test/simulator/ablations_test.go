package simulator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"carrel/test/simulator/ablations"
)

// huntWithin is how long one ablation is searched for.
const huntWithin = 5 * time.Minute

// ablatedBinary compiles the simulator with all ablations in it.
func ablatedBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay, err := ablations.Overlay(filepath.Join("..", ".."), dir)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "ablated.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("the simulator cannot be compiled with the ablations: %v\n%s", err, out)
	}
	return binary
}

// runAblated runs tests of the binary with a rule switched off; "" is none.
func runAblated(t *testing.T, binary, without string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), huntWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), ablations.Variable+"="+without)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// foundLine is what TestHunt prints of the first violation.
var foundLine = regexp.MustCompile(`(?m)^\s*(?:\S+: )?found at seed (\d+): (.*)$`)

// TestAblations switches one rule of the protocol off at a time: the simulator must find a
// wrong library. That shows that the rule is needed, and that its loss would be noticed.
// With all rules on, the same program finds nothing.
func TestAblations(t *testing.T) {
	if underRace {
		t.Log("one task at a time has no data races: played without the detector")
		return
	}
	binary := ablatedBinary(t)
	out, err := runAblated(t, binary, "", "-test.run", "^TestSchedules$", "-count", fmt.Sprint(sample))
	if err != nil {
		t.Fatalf("with all rules on: %v\n%s", err, out)
	}
	for _, a := range ablations.All {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			following := uint64(someFollow)
			if a.Followers {
				following = 1024 // it harms nobody else
			}
			out, err := runAblated(t, binary, a.Name, "-test.run", "^TestHunt$", "-test.v", "-following", fmt.Sprint(following))
			found := foundLine.FindStringSubmatch(out)
			if err != nil || found == nil {
				t.Fatalf("not found within %d schedules that %s: %v\n%s", searched, a.Without, err, out)
			}
			t.Logf("found at seed %s (make sim SEED=%s WITHOUT=%s FOLLOWING=%d): %s", found[1], found[1], a.Name, following, found[2])
		})
	}
}

// TestHunt looks for the first schedule that ends with wrong libraries, pages or followers,
// or with something left over that nobody will clean up. TestAblations runs it with a rule
// switched off.
func TestHunt(t *testing.T) {
	without := os.Getenv(ablations.Variable)
	count := uint64(searched)
	if without == "" {
		count = sample
	}
	m := NewMachine()
	defer m.Close()
	m.Following = *followingFlag
	for seed := uint64(1); seed <= count; seed++ {
		for _, v := range m.Play(t.Context(), seed) {
			switch v.Kind {
			case wrongLibrary, leftOver, wrongPage, wrongFollower:
				if without == "" {
					t.Fatalf("with all rules on, at seed %d: %s: %s", seed, v.Kind, v.What)
				}
				t.Logf("found at seed %d: %s: %s", v.Seed, v.Kind, v.What)
				return
			}
		}
	}
}
