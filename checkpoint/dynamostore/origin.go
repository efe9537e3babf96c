package dynamostore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/internal/whole"
)

// Begin creates the pipeline's origin if there is none, and returns the one that
// stands; the bool says that this very call created it. It reads first, so that
// a restart, which finds the origin, writes nothing.
//
// The row is marked with a token of this call: when the answer to the write is
// lost and the SDK repeats it, the repeat finds its own token and is not taken
// for somebody else's origin.
func (s *Store) Begin(ctx context.Context, pipeline string, o checkpoint.Origin) (checkpoint.Origin, bool, error) {
	if err := checkpoint.ValidatePipeline(pipeline); err != nil {
		return checkpoint.Origin{}, false, err
	}
	token := rand.Text()
	in, err := beginInput(s.table, pipeline, token, o)
	if err != nil {
		return checkpoint.Origin{}, false, err
	}
	if standing, ok, err := s.origin(ctx, pipeline); ok || err != nil {
		return standing, false, err
	}
	_, err = s.client.UpdateItem(ctx, in, whole.Call)
	if _, ok := refused(err); ok {
		standing, ok, err := s.origin(ctx, pipeline)
		if err == nil && !ok {
			err = fmt.Errorf("dynamostore: begin %s: the origin was there and is gone: somebody deletes the rows of this pipeline", pipeline)
		}
		return standing, false, err
	}
	if err != nil {
		return checkpoint.Origin{}, false, s.wrap(ctx, "begin", pipeline, err)
	}
	if !o.Time.IsZero() {
		o.Time = time.UnixMilli(o.Time.UnixMilli()).UTC() // as the next reader will see it
	}
	return o, true, nil
}

func (s *Store) origin(ctx context.Context, pipeline string) (o checkpoint.Origin, ok bool, err error) {
	it, err := s.get(ctx, checkpoint.Key{Pipeline: pipeline, Partition: checkpoint.OriginPartition})
	if err != nil {
		return checkpoint.Origin{}, false, s.wrap(ctx, "read the origin of", pipeline, err)
	}
	if len(it) == 0 {
		return checkpoint.Origin{}, false, nil
	}
	o, err = decodeOrigin(pipeline, it)
	return o, err == nil, err
}
