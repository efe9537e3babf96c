package streamtest

import (
	"github.com/ackgate/ackgate/shards/streamtest/internal/expr"
	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func newScope(names map[string]string, values Item) (*expr.Scope, error) {
	scope, err := expr.NewScope(names, values)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return scope, nil
}

func unused(scope *expr.Scope) error {
	if err := scope.Unused(); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func project(scope *expr.Scope, text *string) (*expr.Projection, error) {
	if text == nil {
		return nil, nil
	}
	p, err := scope.Projection(*text)
	if err != nil {
		return nil, invalid("Invalid ProjectionExpression: %v", err)
	}
	return p, nil
}

func filter(scope *expr.Scope, text *string) (*expr.Condition, error) {
	if text == nil {
		return nil, nil
	}
	c, err := scope.Condition(*text)
	if err != nil {
		return nil, invalid("Invalid FilterExpression: %v", err)
	}
	return c, nil
}

// readUnits: one unit reads 4 KB consistently or 8 KB eventually.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}

// writeUnits: one unit writes 1 KB, of the larger of the two items.
func writeUnits(old, next Item) float64 {
	return float64(max(1, (max(value.ItemSize(old), value.ItemSize(next))+1023)/1024))
}

func capacity(want types.ReturnConsumedCapacity, table string, units float64) *types.ConsumedCapacity {
	switch want {
	case types.ReturnConsumedCapacityTotal:
		return &types.ConsumedCapacity{TableName: &table, CapacityUnits: &units}
	case types.ReturnConsumedCapacityIndexes:
		return &types.ConsumedCapacity{TableName: &table, CapacityUnits: &units, Table: &types.Capacity{CapacityUnits: aws.Float64(units)}}
	}
	return nil
}
