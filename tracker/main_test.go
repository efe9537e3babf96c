package tracker

import (
	"flag"
	"os"
	"testing"
)

// TestMain has the state machines run four times as often as is the default:
// they are fast, and some faults need several rare things at once.
func TestMain(m *testing.M) {
	checks := "400"
	if raceEnabled {
		checks = "60"
	}
	given := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
