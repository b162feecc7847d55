package simulator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"carrel/test/simulator/ablations"
)

const (
	// searched is the number of schedules within which an ablation must be found.
	searched = 60_000
	// nearby is how many schedules are played from that of rare on.
	nearby = 1_000
	// searchTimeout is how long the search for one ablation may take.
	searchTimeout = 5 * time.Minute
	// everybodyFollows is the chance, in 1024, that libraries are followed in schedules whose
	// violations only followers notice.
	everybodyFollows = 1024
)

// rare are ablations that few schedules find, with the seed of one that found each. The search begins there, and
// begins again with the first schedule if nothing is found nearby, because a change of what is simulated has moved it.
var rare = map[string]uint64{
	"age-by-monotonic-clock":    copiesFrom + 3_409,
	"age-by-wall-clock":         copiesFrom + 1_674,
	"bound-after-set":           copiesFrom + 22_463,
	"deferred-titles-forgotten": 48_445,
	"entry-before-read":         7_305,
	"fence-refused-unread":      32_760,
	"former-any-token":          44_410,
	"lapsed-owner-stays":        85_306,
	"later-leaving-dropped":     12_181,
	"missed-before-feed":        4_871,
	"move-drops-leaving":        13_565,
	"new-member-not-read-again": 7_709,
	"reminder-set-back":         17_118,
	"slice-before-set":          copiesFrom + 41_062,
	"url-fence-any-base":        120_618,
}

// promised are the kinds of violations to which an ablation must lead. Other kinds may be caused by
// mistakes in the ablation.
var promised = []string{wrongLibrary, leftOver, wrongPage, wrongFollower, lostKey, wrongLease, wrongText, wrongPaste, wrongFeed}

var reportFlag = flag.String("report", "", "the file into which TestSchedules_FirstViolation writes what it has found")

// searchReport is the report of TestSchedules_FirstViolation. TestAblations accepts a report only
// if it names the requested ablation.
type searchReport struct {
	Without   string     `json:"without"`
	Schedules int        `json:"schedules"`
	Found     *Violation `json:"found"` // null: nothing is wrong
}

// replay returns the command that runs the schedule of a seed again.
func replay(seed uint64) string {
	if without == "" {
		return fmt.Sprintf("make sim SEED=%d", seed)
	}
	return fmt.Sprintf("make sim SEED=%d WITHOUT=%s", seed, without)
}

// TestSchedules_FirstViolation looks for a first violation. Without a rule there must be one, of a
// kind that the protocol promises to prevent; with all rules there must be none, whether libraries
// are followed or not.
func TestSchedules_FirstViolation(t *testing.T) {
	if underRace {
		t.Log("not played: tasks run one at a time, so the race detector would find nothing")
		return
	}
	report := searchReport{Without: without}
	m := newMachine()
	defer m.Close()
	if without != "" {
		first, every := uint64(1), uint64(1)
		switch a, err := ablations.Find(without); {
		case err != nil:
			t.Fatal(err)
		case a.In == ablations.Leases:
			first, every = leaseShare, leaseShare
		case a.In == ablations.Pages:
			first, every = pageSeed, leaseShare
		case a.In == ablations.Pastes:
			first, every = pasteSeed, leaseShare
		case a.In == ablations.Names:
			first, every = nameSeed, leaseShare
		case a.In == ablations.Copies:
			first = copiesFrom
		}
		promises := func(v Violation) bool { return slices.Contains(promised, v.Kind) }
		if last := rare[without]; last != 0 {
			report.search(t.Context(), m, last, every, nearby, promises)
		}
		report.search(t.Context(), m, first, every, searched, promises)
	} else {
		all := func(Violation) bool { return true }
		report.search(t.Context(), m, 1, 1, sample/2, all)
		report.search(t.Context(), m, leaseShare, leaseShare, sample/2, all)
		report.search(t.Context(), m, pageSeed, leaseShare, sample/2, all)
		report.search(t.Context(), m, pasteSeed, leaseShare, sample/2, all)
		report.search(t.Context(), m, nameSeed, leaseShare, sample/2, all)
		report.search(t.Context(), m, copiesFrom, 1, sample/2, all)
		m.Following = everybodyFollows
		report.search(t.Context(), m, 1, 1, sample/2, all)
	}
	switch v := report.Found; {
	case v == nil && without != "":
		t.Errorf("nothing is wrong within %d schedules with the ablation %s", report.Schedules, without)
	case v != nil && without == "":
		t.Errorf("%v\n\treplay it with: %s", v, replay(v.Seed))
	}
	if *reportFlag == "" {
		return
	}
	text, err := json.Marshal(report)
	if err == nil {
		err = os.WriteFile(*reportFlag, text, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// search runs every n-th schedule from a seed on, until one ends with a promised violation, now or in an earlier
// search. If every is 1, it runs those about libraries.
func (h *searchReport) search(ctx context.Context, m *Machine, first, every, most uint64, counts func(Violation) bool) {
	played := uint64(0)
	for seed := first; played < most && h.Found == nil; seed += every {
		if every == 1 && seed < copiesFrom && !isAboutLibraries(seed) {
			continue // it would notice nothing of libraries
		}
		played++
		h.Schedules++
		found := m.Play(ctx, seed)
		if i := slices.IndexFunc(found, counts); i >= 0 {
			h.Found = &found[i]
		}
	}
}

// TestAblations breaks one rule of the protocol at a time: the simulator must find a violation of
// one of the kinds in promised. That shows that the rule is needed, and that its loss would be
// noticed. With the same patches and all rules in force nothing may be found.
func TestAblations(t *testing.T) {
	if underRace {
		t.Log("not played: tasks run one at a time, so the race detector would find nothing")
		return
	}
	program, err := buildOverlaid(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("every-rule", func(t *testing.T) {
		t.Parallel()
		if h := searchIn(t, program, ""); h.Found != nil {
			t.Errorf("the patches break a rule although none of them is on: %v", h.Found)
		}
	})
	for _, a := range ablations.All {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			v := searchIn(t, program, a.Name).Found
			if v == nil || !slices.Contains(promised, v.Kind) {
				t.Fatalf("%s: not found: %v", a.Without, v)
			}
			t.Logf("found by make sim SEED=%d WITHOUT=%s: %s: %.200s", v.Seed, a.Name, v.Kind, v.What)
		})
	}
}

// searchIn runs TestSchedules_FirstViolation of a program with an ablation on, and returns its
// report.
func searchIn(t *testing.T, program, name string) searchReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), searchTimeout)
	defer cancel()
	file := filepath.Join(t.TempDir(), "report.json")
	command := exec.CommandContext(ctx, program, "-test.run", "^TestSchedules_FirstViolation$", "-report", file)
	command.Env = append(os.Environ(), ablations.Variable+"="+name)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the search ended with %v:\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the search has reported nothing: %v", err)
	}
	var h searchReport
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	if h.Without != name || h.Schedules == 0 {
		t.Fatalf("the search was for %q and played %d schedules", h.Without, h.Schedules)
	}
	return h
}
