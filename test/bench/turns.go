package main

import "time"

// A series is the costs of one operation, one for each round of a comparison.
type series []cost

// inTurns measures each of some subjects once a round, one after the other, and returns their
// costs. One more round comes first, which only warms up.
func inTurns(rounds, subjects int, measure func(subject int) (cost, error)) ([]series, error) {
	all := make([]series, subjects)
	for round := range rounds + 1 {
		for i := range all {
			c, err := measure(i)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i] = append(all[i], c)
			}
		}
	}
	return all, nil
}

// micros returns the median cost in microseconds.
func (s series) micros(of func(cost) time.Duration) summary {
	return s.median(func(i int) float64 { return inUnits(of(s[i]), time.Microsecond) })
}

// perSecond returns the median of how many operations a second finish.
func (s series) perSecond() summary {
	return s.median(func(i int) float64 { return 1 / s[i].wall.Seconds() })
}

// times returns the median of the ratios to the cost of another operation in the same round.
func (s series) times(other series, of func(cost) time.Duration) float64 {
	return s.median(func(i int) float64 { return float64(of(s[i])) / float64(of(other[i])) }).median
}

func (s series) median(figure func(round int) float64) summary {
	all := make([]float64, len(s))
	for i := range all {
		all[i] = figure(i)
	}
	return medianOf(all)
}
