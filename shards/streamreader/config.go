package streamreader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/time/rate"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// StreamsClient is what a Reader calls. *dynamodbstreams.Client is one.
type StreamsClient interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// GapPolicy says what a Reader does once a gap was reported.
type GapPolicy uint8

// The two policies.
const (
	StopAtGap  GapPolicy = iota // Read returns the gap, which is a shards.ErrGap
	ContinueOn                  // go on with what is retained; OnGap is all that tells
)

// Failover says that the pipeline's checkpoints may be of the same global
// table's stream in another region. Set it from the pipeline's first run on, in
// every region: it keeps a row that says in time how far all shards are settled,
// and only with that row can another region leave anything out.
type Failover struct {
	// Margin is how far the clocks and the replication of the regions may be
	// apart. Default 15 minutes.
	Margin time.Duration
}

// Config sets up a Reader. Client, StreamARN, Committer and Origin are required;
// for every other field zero means its default.
type Config struct {
	Client    StreamsClient
	StreamARN string
	Committer *checkpoint.Committer
	// Origin is the pipeline's, as checkpoint.Begin returned it; behind a backfill
	// the plan's, with its Anchor as the Source. Not the Source of today: before the
	// first row it alone tells that the stream was replaced.
	Origin checkpoint.Origin
	// Fresh is what Begin returned beside it. Nil: no shard starts at LATEST.
	// Leave it out after a backfill, and, without ByTime, where what is
	// written between Begin and the first discovery is owed.
	Fresh *checkpoint.Freshness

	// ByTime asks for AT_TIMESTAMP of the origin where a start would be at LATEST,
	// or at TRIM_HORIZON and leaving out what is older than the origin. On AWS
	// that is exact and cheap: a fresh pipeline is owed everything from its origin
	// on, and nothing older is read. Default false: not every stand-in for the
	// service knows AT_TIMESTAMP.
	ByTime bool

	Order shards.Order // default Strict

	// OnGap, if set, is told of every gap before the policy is applied. It
	// runs in the goroutine that found the gap.
	OnGap func(shards.Gap)
	Gap   GapPolicy // default StopAtGap

	// Failover allows a resume in another region. Nil: checkpoints of another
	// stream mean that the stream was replaced, which is a gap. Otherwise only a
	// stream that is younger than what is owed is one.
	Failover *Failover

	// MaxRecords and MaxBytes bound what was read and is not settled, over all
	// shards. No call is made while either is reached, so they are exceeded by
	// no more than the Parallel pages then under way. Defaults 100,000 and 256 MiB.
	MaxRecords int64
	MaxBytes   int64
	// ShardShare is the share of both that one shard may hold, so that one stuck
	// shard does not stop the rest. Default 0.25.
	ShardShare float64

	Parallel  int   // GetRecords calls under way at once. Default 64
	PageLimit int32 // records a GetRecords call asks for. Default 1000, the most allowed

	// Poll is the pause between two calls to a shard that has records, and
	// IdlePoll what it grows to on a shard that has none. Defaults 200 ms (5 calls/s,
	// half of what the service allows a shard, which is for two readers) and 2 s.
	Poll     time.Duration
	IdlePoll time.Duration

	// Discovery is the pause between two listings of the stream while nothing
	// rotates. Default 30 s. Listings follow each other faster, down to 1 s, while
	// a shard has ended and its children are not known.
	Discovery time.Duration
	// DescribeRate is the limit of DescribeStream calls per second; the service
	// allows an account 10. Default 5.
	DescribeRate float64
	// CallRate, if set, is the limit of all calls per second. Default none.
	CallRate float64

	CallTimeout time.Duration // of every single call. Default 10 s
	// GiveUp is how long one shard, or the discovery, may fail without a
	// success before it counts as failing for ever. Default 30 minutes.
	GiveUp time.Duration
	// RenewAfter is the age at which an iterator, which lives 15 minutes, is
	// replaced before it is used. Default 10 minutes.
	RenewAfter time.Duration
	// Retention is how long the stream keeps records. Default 24 hours.
	Retention time.Duration

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discard
}

func (c *Config) setDefaults() {
	def(&c.MaxRecords, 100_000)
	def(&c.MaxBytes, 256<<20)
	def(&c.ShardShare, 0.25)
	def(&c.Parallel, 64)
	def(&c.PageLimit, 1000)
	def(&c.Poll, 200*time.Millisecond)
	def(&c.IdlePoll, 2*time.Second)
	def(&c.Discovery, 30*time.Second)
	def(&c.DescribeRate, 5)
	def(&c.CallRate, float64(rate.Inf))
	def(&c.CallTimeout, 10*time.Second)
	def(&c.GiveUp, 30*time.Minute)
	def(&c.RenewAfter, 10*time.Minute)
	def(&c.Retention, 24*time.Hour)
	if c.Failover != nil {
		f := *c.Failover
		def(&f.Margin, 15*time.Minute)
		c.Failover = &f
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Client == nil:
		return bad("Client is nil: give a *dynamodbstreams.Client")
	case label(c.StreamARN) == "":
		return bad("StreamARN %q names no stream: give the table's LatestStreamArn", c.StreamARN)
	case c.Committer == nil:
		return bad("Committer is nil: give checkpoint.NewCommitter")
	case c.Origin.Start != checkpoint.StartLatest && c.Origin.Start != checkpoint.StartTrimHorizon:
		return bad("Origin starts at %q: give what checkpoint.Begin returned", c.Origin.Start)
	case c.Origin.Start == checkpoint.StartLatest && c.Origin.Time.IsZero():
		return bad("Origin starts at latest but has no Time: give what checkpoint.Begin returned")
	case c.Order > shards.Relaxed:
		return bad("Order %d is unknown", c.Order)
	case c.Gap > ContinueOn:
		return bad("Gap policy %d is unknown", c.Gap)
	case c.MaxRecords < 0 || c.MaxBytes < 0 || c.ShardShare < 0 || c.ShardShare > 1:
		return bad("a limit is negative, or ShardShare is above 1")
	case c.Parallel < 0 || c.PageLimit < 0 || c.PageLimit > 1000:
		return bad("Parallel is negative, or PageLimit is not within 1 to 1000")
	case c.Poll < 0 || c.IdlePoll < 0 || c.Discovery < 0 || c.CallTimeout < 0 || c.GiveUp < 0 || c.Retention < 0:
		return bad("a duration is negative")
	case c.DescribeRate < 0 || c.CallRate < 0:
		return bad("a rate is negative")
	case c.RenewAfter < 0 || c.RenewAfter >= 15*time.Minute:
		return bad("RenewAfter is not within the 15 minutes that an iterator lives")
	}
	return nil
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// label is what tells a table's streams apart: the last part of the ARN, the
// time at which the stream was enabled.
func label(arn string) string {
	_, l, _ := strings.Cut(arn, "/stream/")
	return l
}

var (
	// ErrConfig is returned by New.
	ErrConfig = errors.New("streamreader: bad config")
	// ErrStopped is returned by Read after Stop, Drain or Close.
	ErrStopped = errors.New("streamreader: stopped: make a new Reader to go on")
	// ErrStreamEnded is returned by Read when the stream was disabled and
	// everything in it is delivered and durable.
	ErrStreamEnded = errors.New("streamreader: the stream is disabled and read to its end")
	// ErrStreamGone is returned by Read when the stream does not exist.
	ErrStreamGone = errors.New("streamreader: the stream does not exist: was it disabled more than a day ago, or is it another region's?")
	// ErrGivenUp is returned by Read when something failed for Config.GiveUp.
	ErrGivenUp = errors.New("streamreader: failing for too long")
	// ErrTerminal is returned by Read for an error that repeating does not mend.
	ErrTerminal = errors.New("streamreader: cannot go on")
	// ErrStale is returned by an acknowledgement that came too late: the batch
	// belongs to an attempt that ended, and will be delivered again.
	ErrStale = errors.New("streamreader: acknowledged too late: this attempt no longer owns the shard")
)
