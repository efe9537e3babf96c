package streamtest

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// iterator is a place in a shard. It is all in its text: the service keeps
// nothing for it.
type iterator struct {
	arn    string
	shard  string
	after  sequence // records behind this number
	issued time.Time
	epoch  uint64
}

// String looks like the real ones: the stream, a version, and something opaque.
func (it iterator) String() string {
	secret := make([]byte, 0, 128)
	for _, n := range [4]uint64{it.after.hi, it.after.lo, uint64(it.issued.UnixNano()), it.epoch} {
		secret = append(strconv.AppendUint(secret, n, 36), ' ')
	}
	secret = append(secret, it.shard...)
	return it.arn + "|1|" + base64.StdEncoding.EncodeToString(secret)
}

func parseIterator(text string) (iterator, error) {
	bad := func() (iterator, error) { return iterator{}, invalid("Invalid ShardIterator") }
	arn, opaque, ok := strings.Cut(text, "|1|")
	if !ok {
		return bad()
	}
	secret, err := base64.StdEncoding.DecodeString(opaque)
	if err != nil {
		return bad()
	}
	it := iterator{arn: arn, shard: string(secret)}
	var numbers [4]uint64
	for i := range numbers {
		var n string
		if n, it.shard, ok = strings.Cut(it.shard, " "); !ok {
			return bad()
		}
		if numbers[i], err = strconv.ParseUint(n, 36, 64); err != nil {
			return bad()
		}
	}
	it.after = sequence{numbers[0], numbers[1]}
	it.issued = time.Unix(0, int64(numbers[2]))
	it.epoch = numbers[3]
	return it, nil
}
