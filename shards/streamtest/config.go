package streamtest

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a table item, or the key of one.
type Item = map[string]types.AttributeValue

// Config holds the knobs of a Service. The zero Config is AWS at its best
// behaved: no faults, no throttling, a consistent DescribeStream, and shards
// that rotate only when the test says so.
type Config struct {
	// Region and Account appear in ARNs and records.
	// Default: us-east-1 and 000000000000.
	Region  string
	Account string

	// Now is the service's clock. Default: time.Now, which under
	// testing/synctest is the bubble's virtual time. Advance adds to it.
	Now func() time.Time

	// Seed decides everything that is left to chance: sequence numbers,
	// inconsistency, faults, empty pages. Same seed and same order of calls,
	// same answers. Default: 0, a seed like any other.
	Seed uint64

	// RotateEvery is the age at which an open shard is closed and succeeded by
	// a child. AWS: about four hours (RotationInterval). Default: 0, never by itself.
	RotateEvery time.Duration
	// RotateSpread spreads rotations: a shard lives RotateEvery less up to this
	// much. Default: 0, all shards opened together rotate together.
	RotateSpread time.Duration

	// Retention is how long a record, and after its closing a shard, is kept.
	// Default: 24 hours, as AWS documents.
	Retention time.Duration
	// IteratorLife is how long a shard iterator may be used.
	// Default: 15 minutes, as AWS documents.
	IteratorLife time.Duration

	// Inconsistency makes DescribeStream lag behind. Default: none.
	Inconsistency Inconsistency
	// EmptyPages is the share (0 to 1) of GetRecords answers that carry no
	// record although there are some, with an iterator that goes on. Default: 0.
	EmptyPages float64
	// StaleReads is the share (0 to 1) of eventually consistent GetItem and
	// Query answers that show an item as it was before its last write, if that
	// was less than a second ago. Default: 0.
	StaleReads float64

	// Faults are the shares of calls that fail, by operation ("GetRecords");
	// "*" stands for the operations not named. Default: none.
	Faults map[string]FaultRates
	// Limits are the documented call rates. They are always counted, and
	// enforced only when this says so.
	Limits Limits

	// Latency is how long each call takes, in the time of the caller
	// (virtual under synctest). Default: 0.
	Latency time.Duration
	// TTLDelay is how long after its expiry an item is deleted. Default: 0,
	// while AWS documents up to a few days.
	TTLDelay time.Duration
	// CreateDelay is how long a table made over the API stays CREATING.
	// Default: 0, ACTIVE at once.
	CreateDelay time.Duration
}

// RotationInterval is the age at which DynamoDB Streams rotates a shard,
// about: a value for Config.RotateEvery.
const RotationInterval = 4 * time.Hour

// Inconsistency is the eventual consistency of DescribeStream. For Window
// after a shard was opened, and again after it was closed, each listing leaves
// it out, or still shows it open, with probability Chance. A child is so seen
// before its parent, and a parent goes missing for a while.
type Inconsistency struct {
	Window time.Duration // default 0: consistent
	Chance float64       // 0 to 1
	// EmptyPages is the share of later pages that hold no shard although more follow.
	EmptyPages float64
}

// Limits are call rates; zero takes the default, a negative rate has no limit.
type Limits struct {
	// Enforce answers calls over a rate with an error, as AWS does.
	// Default: false, they are only counted (Calls.OverLimit).
	Enforce bool
	// DescribeStream calls a second, of all streams together. Default: 10.
	DescribeStream int
	// GetRecords calls a second of one shard. Default: 10: AWS asks for no more
	// than two readers a shard, and five calls a second of each.
	GetRecords int
}

// Table describes a table made by Service.CreateTable.
type Table struct {
	Name string
	// Hash and Range name the key attributes; Range may be empty.
	Hash, Range string
	// HashType and RangeType default to S.
	HashType, RangeType types.ScalarAttributeType
	// View enables a stream. Default: none.
	View types.StreamViewType
	// Shards is the number of partitions and so of open shards. Default: 1.
	Shards int
	// TTL names the attribute holding an item's expiry in epoch seconds.
	// Default: none.
	TTL string
}

func (c Config) withDefaults() Config {
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Account == "" {
		c.Account = "000000000000"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Retention == 0 {
		c.Retention = 24 * time.Hour
	}
	if c.IteratorLife == 0 {
		c.IteratorLife = 15 * time.Minute
	}
	if c.Limits.DescribeStream == 0 {
		c.Limits.DescribeStream = 10
	}
	if c.Limits.GetRecords == 0 {
		c.Limits.GetRecords = 10
	}
	return c
}

func (c Config) validate() error {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"RotateEvery", c.RotateEvery},
		{"RotateSpread", c.RotateSpread},
		{"Retention", c.Retention},
		{"IteratorLife", c.IteratorLife},
		{"Inconsistency.Window", c.Inconsistency.Window},
		{"Latency", c.Latency},
		{"TTLDelay", c.TTLDelay},
		{"CreateDelay", c.CreateDelay},
	} {
		if d.d < 0 {
			return fmt.Errorf("streamtest: Config.%s is negative: %v", d.name, d.d)
		}
	}
	if c.RotateEvery > 0 && c.RotateSpread >= c.RotateEvery {
		return fmt.Errorf("streamtest: Config.RotateSpread %v must be below RotateEvery %v", c.RotateSpread, c.RotateEvery)
	}
	for name, share := range map[string]float64{
		"EmptyPages":               c.EmptyPages,
		"StaleReads":               c.StaleReads,
		"Inconsistency.Chance":     c.Inconsistency.Chance,
		"Inconsistency.EmptyPages": c.Inconsistency.EmptyPages,
	} {
		if share < 0 || share > 1 {
			return fmt.Errorf("streamtest: Config.%s is %v, want a share from 0 to 1", name, share)
		}
	}
	return validateFaults(c.Faults)
}
