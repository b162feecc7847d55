package headercache

import (
	"testing"
	"time"
)

// choices returns how many of n served headers are chosen.
func choices(s *sampler, n int) (chosen int) {
	for range n {
		if s.choose() {
			chosen++
		}
	}
	return chosen
}

func TestSampler_ChoosesOneOfEvery(t *testing.T) {
	s := newSampler(newClocks(), 3)
	if n := choices(s, 2); n != 0 {
		t.Errorf("%d of the first two are chosen, want none", n)
	}
	if n := choices(s, 1); n != 1 {
		t.Error("the third is not chosen")
	}
	if n := choices(s, 300); n != 100 {
		t.Errorf("%d of 300 are chosen, want 100", n)
	}
	if n := choices(newSampler(newClocks(), 1), 10); n != 10 {
		t.Errorf("%d of 10 are chosen where all are to be, want 10", n)
	}
}

func TestSampler_DefaultIsOnePercentAndAtMostTwentyASecond(t *testing.T) {
	rt := newClocks()
	s := newSampler(rt, 0)
	if n := choices(s, 99); n != 0 {
		t.Errorf("%d of the first 99 are chosen, want none", n)
	}
	if n := choices(s, 1); n != 1 {
		t.Error("the hundredth is not chosen")
	}
	rt.elapsed += 50*time.Millisecond - 1
	if n := choices(s, 1000); n != 0 {
		t.Errorf("%d are chosen less than 50 ms after one, want none", n)
	}
	rt.elapsed++
	if n := choices(s, 1000); n != 1 {
		t.Errorf("%d are chosen at one moment, want 1", n)
	}
	chosen := 0
	for range 1000 { // 10,000 copies a second, for a second
		rt.elapsed += time.Millisecond
		chosen += choices(s, 10)
	}
	if chosen < 19 || chosen > 20 {
		t.Errorf("%d are chosen in a second, want 19 or 20", chosen)
	}
}
