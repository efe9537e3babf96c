package cdc

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

func TestParseDefaults(t *testing.T) {
	o, err := parse([]string{"-table", "orders", "-pipeline", "p"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Table: "orders", Pipeline: "p", CheckpointTable: "ackgate-checkpoints", Segments: 4,
		Start: checkpoint.StartTrimHorizon, Backfill: true, Out: "-",
		Linger: 20 * time.Millisecond, CommitInterval: time.Second, Progress: 10 * time.Second,
		Discovery: 30 * time.Second, DrainTimeout: 20 * time.Second,
	}
	if o != want {
		t.Errorf("parse = %+v\nwant %+v", o, want)
	}
}

// TestBadFlagsExitWithOneSentence: what is wrong, a colon, what to do; code 2;
// and nothing is asked of AWS.
func TestBadFlagsExitWithOneSentence(t *testing.T) {
	for _, tc := range []struct {
		args string
		says string
	}{
		{"", "-table is missing: name"},
		{"-table orders", "-pipeline is missing: choose"},
		{"-table o -pipeline p", `-table "o" is no table name: give 3 to 255`},
		{"-table orders -pipeline p -segments 0", "-segments 0 is out of range: give"},
		{"-table orders -pipeline p -segments 5000", "-segments 5000 is out of range: give"},
		{"-table orders -pipeline p -segments x", `invalid value "x" for flag -segments`},
		{"-table orders -pipeline p -start now", `-start "now" is unknown: give trim_horizon`},
		{"-table orders -pipeline p -endpoint localhost:8000", `-endpoint "localhost:8000" is no URL: give`},
		{"-table orders -pipeline p -checkpoint-table orders", "-checkpoint-table and -table are the same: keep"},
		{"-table orders -pipeline p -checkpoint-table a/b", `-checkpoint-table "a/b" is no table name: give`},
		{"-table orders -pipeline p -linger -1s", "-linger -1s is too short: give"},
		{"-table orders -pipeline p -commit-interval 0s", "-commit-interval 0s is too short: give"},
		{"-table orders -pipeline p -page-size -1", "-page-size -1 is out of range: give"},
		{"-table orders -pipeline p -out=", "-out is empty: name"},
		{"-table orders -pipeline p -unknown", "flag provided but not defined: -unknown: see"},
		{"-table orders -pipeline p extra", `unexpected argument "extra": write`},
	} {
		var stderr bytes.Buffer
		code := Main(strings.Fields(tc.args), &stderr)
		text := stderr.String()
		if code != exitInput || !strings.HasPrefix(text, "ddbcdc: "+tc.says) || strings.Count(text, "\n") != 1 {
			t.Errorf("ddbcdc %s: exit %d, says %q; want %d and %q", tc.args, code, text, exitInput, tc.says)
		}
	}
}

func TestHelpExitsWithoutError(t *testing.T) {
	var stderr bytes.Buffer
	if code := Main([]string{"-help"}, &stderr); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, flag := range []string{"-table", "-pipeline", "-region", "-endpoint", "-checkpoint-table", "-segments", "-start", "-backfill", "-out"} {
		if !strings.Contains(stderr.String(), flag) {
			t.Errorf("help does not mention %s", flag)
		}
	}
}
