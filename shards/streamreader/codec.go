package streamreader

import (
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// position is a sequence number; the creation time of its record rides along,
// so that what is durable can be told in time as well.
type position struct {
	n       shards.SequenceNumber
	created time.Time
}

// sequenceCodec keeps positions as their own digits.
type sequenceCodec struct{}

var _ checkpoint.Codec[position] = sequenceCodec{}

func (sequenceCodec) Encode(p position) (string, error) { return p.n.String(), nil }

func (sequenceCodec) Decode(s string) (position, error) {
	n, err := shards.ParseSequenceNumber(s)
	return position{n: n}, err
}
