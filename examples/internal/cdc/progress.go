package cdc

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// status is what a progress line shows, gathered at one instant.
type status struct {
	at           time.Time
	streaming    bool
	rows         int64 // backfill items written
	estimate     int64 // of the table's items, 0: unknown
	segmentsDone int
	segments     int
	changes      int64 // stream records written
	shards       int
	lag          time.Duration // age of the last change when it was read, 0: none lately
	inFlight     int64         // batches read and not yet safe
	trouble      string        // why nothing moves, empty: it does
}

// line compares two instants.
func (s status) line(before status) string {
	var b strings.Builder
	seconds := max(s.at.Sub(before.at).Seconds(), 0.001)
	if !s.streaming {
		fmt.Fprintf(&b, "backfill: %d rows", s.rows)
		if s.estimate > 0 {
			fmt.Fprintf(&b, " of about %d", s.estimate)
		}
		fmt.Fprintf(&b, ", %d of %d segments done, %.0f rows/s", s.segmentsDone, s.segments, float64(s.rows-before.rows)/seconds)
	} else {
		fmt.Fprintf(&b, "stream: %d changes, %.0f changes/s, %d shards, lag %s",
			s.changes, float64(s.changes-before.changes)/seconds, s.shards, s.lag.Round(100*time.Millisecond))
	}
	fmt.Fprintf(&b, ", %d batches in flight", s.inFlight)
	if s.trouble != "" {
		fmt.Fprintf(&b, "; %s", s.trouble)
	}
	return b.String()
}

// display shows progress on w until stop closes: one moving line on a terminal,
// else a plain line every interval.
type display struct {
	w        io.Writer
	interval time.Duration
	moving   bool
}

// terminalRefresh is fast enough to look alive, slow enough to read.
const terminalRefresh = 500 * time.Millisecond

func newDisplay(w io.Writer, interval time.Duration) display {
	if isTerminal(w) {
		return display{w, terminalRefresh, true}
	}
	return display{w, interval, false}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eraseLine goes back to the start of the moving line and erases it.
const eraseLine = "\r\x1b[K"

func (d display) run(stop <-chan struct{}, now func() status) {
	tick := time.NewTicker(d.interval)
	defer tick.Stop()
	before := now()
	for {
		select {
		case <-tick.C:
			s := now()
			d.show(s.line(before))
			before = s
		case <-stop:
			if s := now(); s.rows+s.changes > 0 { // a run that failed at once has nothing to show
				d.show(s.line(before))
				if d.moving {
					fmt.Fprintln(d.w)
				}
			}
			return
		}
	}
}

func (d display) show(line string) {
	if d.moving {
		fmt.Fprint(d.w, eraseLine, line)
		return
	}
	fmt.Fprintln(d.w, "ddbcdc:", line)
}
