//go:build race

package pebblestore

// recoveriesEvery is the number of crash points of which one has its recovery
// crash too. The detector makes each some ten times as long, and has nothing
// new to find in them.
const recoveriesEvery = 200
