package tablescan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/keymap"
)

// flushAfter is how long Read waits at the in-flight bound before it asks for a
// flush downstream.
const flushAfter = time.Second

// segment is one part of the table. Only the worker that has it writes to it.
type segment struct {
	i        int
	part     *checkpoint.Partition[keymap.Key]
	from     keymap.Key // nil: from the start
	complete bool       // in an earlier attempt
	pages    int
}

// handed is a page with what settles it.
type handed struct {
	page Page
	ack  backfill.AckFunc
}

// attempt is everything of one attempt, so that a late ack or a slow worker of
// an earlier one touches nothing of a later one's (B4).
type attempt struct {
	cfg      Config
	run      backfill.Run
	segments []*segment

	ctx      context.Context
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	govern   *governor
	slots    chan struct{} // one for each page in flight
	pages    chan handed
	done     chan struct{} // every segment was read to its end
	finished sync.Once
	failed   chan struct{}
	count    counts

	mu      sync.Mutex
	failure error
	checked time.Time
	missing int // segments not yet read to the end
}

func newAttempt(cfg Config, run backfill.Run) *attempt {
	a := &attempt{
		cfg: cfg, run: run,
		govern: newGovernor(cfg.ReadUnits),
		slots:  make(chan struct{}, cfg.MaxInFlight),
		pages:  make(chan handed),
		done:   make(chan struct{}),
		failed: make(chan struct{}),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.count.began = time.Now()
	return a
}

// identify compares the table with the plan's.
func (a *attempt) identify(t *types.TableDescription) error {
	planned, now := a.run.Plan.Details[tableID], aws.ToString(t.TableId)
	if planned != "" && now != "" && planned != now {
		return fmt.Errorf("%w: table %q has id %s, the plan %s", ErrTableReplaced, a.cfg.Table, now, planned)
	}
	a.count.estimate.Store(aws.ToInt64(t.ItemCount))
	a.mu.Lock()
	a.checked = time.Now()
	a.mu.Unlock()
	return nil
}

// open claims all segments before the first page is read: an attempt that is
// superseded then never claims one back.
func (a *attempt) open(ctx context.Context) error {
	n := a.run.Plan.Segments
	if n < 1 || n > maxSegments { // it was read from a row that anybody may have written
		return fmt.Errorf("%w: table %q is cut into %d segments: use PlanBackfill to make it", backfill.ErrPlan, a.cfg.Table, n)
	}
	a.segments = make([]*segment, n)
	errs := make([]error, n)
	next := make(chan int)
	var openers sync.WaitGroup
	for range min(n, 16) {
		openers.Go(func() {
			for i := range next {
				part, at, err := checkpoint.Open(ctx, a.run.Committer, a.run.Partition(i), keymap.Codec{})
				if err != nil {
					errs[i] = err
					continue
				}
				a.segments[i] = &segment{i: i, part: part, complete: at.Complete}
				if at.OK {
					a.segments[i].from = at.Position
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	openers.Wait()
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	for _, seg := range a.segments {
		if seg.complete {
			a.count.segments.Add(1)
		} else {
			a.missing++
		}
		a.count.resumed = a.count.resumed || seg.complete || seg.from != nil
	}
	a.count.before = int64(n - a.missing)
	return nil
}

// start runs the workers; end and stop wait for them.
func (a *attempt) start() {
	todo := make(chan *segment, len(a.segments))
	for _, seg := range a.segments {
		if !seg.complete {
			todo <- seg
		}
	}
	close(todo)
	if a.missing == 0 {
		a.finished.Do(func() { close(a.done) })
		return
	}
	for range min(a.cfg.Parallel, a.missing) {
		a.workers.Go(func() {
			for seg := range todo {
				if err := a.scan(seg); err != nil {
					if a.ctx.Err() == nil {
						a.fail(err)
					}
					return
				}
			}
		})
	}
}

// fail ends the attempt: the other workers stop too.
func (a *attempt) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure == nil {
		a.failure = err
		close(a.failed)
		a.cancel()
	}
}

// stop ends the workers; pages in the caller's hands can still be settled.
func (a *attempt) stop() {
	a.cancel()
	a.workers.Wait()
}

// end also gives the segments up.
func (a *attempt) end() {
	a.stop()
	for _, seg := range a.segments {
		if seg != nil {
			seg.part.Abandon()
		}
	}
}

func (a *attempt) read(ctx context.Context, describe func(context.Context) (*dynamodb.DescribeTableOutput, error)) (Page, backfill.AckFunc, error) {
	flush := time.NewTimer(flushAfter)
	defer flush.Stop()
	settledBefore := a.count.settled.Load()
	for {
		select {
		case h := <-a.pages:
			return h.page, h.ack, nil
		case <-a.done:
			if len(a.segments) > 0 {
				// Had it been replaced meanwhile, the end of the new
				// table would have been taken for the end of the old.
				out, err := describe(ctx)
				if err == nil {
					err = a.identify(out.Table)
				}
				if err != nil {
					return Page{}, nil, err
				}
			}
			return Page{}, nil, backfill.ErrBackfillComplete
		case <-a.failed:
			a.mu.Lock()
			defer a.mu.Unlock()
			return Page{}, nil, a.failure
		case <-flush.C:
			settled := a.count.settled.Load()
			if len(a.slots) == cap(a.slots) && settled == settledBefore {
				return Page{}, nil, backfill.ErrFlush
			}
			settledBefore = settled
			flush.Reset(flushAfter)
		case <-a.ctx.Done():
			return Page{}, nil, a.over()
		case <-ctx.Done():
			return Page{}, nil, ctx.Err()
		}
	}
}

// over is why the context of the attempt ended.
func (a *attempt) over() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure != nil {
		return a.failure
	}
	return ErrClosed
}
