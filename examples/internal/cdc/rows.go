package cdc

import (
	"context"
	"fmt"
	"strings"

	"github.com/ackgate/ackgate/checkpoint"
)

// checkPipeline refuses a stream-only run of a pipeline whose backfill did not
// finish: what the scan had not reached would never be delivered.
func checkPipeline(ctx context.Context, store checkpoint.Store, o Options) error {
	if o.Backfill {
		return nil
	}
	unfinished := map[string]bool{}
	for row, err := range store.List(ctx, o.Pipeline, "backfill/") {
		if err != nil {
			return err
		}
		generation, rest, _ := strings.Cut(strings.TrimPrefix(row.Partition, "backfill/"), "/")
		switch {
		case rest == "done" && row.Complete:
			unfinished[generation] = false
		case rest == "plan":
			if _, known := unfinished[generation]; !known {
				unfinished[generation] = true
			}
		}
	}
	for generation, is := range unfinished {
		if is {
			return invalid(fmt.Sprintf("pipeline %s has an unfinished backfill (generation %s)", o.Pipeline, generation),
				"let it finish with -backfill=true, or choose another -pipeline")
		}
	}
	return nil
}

// sameSource refuses a pipeline that began with another table, or with a stream
// that was since replaced by a new one: what changed in between is in neither,
// and before the first record is acked no shard's row can tell.
func sameSource(o Options, origin, stream string) error {
	switch a, b := tableOf(origin), tableOf(stream); {
	case a != b:
		return invalid(fmt.Sprintf("pipeline %s reads table %s, not %s", o.Pipeline, a, b),
			"choose another -pipeline for this table")
	case origin != stream:
		return invalid(fmt.Sprintf("pipeline %s began with the stream %s, and the table now has %s", o.Pipeline, origin, stream),
			"choose another -pipeline, which reads the table again: what changed in between is in no stream")
	}
	return nil
}

// tableOf is the table's name in a stream's ARN.
func tableOf(stream string) string {
	_, table, _ := strings.Cut(stream, ":table/")
	table, _, _ = strings.Cut(table, "/stream/")
	return table
}
