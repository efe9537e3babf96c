package streamtest

import (
	"reflect"
	"slices"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/expr"
	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const maxItemSize = 400 << 10

// onlyKnown refuses a request that sets anything but the named members: a
// parameter that is ignored would make a test lie.
func onlyKnown(in any, known ...string) error {
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(known, f.Name) {
			return invalid("streamtest does not support %s in %s", f.Name, v.Type().Name())
		}
	}
	return nil
}

// ready returns a table that is there and ACTIVE.
func (s *Service) readyLocked(name *string, now time.Time) (*table, error) {
	if aws.ToString(name) == "" {
		return nil, invalid("1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null")
	}
	t := s.tables[*name]
	if t == nil || now.Before(t.active) {
		return nil, noSuchTable(*name)
	}
	return t, nil
}

func (s *Service) getItem(in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	if err := onlyKnown(in, "Key", "TableName", "ConsistentRead", "ExpressionAttributeNames", "ProjectionExpression", "ReturnConsumedCapacity"); err != nil {
		return nil, err
	}
	scope, err := newScope(in.ExpressionAttributeNames, nil)
	if err != nil {
		return nil, err
	}
	projection, err := project(scope, in.ProjectionExpression)
	if err == nil {
		err = unused(scope)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	now := s.nowLocked()
	t, err := s.readyLocked(in.TableName, now)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	key, err := t.schema.EncodeExact(in.Key)
	if err != nil {
		s.mu.Unlock()
		return nil, invalid("%v", err)
	}
	e, _ := t.get(key)
	consistent := aws.ToBool(in.ConsistentRead)
	item := e.item
	if !consistent && s.staleLocked(e, now) {
		item = e.prev
	}
	s.mu.Unlock()
	return &dynamodb.GetItemOutput{
		Item:             value.CopyItem(projection.Apply(item)),
		ConsumedCapacity: capacity(in.ReturnConsumedCapacity, *in.TableName, readUnits(e.size, consistent)),
	}, nil
}

// staleLocked decides whether an eventually consistent read misses the last write.
func (s *Service) staleLocked(e entry, now time.Time) bool {
	return s.cfg.StaleReads > 0 && now.Sub(e.written) < time.Second && s.chanceLocked() < s.cfg.StaleReads
}

// mutation is what PutItem, UpdateItem and DeleteItem have in common.
type mutation struct {
	table     *string
	key       Item // exact key, or an item that contains it if whole
	whole     bool
	condition *string
	names     map[string]string
	values    Item
	update    *string
	onFailure types.ReturnValuesOnConditionCheckFailure
	// next makes the new item from the old one, nil to delete.
	next func(old Item, u *expr.Update) (Item, error)
}

// mutate checks the condition and writes, in one step. It returns the item
// before and after, and the update if there is one.
func (s *Service) mutate(m mutation) (old, next Item, u *expr.Update, err error) {
	scope, err := newScope(m.names, m.values)
	if err != nil {
		return nil, nil, nil, err
	}
	var cond *expr.Condition
	if m.update != nil {
		if u, err = scope.Update(*m.update); err != nil {
			return nil, nil, nil, invalid("Invalid UpdateExpression: %v", err)
		}
	}
	if m.condition != nil {
		if cond, err = scope.Condition(*m.condition); err != nil {
			return nil, nil, nil, invalid("Invalid ConditionExpression: %v", err)
		}
	}
	if err := unused(scope); err != nil {
		return nil, nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.readyLocked(m.table, now)
	if err != nil {
		return nil, nil, nil, err
	}
	encode := t.schema.EncodeExact
	if m.whole {
		encode = t.schema.Encode
	}
	key, err := encode(m.key)
	if err != nil {
		return nil, nil, nil, invalid("One or more parameter values were invalid: %v", err)
	}
	if u != nil {
		for _, p := range t.schema.Parts() {
			if slices.Contains(u.Roots(), p.Name) {
				return nil, nil, nil, invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p.Name)
			}
		}
	}
	e, _ := t.get(key)
	if cond != nil && !cond.Holds(e.item) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if m.onFailure == types.ReturnValuesOnConditionCheckFailureAllOld {
			failed.Item = value.CopyItem(e.item)
		}
		return nil, nil, nil, failed
	}
	if next, err = m.next(e.item, u); err != nil {
		return nil, nil, nil, invalid("%v", err)
	}
	if err := value.CheckItem(next); err != nil {
		return nil, nil, nil, invalid("One or more parameter values were invalid: %v", err)
	}
	value.Canonical(next)
	if value.ItemSize(next) > maxItemSize {
		return nil, nil, nil, invalid("Item size has exceeded the maximum allowed size")
	}
	s.write(t, key, next, now, false)
	return e.item, next, u, nil
}

func (s *Service) putItem(in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	err := onlyKnown(in, "Item", "TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnConsumedCapacity", "ReturnValues", "ReturnValuesOnConditionCheckFailure")
	if err == nil {
		err = returns(in.ReturnValues, types.ReturnValueAllOld)
	}
	if err != nil {
		return nil, err
	}
	old, next, _, err := s.mutate(mutation{
		table: in.TableName, key: in.Item, whole: true,
		condition: in.ConditionExpression, names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		onFailure: in.ReturnValuesOnConditionCheckFailure,
		next:      func(Item, *expr.Update) (Item, error) { return in.Item, nil },
	})
	if err != nil {
		return nil, err
	}
	out := &dynamodb.PutItemOutput{ConsumedCapacity: capacity(in.ReturnConsumedCapacity, *in.TableName, writeUnits(old, next))}
	if in.ReturnValues == types.ReturnValueAllOld {
		out.Attributes = value.CopyItem(old)
	}
	return out, nil
}

func (s *Service) deleteItem(in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	err := onlyKnown(in, "Key", "TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnConsumedCapacity", "ReturnValues", "ReturnValuesOnConditionCheckFailure")
	if err == nil {
		err = returns(in.ReturnValues, types.ReturnValueAllOld)
	}
	if err != nil {
		return nil, err
	}
	old, _, _, err := s.mutate(mutation{
		table: in.TableName, key: in.Key,
		condition: in.ConditionExpression, names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		onFailure: in.ReturnValuesOnConditionCheckFailure,
		next:      func(Item, *expr.Update) (Item, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	out := &dynamodb.DeleteItemOutput{ConsumedCapacity: capacity(in.ReturnConsumedCapacity, *in.TableName, writeUnits(old, nil))}
	if in.ReturnValues == types.ReturnValueAllOld {
		out.Attributes = value.CopyItem(old)
	}
	return out, nil
}

func (s *Service) updateItem(in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	err := onlyKnown(in, "Key", "TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"UpdateExpression", "ReturnConsumedCapacity", "ReturnValues", "ReturnValuesOnConditionCheckFailure")
	if err == nil {
		err = returns(in.ReturnValues, types.ReturnValueAllOld, types.ReturnValueAllNew, types.ReturnValueUpdatedOld, types.ReturnValueUpdatedNew)
	}
	if err != nil {
		return nil, err
	}
	old, next, u, err := s.mutate(mutation{
		table: in.TableName, key: in.Key, update: in.UpdateExpression,
		condition: in.ConditionExpression, names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		onFailure: in.ReturnValuesOnConditionCheckFailure,
		next: func(old Item, u *expr.Update) (Item, error) {
			if old == nil {
				old = in.Key
			}
			if u == nil {
				return old, nil
			}
			return u.Apply(old)
		},
	})
	if err != nil {
		return nil, err
	}
	out := &dynamodb.UpdateItemOutput{ConsumedCapacity: capacity(in.ReturnConsumedCapacity, *in.TableName, writeUnits(old, next))}
	switch in.ReturnValues {
	case types.ReturnValueAllOld:
		out.Attributes = value.CopyItem(old)
	case types.ReturnValueAllNew:
		out.Attributes = value.CopyItem(next)
	case types.ReturnValueUpdatedOld:
		out.Attributes = value.CopyItem(touched(u, old))
	case types.ReturnValueUpdatedNew:
		out.Attributes = value.CopyItem(touched(u, next))
	}
	return out, nil
}

// touched picks what an update touched, by whole top-level attributes.
func touched(u *expr.Update, item Item) Item {
	if u == nil {
		return nil
	}
	out := Item{}
	for _, name := range u.Roots() {
		if v, ok := item[name]; ok {
			out[name] = v
		}
	}
	return out
}

func returns(got types.ReturnValue, allowed ...types.ReturnValue) error {
	if got != "" && got != types.ReturnValueNone && !slices.Contains(allowed, got) {
		return invalid("ReturnValues set to invalid value: %s", got)
	}
	return nil
}
