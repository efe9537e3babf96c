package shards

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	origin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cut    = origin.Add(time.Hour)
)

func TestResolveTable(t *testing.T) {
	five, nine := number(t, "5"), number(t, "9")
	latest, horizon := Origin{Latest: true, Time: origin}, Origin{Time: origin}
	for _, row := range []struct {
		name     string
		evidence Evidence
		want     Start
	}{
		{
			"complete: never read again, whatever else is known",
			Evidence{Complete: true, LastRead: nine, Checkpoint: five, Origin: latest, Fresh: true},
			Start{Kind: None},
		},
		{
			"read in this run: behind the last record, not behind the older checkpoint",
			Evidence{LastRead: nine, Checkpoint: five, Origin: horizon, Positioned: true},
			Start{Kind: AfterSequenceNumber, After: nine},
		},
		{
			"checkpoint with a position",
			Evidence{Checkpoint: five, Origin: horizon},
			Start{Kind: AfterSequenceNumber, After: five},
		},
		{
			"checkpoint with a position: what is older than the origin stays left out",
			Evidence{Checkpoint: five, Origin: latest},
			Start{Kind: AfterSequenceNumber, After: five, SkipBefore: origin},
		},
		{
			"no position, origin trim_horizon",
			Evidence{Origin: horizon, Fresh: true},
			Start{Kind: TrimHorizon},
		},
		{
			"no position, origin latest, first discovery of the run that created it",
			Evidence{Origin: latest, Fresh: true},
			Start{Kind: Latest, SkipBefore: origin},
		},
		{
			"no position, origin latest, child of a rotation, or found later, or a restart",
			Evidence{Origin: latest},
			Start{Kind: TrimHorizon, SkipBefore: origin},
		},
		{
			"no position, origin latest, iterator expired before anything was read",
			Evidence{Origin: latest, Fresh: true, Positioned: true},
			Start{Kind: TrimHorizon, SkipBefore: origin},
		},
		{
			"position trimmed, gap reported, to go on",
			Evidence{LastRead: nine, Checkpoint: five, Trimmed: true, Origin: latest, Fresh: true, Positioned: true},
			Start{Kind: TrimHorizon, SkipBefore: origin},
		},
		{
			"another region: by time, less the margin",
			Evidence{Origin: horizon, Cutoff: cut, Margin: time.Minute},
			Start{Kind: TrimHorizon, SkipBefore: cut.Add(-time.Minute)},
		},
		{
			"another region: never LATEST",
			Evidence{Origin: latest, Fresh: true, Cutoff: cut, Margin: 2 * time.Hour},
			Start{Kind: TrimHorizon, SkipBefore: origin},
		},
		{
			"another region, read in this run",
			Evidence{LastRead: nine, Origin: horizon, Cutoff: cut},
			Start{Kind: AfterSequenceNumber, After: nine, SkipBefore: cut},
		},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, Resolve(row.evidence)) })
	}
}

// All evidence there can be, as far as it is yes or no.
func TestS1_LatestInExactlyOneRow(t *testing.T) {
	n := number(t, "7")
	seen := 0
	for bits := range 1 << 8 {
		bit := func(i int) bool { return bits>>i&1 == 1 }
		e := Evidence{
			Complete: bit(0), Trimmed: bit(1), Fresh: bit(2), Positioned: bit(3),
			Origin: Origin{Latest: bit(4), Time: origin},
		}
		if bit(5) {
			e.LastRead = n
		}
		if bit(6) {
			e.Checkpoint = n
		}
		if bit(7) {
			e.Cutoff = cut
		}
		row := e.Origin.Latest && e.Fresh &&
			!e.Complete && !e.Trimmed && !e.Positioned && !bit(5) && !bit(6) && !bit(7)
		require.Equal(t, row, Resolve(e).Kind == Latest, "%+v", e)
		if row {
			seen++
		}
	}
	require.Equal(t, 1, seen)
}

func TestS2_WhatIsSkippedIsOlderThanTheOrigin(t *testing.T) {
	late := origin.Add(900 * time.Millisecond)
	s := Resolve(Evidence{Origin: Origin{Latest: true, Time: late}})
	require.False(t, s.Skips(origin), "records are dated in whole seconds: this one may be from the same second")
	require.True(t, s.Skips(origin.Add(-time.Second)))
	require.False(t, s.Skips(time.Time{}), "undated")

	s = Resolve(Evidence{Origin: Origin{Time: origin}})
	require.False(t, s.Skips(origin.Add(-time.Hour)), "a pipeline from trim_horizon is owed all")

	zoned := origin.In(time.FixedZone("east", 3600))
	s = Resolve(Evidence{Origin: Origin{Latest: true, Time: zoned}})
	require.False(t, s.Skips(origin))
	require.True(t, s.Skips(origin.Add(-time.Second)), "instants are compared, not their texts")
}
