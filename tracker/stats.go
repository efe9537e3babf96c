package tracker

import (
	"fmt"
	"strings"
)

// Position is the frontier; false while nothing is settled that it may rest on.
// The zero value of P is a position like any other.
func (f *Frontier[P]) Position() (P, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.positionLocked()
}

// Snapshot is the frontier together with its completion, read at one instant.
func (f *Frontier[P]) Snapshot() Snapshot[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	pos, ok := f.positionLocked()
	return Snapshot[P]{
		Position: pos, OK: ok,
		Complete: f.completeLocked(),
		Version:  f.version,
		Settled:  f.prefixLocked(),
	}
}

// Snapshot is one instant of a Frontier.
type Snapshot[P any] struct {
	Position P
	OK       bool   // Position is set
	Complete bool   // sealed and everything settled; stays so
	Version  uint64 // raised when, and only when, the frontier moved or Complete changed
	Settled  int64  // weight of the settled prefix: all before the first outstanding item
}

// Stats counts what a Frontier saw.
type Stats struct {
	Outstanding       int
	OutstandingWeight int64

	// Tracked counts items. Stale counts acks, discards and nacks that changed
	// nothing (T3). Nacked counts calls, not items.
	Tracked, Acked, Discarded, Nacked, Stale uint64

	// Oldest numbers the first outstanding item, counted from 1 in track order;
	// 0 if none is. The same number for too long is a stuck item: a caller with
	// a clock makes an age of it. OldestNacked: it was nacked.
	Oldest       uint64
	OldestNacked bool

	// Waiting counts calls that wait for room.
	Waiting int

	Sealed, Abandoned bool
}

// Stats reports the counters.
func (f *Frontier[P]) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Stats{
		Outstanding:       f.outstandingLocked(),
		OutstandingWeight: f.total - f.gone,
		Tracked:           f.seq,
		Acked:             f.settled[acked],
		Discarded:         f.settled[discarded],
		Nacked:            f.nacked,
		Stale:             f.stale,
		Sealed:            f.state&sealed != 0,
		Abandoned:         f.state&dropped != 0,
		Waiting:           f.waiting.n,
	}
	if len(f.slots) > 0 {
		if first := f.slots[0].after; first != 0 {
			s.Oldest = f.slots[first].seq &^ flags
			s.OldestNacked = f.slots[first].seq&failed != 0
		}
	}
	return s
}

func (f *Frontier[P]) positionLocked() (pos P, ok bool) {
	if len(f.slots) == 0 || f.slots[0].seq&rests == 0 {
		return pos, false
	}
	return f.slots[0].pos, true
}

// prefixLocked is the weight of the settled prefix.
func (f *Frontier[P]) prefixLocked() int64 {
	if len(f.slots) > 0 {
		if first := f.slots[0].after; first != 0 {
			return f.slots[first].base
		}
	}
	return f.total
}

// String shows the ring on one line: where the frontier is and, by number in
// track order, what is outstanding; ! marks what was nacked. For logs and tests
// of small frontiers.
func (f *Frontier[P]) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	if pos, ok := f.positionLocked(); ok {
		fmt.Fprintf(&b, "frontier=%v", pos)
	} else {
		b.WriteString("frontier=none")
	}
	b.WriteString(" outstanding=[")
	if len(f.slots) > 0 {
		for i, sep := f.slots[0].after, "#"; i != 0; i, sep = f.slots[i].after, " #" {
			fmt.Fprintf(&b, "%s%d", sep, f.slots[i].seq&^flags)
			if f.slots[i].seq&failed != 0 {
				b.WriteByte('!')
			}
		}
	}
	b.WriteByte(']')
	switch {
	case f.state&dropped != 0:
		b.WriteString(" abandoned")
	case f.completeLocked():
		b.WriteString(" complete")
	case f.state&sealed != 0:
		b.WriteString(" sealed")
	}
	if f.waiting.n > 0 {
		fmt.Fprintf(&b, " waiting=%d", f.waiting.n)
	}
	return b.String()
}
