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

// nothingRead is the position of a shard that ended with nothing read: it lets the
// row say how old its children may be. Read again it is no position at all.
const nothingRead = "0"

// sequenceCodec keeps positions as their own digits.
type sequenceCodec struct{}

var _ checkpoint.Codec[position] = sequenceCodec{}

func (sequenceCodec) Encode(p position) (string, error) {
	if p.n.IsZero() {
		return nothingRead, nil
	}
	return p.n.String(), nil
}

func (sequenceCodec) Decode(s string) (position, error) {
	if !isPosition(s) {
		return position{}, nil
	}
	n, err := shards.ParseSequenceNumber(s)
	return position{n: n}, err
}

// isPosition reports whether a row's position is that of a record.
func isPosition(s string) bool { return s != "" && s != nothingRead }
