package dynamostore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
)

// The attributes of a row.
const (
	attrPipeline  = "pipeline"
	attrPartition = "partition"
	attrPosition  = "position"
	attrComplete  = "complete"
	attrFence     = "fence"
	attrRevision  = "revision"
	attrEventTime = "event_time"
	attrUpdatedAt = "updated_at"
	attrOwner     = "owner"
	attrExpiresAt = "expires_at"
	attrSchema    = "schema" // written by no version yet: its presence means a later one

	// Of the origin's row only.
	attrStart  = "start"
	attrTime   = "time"
	attrSource = "source"
)

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }
func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

// instant is a time as a number: milliseconds of Unix time, which holds any year.
func instant(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixMilli(), 10)}
}

func itemKey(key checkpoint.Key) item {
	return item{attrPipeline: str(key.Pipeline), attrPartition: str(key.Partition)}
}

// row decodes an item. The first thing that is not as written stands in err.
type row struct {
	item item
	err  error
}

func (r *row) bad(attr, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %s is %T, want %s", attr, r.item[attr], want)
	}
}

func (r *row) str(attr string) string {
	switch v := r.item[attr].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.bad(attr, "a string")
	}
	return ""
}

func (r *row) boolean(attr string) bool {
	switch v := r.item[attr].(type) {
	case nil:
	case *types.AttributeValueMemberBOOL:
		return v.Value
	default:
		r.bad(attr, "a boolean")
	}
	return false
}

// number returns the attribute's digits, "" if there is none.
func (r *row) number(attr string) string {
	switch v := r.item[attr].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		return v.Value
	default:
		r.bad(attr, "a number")
	}
	return ""
}

func (r *row) uint(attr string) uint64 {
	digits := r.number(attr)
	if digits == "" {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("attribute %s is %q, want a whole number", attr, digits)
	}
	return n
}

func (r *row) instant(attr string) time.Time {
	digits := r.number(attr)
	if digits == "" {
		return time.Time{}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("attribute %s is %q, want milliseconds of Unix time", attr, digits)
	}
	return time.UnixMilli(n).UTC()
}

// ofLaterVersion refuses what a later version of this package wrote.
func (r *row) ofLaterVersion() {
	if _, ok := r.item[attrSchema]; ok && r.err == nil {
		r.err = fmt.Errorf("it has an attribute %s, so a later version wrote it; upgrade this program", attrSchema)
	}
}

func decodeCheckpoint(it item) (checkpoint.Checkpoint, error) {
	r := row{item: it}
	r.ofLaterVersion()
	cp := checkpoint.Checkpoint{
		Key:       checkpoint.Key{Pipeline: r.str(attrPipeline), Partition: r.str(attrPartition)},
		Position:  r.str(attrPosition),
		Complete:  r.boolean(attrComplete),
		Fence:     r.uint(attrFence),
		Revision:  r.uint(attrRevision),
		EventTime: r.instant(attrEventTime),
		UpdatedAt: r.instant(attrUpdatedAt),
		Owner:     r.str(attrOwner),
	}
	if _, ok := it[attrFence]; !ok && r.err == nil {
		r.err = fmt.Errorf("it has no %s, which Claim always writes", attrFence)
	}
	if r.err != nil {
		return checkpoint.Checkpoint{}, fmt.Errorf("%w: %s: %w", checkpoint.ErrBadRow, cp.Key, r.err)
	}
	return cp, nil
}

func decodeOrigin(pipeline string, it item) (checkpoint.Origin, error) {
	r := row{item: it}
	r.ofLaterVersion()
	o := checkpoint.Origin{
		Start:  checkpoint.Start(r.str(attrStart)),
		Time:   r.instant(attrTime),
		Source: r.str(attrSource),
	}
	if r.err == nil && o.Start != checkpoint.StartTrimHorizon && o.Start != checkpoint.StartLatest {
		r.err = fmt.Errorf("attribute %s is %q, want %q or %q", attrStart, o.Start, checkpoint.StartTrimHorizon, checkpoint.StartLatest)
	}
	if r.err != nil {
		return checkpoint.Origin{}, fmt.Errorf("%w: %s/%s: %w", checkpoint.ErrBadRow, pipeline, checkpoint.OriginPartition, r.err)
	}
	return o, nil
}
