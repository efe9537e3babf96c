package backfill

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var modes = []Mode{BackfillThenStream, BackfillOnlyMode, StreamOnlyMode}

// Every phase with every event: the table is the drawing of the machine.
func TestPhaseMachineEveryTransition(t *testing.T) {
	type step struct {
		from Phase
		ev   event
	}
	want := func(m Mode) map[step]Phase {
		return map[step]Phase{
			{Fresh, planned}:         Backfilling,
			{Backfilling, exhausted}: Settling,
			{Settling, settled}:      Completing,
			{Completing, marked}:     map[Mode]Phase{BackfillThenStream: Streaming, StreamOnlyMode: Streaming, BackfillOnlyMode: Finished}[m],
		}
	}
	for _, m := range modes {
		for p := Fresh; p <= Finished; p++ {
			for ev := planned; ev <= marked; ev++ {
				to, ok := p.next(ev, m)
				expected, allowed := want(m)[step{p, ev}]
				require.Equal(t, allowed, ok, "%s with %d", p, ev)
				if !allowed {
					expected = p
				}
				require.Equal(t, expected, to, "%s with %d", p, ev)
			}
		}
	}
}

func TestPhaseNames(t *testing.T) {
	require.Equal(t, "Fresh Backfilling Settling Completing Streaming Finished",
		fmt.Sprint(Fresh, Backfilling, Settling, Completing, Streaming, Finished))
	require.Equal(t, "Phase(9)", Phase(9).String())
}

func TestResume(t *testing.T) {
	for _, c := range []struct {
		name string
		e    evidence
		m    Mode
		want Phase
	}{
		{"nothing is durable", evidence{}, BackfillThenStream, Fresh},
		{"a plan that is not prepared", evidence{Segments: 2, Complete: 2}, BackfillThenStream, Fresh},
		{"planned, nothing read", evidence{Prepared: true, Segments: 2}, BackfillThenStream, Backfilling},
		{"one of two segments", evidence{Prepared: true, Segments: 2, Complete: 1}, BackfillThenStream, Backfilling},
		{"all segments, no marker", evidence{Prepared: true, Segments: 2, Complete: 2}, BackfillThenStream, Completing},
		{"without segments only the marker counts", evidence{Prepared: true}, BackfillThenStream, Backfilling},
		{"the marker", evidence{Prepared: true, Segments: 2, Complete: 2, Done: true}, BackfillThenStream, Streaming},
		{"the marker, no stream", evidence{Prepared: true, Done: true}, BackfillOnlyMode, Finished},
		{"stream only needs nothing", evidence{}, StreamOnlyMode, Streaming},
	} {
		require.Equal(t, c.want, resume(c.e, c.m), c.name)
	}
}

// However a run is cut, what its rows say never resumes further than it was.
func TestResumeIsNeverAheadOfTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(modes[:2]).Draw(t, "mode")
		segments := rapid.IntRange(0, 3).Draw(t, "segments")
		p, e := Fresh, evidence{}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			ev := rapid.SampledFrom([]event{planned, exhausted, settled, marked}).Draw(t, "event")
			to, ok := p.next(ev, m)
			if ok && ev == planned {
				e = evidence{Prepared: true, Segments: segments}
			}
			if p == Backfilling || p == Settling {
				e.Complete = rapid.IntRange(e.Complete, max(e.Complete, segments-1)).Draw(t, "complete")
			}
			if ok && ev == settled {
				e.Complete = segments
			}
			e.Done = e.Done || ok && ev == marked
			p = to
			at := resume(e, m)
			require.LessOrEqual(t, at, p)
			// Settling is not durable; everything else is found again.
			if p != Settling && (segments > 0 || p != Completing) {
				require.Equal(t, p, at)
			}
		}
	})
}

func TestRowNames(t *testing.T) {
	require.Equal(t, "backfill/7/plan", planName(7))
	require.Equal(t, "backfill/7/done", doneName(7))
	require.Equal(t, "backfill/7/segment/0-of-12", Run{Generation: 7, Plan: Plan{Segments: 12}}.Partition(0))
	for _, bad := range []string{
		"", "backfill/", "backfill/1", "backfill/0/plan", "backfill/x/plan", "backfill/1/other", "backfill/-1/plan",
		"backfill/1/segment/3-of-3", "backfill/1/segment/-1-of-3", "backfill/1/segment/1-of-3x", "backfill/1/segment/01-of-3", "stream/1/plan",
	} {
		_, _, _, _, err := parseName(bad)
		require.ErrorIs(t, err, ErrPlan, bad)
	}
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.Uint64Min(1).Draw(t, "generation")
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		i := rapid.IntRange(0, n-1).Draw(t, "i")
		gg, kind, ii, nn, err := parseName(segmentName(g, i, n))
		require.NoError(t, err)
		require.Equal(t, []any{g, segmentKind, i, n}, []any{gg, kind, ii, nn})
	})
}

func TestPlanRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{
			Segments: rapid.IntRange(0, 1000).Draw(t, "segments"),
			Anchor:   rapid.String().Draw(t, "anchor"),
			Source:   rapid.String().Draw(t, "source"),
			Restart:  rapid.String().Draw(t, "restart"),
		}
		if rapid.Bool().Draw(t, "timed") {
			p.StartTime = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "start"), 0).UTC()
			p.Details = map[string]string{"table_id": rapid.String().Draw(t, "id")}
		}
		s, err := p.encode()
		require.NoError(t, err)
		got, err := decodePlan(s)
		require.NoError(t, err)
		require.Equal(t, p, got)
	})
}
