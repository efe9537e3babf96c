package cdc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamreader"
)

// outputError is a failed write: the disk is full, or a pipe has no reader.
type outputError struct {
	out string
	err error
}

func (e *outputError) Error() string {
	return fmt.Sprintf("output %s failed (%v): make it writable and start again; what was not written comes again", e.out, e.err)
}

func (e *outputError) Unwrap() error { return e.err }

// final reports whether reading again cannot mend err.
func final(err error) bool {
	for _, end := range []error{
		errUnwritable,
		checkpoint.ErrBadRow, checkpoint.ErrFenced, backfill.ErrPlan, backfill.ErrSuperseded, backfill.ErrDisplaced,
		backfill.ErrAnchorLost, backfill.ErrNacked,
		backfill.ErrIncomplete, backfill.ErrStopped, backfill.ErrEnd,
		tablescan.ErrTableGone, tablescan.ErrTableReplaced,
		shards.ErrGap, streamreader.ErrStopped, streamreader.ErrStreamEnded, streamreader.ErrStreamGone, streamreader.ErrGivenUp, streamreader.ErrTerminal,
	} {
		if errors.Is(err, end) {
			return true
		}
	}
	return refusedByAWS(err) != nil
}

// explain says in one sentence, with a remedy, what the packages report.
func (p *pipeline) explain(err error) error {
	switch {
	case err == nil || isInput(err) || errors.Is(err, context.Canceled):
		return err
	case refusedByAWS(err) != nil:
		return refusedByAWS(err)
	case errors.Is(err, checkpoint.ErrBadRow):
		return p.badRow(err, checkpoint.ErrBadRow)
	case errors.Is(err, backfill.ErrPlan):
		return p.badRow(err, backfill.ErrPlan)
	case errors.Is(err, dynamostore.ErrBadTable):
		return invalidErr(err, "name another -checkpoint-table, which is created if it does not exist", "table %s cannot keep progress (%v)", p.o.CheckpointTable, err)
	case errors.Is(err, dynamostore.ErrNoTable):
		return invalidErr(err, "start again, and it is created anew: the pipeline then begins from the start", "checkpoint table %s is gone", p.o.CheckpointTable)
	case errors.Is(err, backfill.ErrDisplaced):
		return fmt.Errorf("an older process of pipeline %s took part of it on its way out: start this one again (%w)", p.o.Pipeline, err)
	case errors.Is(err, checkpoint.ErrFenced), errors.Is(err, backfill.ErrSuperseded):
		return fmt.Errorf("another process now runs pipeline %s, this one stops: run each pipeline once (%w)", p.o.Pipeline, err)
	case errors.Is(err, backfill.ErrAnchorLost):
		return fmt.Errorf("the backfill took longer than the stream keeps records, changes are missing: choose a new -pipeline and more -segments (%w)", err)
	case errors.Is(err, tablescan.ErrTableGone), errors.Is(err, tablescan.ErrTableReplaced):
		return fmt.Errorf("table %s was deleted or replaced while it was read: choose a new -pipeline for the new one (%w)", p.o.Table, err)
	case errors.Is(err, shards.ErrGap):
		return fmt.Errorf("the stream dropped records before this pipeline read them: choose a new -pipeline to read the table again (%w)", err)
	case errors.Is(err, streamreader.ErrStreamGone), errors.Is(err, streamreader.ErrStreamEnded):
		return fmt.Errorf("the stream of table %s was disabled: enable it and choose a new -pipeline, since changes in between are in no stream (%w)", p.o.Table, err)
	case torn(err):
		return p.source.tornAt(err)
	}
	return err
}

// badRow keeps of err what follows the sentinel: the row, and what is wrong with it.
func (p *pipeline) badRow(err, sentinel error) error {
	_, what, _ := strings.Cut(err.Error(), sentinel.Error()+": ")
	return invalidErr(err, "nothing was changed; use the version that wrote it, or another -pipeline to start over",
		"a checkpoint row of pipeline %s in table %s cannot be read (%s)", p.o.Pipeline, p.o.CheckpointTable, what)
}
