//go:build race

package simulator

// underRace: the detector makes a schedule some twenty times as long, and has
// nothing to find in what one task at a time does; a few show that handing over
// is clean.
const underRace = true
