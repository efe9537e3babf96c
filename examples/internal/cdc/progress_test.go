package cdc

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressLine(t *testing.T) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	before := status{at: start}
	for _, tc := range []struct {
		s    status
		want string
	}{
		{
			status{at: start.Add(2 * time.Second), rows: 500, estimate: 2000, segments: 4, segmentsDone: 1, inFlight: 3},
			"backfill: 500 rows of about 2000, 1 of 4 segments done, 250 rows/s, 3 batches in flight",
		},
		{
			status{at: start.Add(2 * time.Second), rows: 500, segments: 1},
			"backfill: 500 rows, 0 of 1 segments done, 250 rows/s, 0 batches in flight",
		},
		{
			status{at: start.Add(10 * time.Second), streaming: true, changes: 25, shards: 8, lag: 1234 * time.Millisecond},
			"stream: 25 changes, 2 changes/s, 8 shards, lag 1.2s, 0 batches in flight",
		},
		{
			status{at: start, streaming: true, trouble: "the checkpoint table does not answer"},
			"stream: 0 changes, 0 changes/s, 0 shards, lag 0s, 0 batches in flight; the checkpoint table does not answer",
		},
	} {
		if got := tc.s.line(before); got != tc.want {
			t.Errorf("line = %q\nwant   %q", got, tc.want)
		}
	}
}

func TestDisplayWritesPlainLinesOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := newDisplay(&out, 10*time.Second)
		stop := make(chan struct{})
		ended := make(chan struct{})
		n := int64(0)
		go func() {
			defer close(ended)
			d.run(stop, func() status { n++; return status{at: time.Now(), rows: 100 * n, segments: 1} })
		}()
		time.Sleep(25 * time.Second)
		close(stop)
		<-ended
		want := "ddbcdc: backfill: 200 rows, 0 of 1 segments done, 10 rows/s, 0 batches in flight\n" +
			"ddbcdc: backfill: 300 rows, 0 of 1 segments done, 10 rows/s, 0 batches in flight\n" +
			"ddbcdc: backfill: 400 rows, 0 of 1 segments done, 20 rows/s, 0 batches in flight\n"
		if out.String() != want {
			t.Errorf("wrote\n%s\nwant\n%s", out.String(), want)
		}
	})
}

func TestDisplayMovesOneLineOnATerminal(t *testing.T) {
	var out bytes.Buffer
	d := display{&out, time.Hour, true}
	d.show("one")
	d.show("two")
	if got, want := out.String(), "\r\x1b[Kone\r\x1b[Ktwo"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
