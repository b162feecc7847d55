//go:build !race

package pebblestore

// recoveriesEvery is how many crash points there are for each one whose recovery crashes too.
const recoveriesEvery = 40
