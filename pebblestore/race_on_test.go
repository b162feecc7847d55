//go:build race

package pebblestore

// recoveriesEvery is n if the recovery from one of n crash points crashes too. With the race
// detector each takes some ten times as long, and there are no new races to find.
const recoveriesEvery = 200
