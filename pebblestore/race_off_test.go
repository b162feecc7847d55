//go:build !race

package pebblestore

// recoveriesEvery is the number of crash points of which one has its recovery
// crash too.
const recoveriesEvery = 40
