package session

import (
	"testing"
	"testing/synctest"
	"time"
)

// A measurement is valid for a minute.
func TestSkew_OlderThanAMinuteIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{clocks: clocks{skew: Skew{Ahead: 5, Within: 1}, at: time.Now(), known: true}}
		<-time.After(clockValid - 1)
		if skew, known := s.Skew(); !known || skew != s.clocks.skew {
			t.Errorf("within the minute it is %v, %t", skew, known)
		}
		<-time.After(1)
		if _, known := s.Skew(); known || s.Ahead() != 0 {
			t.Error("it is known although it was measured a minute ago")
		}
	})
}

func TestMedian_ReturnsTheMedianNode(t *testing.T) {
	reading := func(node string, ahead, within time.Duration) clockReading {
		return clockReading{node, Skew{Ahead: ahead, Within: within}}
	}
	for _, tc := range []struct {
		name     string
		readings []clockReading
		want     Skew
	}{
		{"one node", []clockReading{reading("a", 5, 1)}, Skew{5, 1}},
		{"the best answer of a node", []clockReading{reading("a", 90, 50), reading("a", 5, 1), reading("a", 70, 9)}, Skew{5, 1}},
		{"one of three is wrong", []clockReading{reading("a", 4, 1), reading("b", 9000, 1), reading("c", 5, 2)}, Skew{5, 2}},
		{"one of three is wrong the other way", []clockReading{reading("a", 4, 1), reading("b", -9000, 1), reading("c", 5, 2)}, Skew{4, 1}},
		{"two do not agree", []clockReading{reading("a", 9000, 1), reading("b", -5, 1)}, Skew{-5, 1}},
		{"a node that answers often counts once", []clockReading{reading("a", 9000, 1), reading("a", 9000, 1),
			reading("a", 9000, 1), reading("b", 1, 1), reading("c", 2, 1)}, Skew{2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := median(tc.readings); got != tc.want {
				t.Errorf("it is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSkew_CertainLeavesOutTheError(t *testing.T) {
	const within = 10 * time.Millisecond
	for _, tc := range []struct{ ahead, want time.Duration }{
		{0, 0}, {within, 0}, {-within, 0},
		{time.Second, time.Second - within}, {-time.Second, within - time.Second},
	} {
		if got := (Skew{Ahead: tc.ahead, Within: within}).certain(); got != tc.want {
			t.Errorf("ahead by %s, give or take %s: %s is certain, want %s", tc.ahead, within, got, tc.want)
		}
	}
}
