package lambdaids_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

var errPlanned = errors.New("planned failure")

// scenario is one source with records, a plan of failures and a configuration.
type scenario struct {
	kind    lambdaids.Kind
	recs    []esmtest.Record
	groups  []string // what is ordered: shard, group, partition
	bare    []bool   // records without identifier
	fails   []int    // how many deliveries of each record fail
	panics  bool     // by panicking
	cut     int      // after so many records the time of an invocation is over; 0: never
	mapping esmtest.Mapping

	policy      lambdaids.Policy
	after       lambdaids.AfterFailure
	all         lambdaids.AllFailed
	concurrency int
	keyed       bool // on streams: records of one key stay in order
}

func genScenario(t *rapid.T) *scenario {
	s := &scenario{kind: lambdaids.Kind(rapid.IntRange(1, 5).Draw(t, "kind"))}
	n := rapid.IntRange(1, 24).Draw(t, "records")
	groups := rapid.SliceOfN(rapid.IntRange(0, 2), n, n).Draw(t, "groups")
	s.bare = make([]bool, n)
	if rapid.IntRange(0, 2).Draw(t, "someBare") == 0 {
		s.bare = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "bare")
	}
	s.fails = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), n, n).Draw(t, "fails")
	s.panics = rapid.Bool().Draw(t, "panics")
	s.cut = rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5}).Draw(t, "cut")
	s.mapping = esmtest.Mapping{
		BatchSize:        rapid.IntRange(1, 12).Draw(t, "batchSize"),
		Bisect:           rapid.Bool().Draw(t, "bisect"),
		KafkaRewinds:     rapid.Bool().Draw(t, "kafkaRewinds"),
		LoseUndocumented: rapid.Bool().Draw(t, "loseUndocumented"),
		IgnoreAnswers:    false,
	}
	s.policy = lambdaids.Policy(rapid.IntRange(0, 2).Draw(t, "policy")) // not Drop
	s.after = lambdaids.AfterFailure(rapid.IntRange(0, 2).Draw(t, "after"))
	s.all = lambdaids.AllFailed(rapid.IntRange(0, 1).Draw(t, "all"))
	s.concurrency = rapid.IntRange(1, 4).Draw(t, "concurrency")
	s.keyed = rapid.Bool().Draw(t, "keyed")
	s.build(groups)
	return s
}

func (s *scenario) build(groups []int) {
	n := len(s.fails)
	s.groups = make([]string, n)
	var path []string
	switch s.kind {
	case lambdaids.DynamoDBStreams:
		s.recs, path = esmtest.DynamoDBRecords(n), []string{"dynamodb", "SequenceNumber"}
	case lambdaids.KinesisStreams:
		s.recs, path = esmtest.KinesisRecords(n), []string{"kinesis", "sequenceNumber"}
	case lambdaids.SQSStandard:
		s.recs, path = esmtest.SQSMessages(n), []string{"messageId"}
		for i := range s.groups {
			s.groups[i] = fmt.Sprint("alone", i)
		}
	case lambdaids.SQSFIFOQueue:
		for i, g := range groups {
			if g > 0 { // 0: no group
				s.groups[i] = fmt.Sprint("g", g)
			}
		}
		s.recs, path = esmtest.FIFOMessages(n, func(i int) string { return s.groups[i] }), []string{"messageId"}
	case lambdaids.KafkaTopics:
		s.recs = esmtest.KafkaRecords(n, func(i int) int { return groups[i] })
		for i, g := range groups {
			s.groups[i] = fmt.Sprint("p", g)
		}
		s.bare = make([]bool, n) // a Kafka record always has its offset
	}
	for i, b := range s.bare {
		if b {
			s.recs[i] = s.recs[i].Without(path...)
		}
	}
}

// trace is what the handler saw, invocation by invocation.
type trace struct {
	mu          sync.Mutex
	delivered   map[int]int   // by record: how often it was tried
	invocations [][]step      // what happened in each
	succeeded   []int         // by record: how often it succeeded
	begun       int           // records begun in the last invocation
	cancel      func()        // ends its time
	reports     []batchReport // by invocation
}

type step struct {
	rec int
	end bool // its return; else its start
	ok  bool
}

type batchReport struct {
	redelivered []int
	stats       lambdaids.Stats
	err         error
}

// handle is the user's handler; i is the record.
func (s *scenario) handle(tr *trace, i int) error {
	tr.mu.Lock()
	last := len(tr.invocations) - 1
	tr.invocations[last] = append(tr.invocations[last], step{rec: i})
	if tr.begun++; tr.begun == s.cut && last < 4 { // not for ever: it may be too short for anything
		tr.cancel()
	}
	tr.delivered[i]++
	ok := tr.delivered[i] > s.fails[i]
	tr.mu.Unlock()
	defer func() {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.invocations[last] = append(tr.invocations[last], step{i, true, ok})
		if ok {
			tr.succeeded[i]++
		}
	}()
	if !ok && s.panics {
		panic(errPlanned)
	}
	if !ok {
		return errPlanned
	}
	return nil
}

func mustAtoi(s string) int {
	i, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return i
}

func dynamoIndex(r *events.DynamoDBEventRecord) int { return mustAtoi(r.Change.Keys["id"].String()) }
func kinesisIndex(r *events.KinesisEventRecord) int { return mustAtoi(string(r.Kinesis.Data)) }
func sqsIndex(m *events.SQSMessage) int             { return mustAtoi(m.Body) }

func kafkaIndex(r *awsevents.KafkaRecord) int {
	v, err := r.ValueBytes()
	if err != nil {
		panic(err)
	}
	return mustAtoi(string(v))
}

// config is the scenario's Config for records of type R.
func config[R any](s *scenario, tr *trace, index func(*R) int) lambdaids.Config[R] {
	cfg := lambdaids.Config[R]{
		Unreportable: s.policy, AfterFailure: s.after, AllFailed: s.all, Concurrency: s.concurrency,
		OnFailed: func(context.Context, *R, error) {},
		Logger:   discard,
	}
	if s.keyed {
		cfg.Key = func(r *R) string { return fmt.Sprint(index(r) % 3) }
	}
	cfg.OnBatch = func(_ context.Context, r *lambdaids.BatchReport[R]) {
		b := batchReport{err: r.Err}
		for _, rec := range r.Redelivered() {
			b.redelivered = append(b.redelivered, index(rec))
		}
		b.stats.Unreportable = uint64(r.Unreportable)
		tr.reports = append(tr.reports, b)
	}
	return cfg
}

// invoke is the scenario's function as Lambda sees it.
func (s *scenario) invoke(tr *trace) esmtest.Invoke {
	var inner esmtest.Invoke
	switch s.kind {
	case lambdaids.DynamoDBStreams:
		inner = esmtest.JSON(awsevents.DynamoDB(func(_ context.Context, r *events.DynamoDBEventRecord) error {
			return s.handle(tr, dynamoIndex(r))
		}, config(s, tr, dynamoIndex)).Handle)
	case lambdaids.KinesisStreams:
		inner = esmtest.JSON(awsevents.Kinesis(func(_ context.Context, r *events.KinesisEventRecord) error {
			return s.handle(tr, kinesisIndex(r))
		}, config(s, tr, kinesisIndex)).Handle)
	case lambdaids.KafkaTopics:
		inner = esmtest.JSON(awsevents.Kafka(func(_ context.Context, r *awsevents.KafkaRecord) error {
			return s.handle(tr, kafkaIndex(r))
		}, config(s, tr, kafkaIndex)).Handle)
	default:
		inner = esmtest.JSON(awsevents.SQS(func(_ context.Context, m *events.SQSMessage) error {
			return s.handle(tr, sqsIndex(m))
		}, config(s, tr, sqsIndex)).Handle)
	}
	return func(ctx context.Context, event []byte) ([]byte, error) {
		tr.invocations = append(tr.invocations, nil)
		ctx, tr.cancel = context.WithCancel(ctx)
		defer tr.cancel()
		tr.begun = 0
		return inner(ctx, event)
	}
}

func (s *scenario) run(t *rapid.T) (esmtest.Result, *trace) {
	tr := &trace{delivered: map[int]int{}, succeeded: make([]int, len(s.recs))}
	res, err := esmtest.Run(context.Background(), s.mapping, s.recs, s.invoke(tr))
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if len(res.Deliveries) != len(tr.invocations) {
		t.Fatalf("%d deliveries, %d invocations", len(res.Deliveries), len(tr.invocations))
	}
	return res, tr
}

// unsettled are the records of an invocation that did not succeed in it.
func unsettled(d esmtest.Delivery, steps []step) []int {
	var open []int
	for _, i := range d.Records {
		if !slices.Contains(steps, step{i, true, true}) {
			open = append(open, i)
		}
	}
	return open
}
