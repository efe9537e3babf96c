package streamtest

import (
	"encoding/base64"
	"fmt"
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
	secret := fmt.Sprintf("%s %d %d %d %d", it.shard, it.after.hi, it.after.lo, it.issued.UnixNano(), it.epoch)
	return it.arn + "|1|" + base64.StdEncoding.EncodeToString([]byte(secret))
}

func parseIterator(text string) (iterator, error) {
	bad := invalid("Invalid ShardIterator")
	parts := strings.Split(text, "|")
	if len(parts) != 3 {
		return iterator{}, bad
	}
	secret, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return iterator{}, bad
	}
	it := iterator{arn: parts[0]}
	var ns int64
	if _, err := fmt.Sscanf(string(secret), "%s %d %d %d %d", &it.shard, &it.after.hi, &it.after.lo, &ns, &it.epoch); err != nil {
		return iterator{}, bad
	}
	it.issued = time.Unix(0, ns)
	return it, nil
}
