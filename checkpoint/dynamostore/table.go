package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/internal/whole"
)

// TableClient is the part of *dynamodb.Client that EnsureTable calls.
type TableClient interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
}

// The pauses between two looks at a table that is not ready yet.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// EnsureTable creates the table if it does not exist, billed on demand, and
// waits until it can be used; ctx bounds the wait. Any number of processes may
// call it at once. A table that exists is checked for its keys and never
// altered: other keys are ErrBadTable.
func EnsureTable(ctx context.Context, client TableClient, table string) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ready, err := lookAt(ctx, client, table)
		if noTable(err) {
			// Also seen for a moment after another process created it; then
			// CreateTable answers that it is in use, and the next look finds it.
			err = create(ctx, client, table)
		}
		if err != nil {
			if ctxErr := ctx.Err(); ctxErr != nil {
				return ctxErr
			}
			return err
		}
		if ready {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func lookAt(ctx context.Context, client TableClient, table string) (ready bool, err error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table}, whole.Call)
	if err == nil && out.Table == nil {
		err = whole.ErrTorn
	}
	if err != nil {
		return false, fmt.Errorf("dynamostore: describe table %s: %w", table, err)
	}
	switch status := out.Table.TableStatus; status {
	case types.TableStatusCreating:
		return false, nil
	case types.TableStatusActive, types.TableStatusUpdating:
		return true, checkSchema(table, out.Table)
	case types.TableStatusDeleting:
		// Waiting for its end to create it anew would bring back, empty, what
		// somebody is taking away.
		return false, fmt.Errorf("%w: %s is being deleted; wait for its end, or use another name", ErrBadTable, table)
	default:
		return false, fmt.Errorf("%w: %s is %s; restore access to it, or use another name", ErrBadTable, table, status)
	}
}

func create(ctx context.Context, client TableClient, table string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrPipeline), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrPartition), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrPipeline), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrPartition), AttributeType: types.ScalarAttributeTypeS},
		},
		BillingMode: types.BillingModePayPerRequest,
	}, whole.Call)
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		return nil // another process was faster
	}
	if err != nil {
		return fmt.Errorf("dynamostore: create table %s: %w", table, err)
	}
	return nil
}

// checkSchema holds the table's keys to the package's. Other attributes are free.
func checkSchema(table string, t *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, def := range t.AttributeDefinitions {
		kinds[aws.ToString(def.AttributeName)] = def.AttributeType
	}
	found := ""
	for _, e := range t.KeySchema {
		name := aws.ToString(e.AttributeName)
		found += fmt.Sprintf(" %s %s (%s)", e.KeyType, name, kinds[name])
	}
	if want := " HASH pipeline (S) RANGE partition (S)"; found != want {
		return fmt.Errorf("%w: %s has the keys%s, want%s; it belongs to another program: use another name", ErrBadTable, table, found, want)
	}
	return nil
}
