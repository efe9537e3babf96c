//go:build race

package sim

// The race detector has the scheduler choose at random.
const raceDetector = true
