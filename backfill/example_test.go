package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// orders is a source with three rows and, later, one change. Its one segment is
// a checkpoint partition of row numbers.
type orders struct {
	rows    []string
	changes []string
	part    *checkpoint.Partition[int]
	next    int
}

// PlanBackfill is called once; the anchor is where the stream must start.
func (o *orders) PlanBackfill(context.Context) (backfill.Plan, error) {
	return backfill.Plan{Segments: 1, Anchor: "change 1", Source: "orders"}, nil
}

// StartBackfill is called by every attempt: it resumes behind what is durable.
func (o *orders) StartBackfill(ctx context.Context, run backfill.Run) error {
	if run.Phase != backfill.Backfilling {
		return nil
	}
	part, at, err := checkpoint.Open(ctx, run.Committer, run.Partition(0), checkpoint.Integer[int]{})
	if err != nil {
		return err
	}
	o.part = part
	if at.OK {
		o.next = at.Position + 1
	}
	if at.Complete {
		o.next = len(o.rows)
	}
	return nil
}

func (o *orders) ReadBackfill(ctx context.Context) (string, backfill.AckFunc, error) {
	if o.next >= len(o.rows) {
		o.part.Seal() // completes once everything before is settled
		return "", nil, backfill.ErrBackfillComplete
	}
	row := o.rows[o.next]
	ticket, err := o.part.Track(ctx, o.next, 1)
	if err != nil {
		return "", nil, err
	}
	o.next++
	return row, func(ctx context.Context, err error) error {
		if err != nil {
			ticket.Nack(err) // pins: a later ack still counts
			return nil
		}
		return o.part.Ack(ctx, ticket)
	}, nil
}

func (o *orders) BackfillComplete(_ context.Context, s backfill.Summary) error {
	fmt.Printf("complete: %d delivered, %d discarded; the stream starts at %s\n", s.Delivered, s.Discarded, s.Plan.Anchor)
	return nil
}

// ReadStream would use a checkpoint partition too; here one change ends it.
func (o *orders) ReadStream(context.Context) (string, backfill.AckFunc, error) {
	if len(o.changes) == 0 {
		return "", nil, backfill.ErrEnd
	}
	change := o.changes[0]
	o.changes = o.changes[1:]
	return change, nil, nil
}

// One loop reads both halves. The downstream here batches two by two, and is
// told when to flush what is left over.
func Example() {
	ctx := context.Background()
	committer := checkpoint.NewCommitter(checkpoint.NewMemory(), "orders-to-search")
	source := &orders{rows: []string{"order 1", "order 2", "order 3"}, changes: []string{"order 2 paid"}}
	runner, err := backfill.New(source, backfill.Config{Committer: committer})
	if err != nil {
		panic(err)
	}

	var waiting []backfill.AckFunc
	flush := func() {
		fmt.Println("flush", len(waiting))
		for _, ack := range waiting {
			if err := ack(ctx, nil); err != nil {
				panic(err)
			}
		}
		waiting = nil
	}
	for {
		row, ack, err := runner.Read(ctx)
		if errors.Is(err, backfill.ErrFlush) {
			flush()
			continue
		}
		if errors.Is(err, backfill.ErrEnd) {
			break
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(row)
		if waiting = append(waiting, ack); len(waiting) == 2 {
			flush()
		}
	}
	flush()
	if err := errors.Join(runner.Close(ctx), committer.Close(ctx)); err != nil {
		panic(err)
	}
	// Output:
	// order 1
	// order 2
	// flush 2
	// order 3
	// flush 1
	// complete: 3 delivered, 0 discarded; the stream starts at change 1
	// order 2 paid
	// flush 1
}

// Redeliver is the outermost layer: a batch that was refused is handed out
// again, in its order, and after three attempts goes to the dead letters.
func ExampleRedeliver() {
	ctx := context.Background()
	n := 0
	read := func(ctx context.Context) (string, backfill.AckFunc, error) {
		if n == 2 {
			return "", nil, backfill.ErrEnd
		}
		n++
		name := "batch " + strconv.Itoa(n)
		return name, func(_ context.Context, err error) error {
			fmt.Println(name, "settled:", err)
			return nil
		}, nil
	}
	redelivering, err := backfill.Redeliver(read, backfill.RedeliverConfig[string]{
		MaxAttempts: 3,
		Backoff:     backfill.Backoff{Min: 1, Max: 1}, // a nanosecond, for the example
		DeadLetter: func(_ context.Context, b string, err error, attempts int) error {
			fmt.Printf("dead letter: %s after %d attempts: %v\n", b, attempts, err)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	for {
		b, ack, err := redelivering.Read(ctx)
		if errors.Is(err, backfill.ErrEnd) {
			break
		}
		if err != nil {
			panic(err)
		}
		var refused error
		if b == "batch 1" {
			refused = errors.New("no such customer")
		}
		if err := ack(ctx, refused); err != nil {
			panic(err)
		}
	}
	if err := redelivering.Close(ctx); err != nil {
		panic(err)
	}
	// Output:
	// dead letter: batch 1 after 3 attempts: no such customer
	// batch 1 settled: backfill: discarded: no such customer
	// batch 2 settled: <nil>
}
