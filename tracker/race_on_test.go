//go:build race

package tracker

// raceEnabled: the detector makes the exhaustive tests ten times as slow, and
// they have one goroutine.
const raceEnabled = true
