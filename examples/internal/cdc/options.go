package cdc

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// Options is one run of the pipeline, as its flags say it.
type Options struct {
	Table           string
	Pipeline        string
	Region          string // empty: AWS default chain
	Endpoint        string // empty: AWS
	CheckpointTable string
	Segments        int
	Start           checkpoint.Start
	Backfill        bool
	Out             string // "-": standard output

	Linger         time.Duration // how long a batch waits to share an fsync
	CommitInterval time.Duration // how long a settled position may wait to be saved
	PageSize       int           // items of one Scan page, 0: 1 MB, DynamoDB's own limit
	Progress       time.Duration // between progress lines when not on a terminal
	Discovery      time.Duration // between two listings of the shards
	DrainTimeout   time.Duration // how long a stop waits for batches in flight
}

const usage = `Usage: ddbcdc -table T -pipeline P [flags]

Reads all items of a DynamoDB table and then its stream, and writes one JSON line
per item or change. Progress is kept in the checkpoint table, only for lines that
are written (and for a file fsynced): stopped or killed, the same command resumes.
SIGINT and SIGTERM finish what is in flight first; a second one exits at once.

Exit codes: 0 stopped by a signal, 1 failed while running (start it again),
2 something has to be changed first, 130 stopped by a second signal.

`

// parse reads the command line. flag.ErrHelp means that usage was asked for.
func parse(args []string, stderr io.Writer) (Options, error) {
	var o Options
	var start string
	f := flag.NewFlagSet("ddbcdc", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are reported once, by the caller
	f.StringVar(&o.Table, "table", "", "`name` of the table to read (required)")
	f.StringVar(&o.Pipeline, "pipeline", "", "`name` under which progress is kept (required)")
	f.StringVar(&o.Region, "region", "", "AWS `region` (default: AWS_REGION, or the profile's)")
	f.StringVar(&o.Endpoint, "endpoint", "", "`URL` of a server other than AWS, for both the table and its stream")
	f.StringVar(&o.CheckpointTable, "checkpoint-table", "ackgate-checkpoints", "`table` for progress, created if it does not exist")
	f.IntVar(&o.Segments, "segments", 4, "parallel scan segments of a new backfill; one that began keeps its `number`")
	f.StringVar(&start, "start", "trim_horizon", "where a new pipeline without backfill starts: trim_horizon or latest;\nafter a backfill the stream always starts at the moment the pipeline began")
	f.BoolVar(&o.Backfill, "backfill", true, "read the table's items before its stream")
	f.StringVar(&o.Out, "out", "-", "`file` to append to, or - for standard output")
	f.DurationVar(&o.Linger, "linger", 20*time.Millisecond, "how long a batch waits for others to share its fsync")
	f.DurationVar(&o.CommitInterval, "commit-interval", time.Second, "how long a settled position may wait to be saved")
	f.IntVar(&o.PageSize, "page-size", 0, "items per Scan page (default: as many as fit 1 MB)")
	f.DurationVar(&o.Progress, "progress", 10*time.Second, "between progress lines; a terminal has one moving line instead")
	f.DurationVar(&o.Discovery, "discovery", 30*time.Second, "between two listings of the stream's shards, while none ends")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 20*time.Second, "how long a stop waits for batches in flight")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stderr, usage)
			f.SetOutput(stderr)
			f.PrintDefaults()
			return o, err
		}
		return o, invalid(err.Error(), "see ddbcdc -help")
	}
	if f.NArg() > 0 {
		return o, invalid(fmt.Sprintf("unexpected argument %q", f.Arg(0)), "write flags as -name value; see ddbcdc -help")
	}
	o.Start = checkpoint.Start(strings.ToLower(start))
	return o, o.validate()
}

// tableName is what DynamoDB accepts; an ARN names a table too.
var tableName = regexp.MustCompile(`^(arn:[^\s]+:table/)?[A-Za-z0-9_.-]{3,255}$`)

func (o Options) validate() error {
	if o.Table == "" {
		return invalid("-table is missing", "name the DynamoDB table to read, as in -table orders")
	}
	if !tableName.MatchString(o.Table) {
		return invalid(fmt.Sprintf("-table %q is no table name", o.Table), "give 3 to 255 letters, digits, '_', '-' or '.'")
	}
	if o.Pipeline == "" {
		return invalid("-pipeline is missing", "choose a name for this consumer, as in -pipeline orders-to-search; the same name resumes it later")
	}
	if len(o.Pipeline) > 1024 || strings.ContainsAny(o.Pipeline, "\n\r\x00") {
		return invalid("-pipeline is too long or has line breaks", "choose a name of at most 1024 bytes on one line")
	}
	if !tableName.MatchString(o.CheckpointTable) {
		return invalid(fmt.Sprintf("-checkpoint-table %q is no table name", o.CheckpointTable), "give 3 to 255 letters, digits, '_', '-' or '.'")
	}
	if o.CheckpointTable == o.Table {
		return invalid("-checkpoint-table and -table are the same", "keep progress in a table of its own")
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err == nil && u.User != nil { // it would stand in messages, and AWS requests are signed anyway
			return invalid("-endpoint has a user or a password in it", "leave them out: credentials come from the AWS configuration")
		}
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return invalid(fmt.Sprintf("-endpoint %q is no URL", o.Endpoint), "give one like http://localhost:8000, or leave it out for AWS")
		}
	}
	// Each segment is a row of the checkpoint table.
	if o.Segments < 1 || o.Segments > 1000 {
		return invalid(fmt.Sprintf("-segments %d is out of range", o.Segments), "give 1 to 1000; 4 suits most tables")
	}
	if o.Start != checkpoint.StartTrimHorizon && o.Start != checkpoint.StartLatest {
		return invalid(fmt.Sprintf("-start %q is unknown", o.Start), "give trim_horizon (everything the stream still holds) or latest (from now on)")
	}
	if o.PageSize < 0 || o.PageSize > 1_000_000 {
		return invalid(fmt.Sprintf("-page-size %d is out of range", o.PageSize), "give 1 to 1000000 items, or leave it out")
	}
	if o.Out == "" {
		return invalid("-out is empty", "name a file, or - for standard output")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"linger", o.Linger, 0},
		{"commit-interval", o.CommitInterval, time.Millisecond},
		{"progress", o.Progress, 100 * time.Millisecond},
		{"discovery", o.Discovery, 100 * time.Millisecond},
		{"drain-timeout", o.DrainTimeout, 0},
	} {
		if d.value < d.least {
			return invalid(fmt.Sprintf("-%s %s is too short", d.name, d.value), fmt.Sprintf("give at least %s", d.least))
		}
	}
	return nil
}
