//go:build race

package simulator

// underRace is true with the race detector. It makes a schedule about twenty times as
// slow, and tasks run one at a time, so a few schedules are enough to check the
// switches between tasks.
const underRace = true
