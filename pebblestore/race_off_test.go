//go:build !race

package pebblestore

// recoveriesEvery is n if the recovery from one of n crash points crashes too.
const recoveriesEvery = 40
