package checkpoint

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// OriginPartition is reserved: the row that Store.Begin writes. It is no
// partition, and Claim, Save, Load and Delete refuse it.
const OriginPartition = "origin"

// The longest names a Key may have, in bytes: the tightest limits of the
// stores we know (DynamoDB's hash and range key).
const (
	MaxPipeline  = 2048
	MaxPartition = 1024
)

var (
	// ErrKey is returned by every Store method for a name that is empty, too
	// long or not UTF-8.
	ErrKey = errors.New("checkpoint: bad key")
	// ErrReserved is returned by Claim, Save, Load and Delete for
	// OriginPartition.
	ErrReserved = errors.New("checkpoint: reserved: the origin row belongs to Begin")
)

// Key names one partition of one pipeline.
type Key struct{ Pipeline, Partition string }

// String is "pipeline/partition", for errors and logs.
func (k Key) String() string { return k.Pipeline + "/" + k.Partition }

// Validate reports what is wrong with the key, wrapping ErrKey or ErrReserved.
// Stores call it first, so that all of them refuse the same names.
func (k Key) Validate() error {
	if err := ValidatePipeline(k.Pipeline); err != nil {
		return err
	}
	if err := validateName("partition", k.Partition, MaxPartition); err != nil {
		return err
	}
	if k.Partition == OriginPartition {
		return fmt.Errorf("%w: %s", ErrReserved, k)
	}
	return nil
}

// ValidatePipeline is Validate for the methods that take only a pipeline.
func ValidatePipeline(pipeline string) error {
	return validateName("pipeline", pipeline, MaxPipeline)
}

func validateName(what, name string, longest int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the %s is empty", ErrKey, what)
	case len(name) > longest:
		return fmt.Errorf("%w: the %s has %d bytes, %d are allowed", ErrKey, what, len(name), longest)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: the %s %q is not UTF-8", ErrKey, what, name)
	}
	return nil
}
