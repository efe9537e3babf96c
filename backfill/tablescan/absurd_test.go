package tablescan

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// scanned is a source without a stream.
type scanned struct{ *Scanner }

func (s scanned) ReadBackfill(ctx context.Context) (Page, backfill.AckFunc, error) {
	return s.Read(ctx)
}

func (scanned) ReadStream(context.Context) (Page, backfill.AckFunc, error) {
	return Page{}, nil, backfill.ErrEnd
}

// Rows come from outside: what no version wrote is refused in a few words,
// before anything of its size is made.
func TestAbsurdRowsAreRefused(t *testing.T) {
	const plan = `{"version":1,"segments":1,"start_time":"2000-01-01T00:00:00Z"}`
	for _, tc := range []struct {
		name, plan, position string
		want                 error
	}{
		{"more segments than memory", `{"version":1,"segments":1099511627776}`, "", backfill.ErrPlan},
		{"fewer than none", `{"version":1,"segments":-1}`, "", backfill.ErrPlan},
		{"a number that is none", `{"version":1,"segments":1e300}`, "", backfill.ErrPlan},
		{"a plan of brackets", strings.Repeat("[", 200_000), "", backfill.ErrPlan},
		{"a key of brackets", plan, strings.Repeat(`{"k":`, 50_000), checkpoint.ErrBadRow},
		{"a key of nothing", plan, `{}`, checkpoint.ErrBadRow},
		{"a key that is a list", plan, `{"k":{"L":"[]"}}`, checkpoint.ErrBadRow},
		{"a long key, once more", plan, `{"k":{"S":"` + strings.Repeat("x", 300_000) + `"}} `, checkpoint.ErrBadRow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, store := context.Background(), checkpoint.NewMemory()
				save := func(partition, position string) {
					cp, err := store.Claim(ctx, checkpoint.Key{Pipeline: "p", Partition: partition}, "test")
					require.NoError(t, err)
					cp.Position, cp.Revision, cp.Complete = position, 1, strings.HasSuffix(partition, "plan")
					require.NoError(t, store.Save(ctx, cp))
				}
				save("backfill/1/plan", tc.plan)
				if tc.position != "" {
					save("backfill/1/segment/0-of-1", tc.position)
				}
				scanner, err := New(Config{Client: fill(t, "S", 3).Dynamo(), Table: "t"})
				require.NoError(t, err)
				c := checkpoint.NewCommitter(store, "p")
				r, err := backfill.New[Page](scanned{scanner}, backfill.Config{Committer: c})
				require.NoError(t, err)
				_, _, err = r.Read(ctx)
				require.ErrorIs(t, err, tc.want)
				require.Less(t, len(err.Error()), 1000)
				_ = r.Close(ctx)
				_ = c.Close(ctx)
			})
		})
	}
}
