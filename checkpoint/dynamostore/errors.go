package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	// ErrNoTable is returned by every method of Store when the table does not
	// exist. Create it with EnsureTable, or correct the name or the region.
	ErrNoTable = errors.New("dynamostore: no such table")
	// ErrBadTable is returned by EnsureTable when the table has other keys than
	// this package's, or is in a state that it does not come back from.
	ErrBadTable = errors.New("dynamostore: table cannot be used")
)

// wrap says what was attempted on what. Cancellation by the caller stays raw:
// it is a stop, not a failure of the store.
func (s *Store) wrap(ctx context.Context, op, what string, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if noTable(err) {
		return fmt.Errorf("%w: %s, to %s %s; create it with EnsureTable, or correct the name or the region: %w", ErrNoTable, s.table, op, what, err)
	}
	return fmt.Errorf("dynamostore: %s %s in table %s: %w", op, what, s.table, err)
}

func noTable(err error) bool {
	var notFound *types.ResourceNotFoundException
	return errors.As(err, &notFound)
}

// refused returns the answer of a write whose condition did not hold.
func refused(err error) (*types.ConditionalCheckFailedException, bool) {
	var failed *types.ConditionalCheckFailedException
	return failed, errors.As(err, &failed)
}
