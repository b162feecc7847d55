//go:build race

package pebblestore

// recoveriesEvery is how many crash points there are for each one whose recovery crashes too. With
// the race detector each takes some ten times as long, and there are no new races to find.
const recoveriesEvery = 200
