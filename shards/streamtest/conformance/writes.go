package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

func init() {
	tableCheck("conditions", checkConditions)
	tableCheck("updates", checkUpdates)
	tableCheck("refusals", checkRefusals)
	tableCheck("reserved words", checkReserved)
	tableCheck("return values", checkReturnValues)
	tableCheck("failed condition returns the item", checkFailedItem)
	tableCheck("missing table", checkMissingTable)
}

var (
	someItem = Item{
		"h": str("x"), "txt": str("abc"), "amount": num("9"), "tags": &types.AttributeValueMemberSS{Value: []string{"u", "v"}},
		"els": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("a"), num("1")}}, "doc": &types.AttributeValueMemberM{Value: Item{"k": num("1")}},
	}
	someValues = Item{
		":ten": num("10"), ":two": num("2.0"), ":one": num("1"), ":b": str("b"), ":a": str("a"), ":u": str("u"), ":S": str("S"),
		":w": &types.AttributeValueMemberSS{Value: []string{"w"}}, ":l": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("z")}},
	}
)

// usedValues picks the values that an expression uses: unused ones are refused.
func usedValues(exprs ...string) Item {
	out := Item{}
	for name, v := range someValues {
		for _, e := range exprs {
			for i := strings.Index(e, name); i >= 0; {
				if end := i + len(name); end == len(e) || !isLetter(e[end]) {
					out[name] = v
				}
				next := strings.Index(e[i+1:], name)
				if next < 0 {
					break
				}
				i += 1 + next
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// checkConditions: comparisons are by type and by number, what is not there
// compares false but for <>.
func checkConditions(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: someItem}); err != nil {
		return err
	}
	var all error
	for cond, holds := range map[string]bool{
		"amount < :ten": true, "amount > :ten": false, "amount = :b": false, "amount <> :b": true,
		"gone = :b": false, "gone <> :b": true, "gone < :b": false, "NOT gone = :b": true,
		"attribute_exists(txt)": true, "attribute_not_exists(txt)": false, "attribute_exists(doc.k)": true, "attribute_exists(els[1])": true, "attribute_exists(els[2])": false,
		"attribute_type(txt, :S)": true, "attribute_type(amount, :S)": false,
		"begins_with(txt, :a)": true, "begins_with(txt, :b)": false, "contains(txt, :b)": true, "contains(tags, :u)": true, "contains(tags, :b)": false, "contains(els, :a)": true,
		"size(txt) > :two": true, "size(tags) = :two": true, "size(els) = :two": true,
		"amount BETWEEN :two AND :ten": true, "amount IN (:two, :ten)": false, "txt IN (:two, :b)": false,
		"attribute_exists(txt) OR attribute_exists(txt) AND attribute_exists(gone)":   true,
		"(attribute_exists(txt) OR attribute_exists(txt)) AND attribute_exists(gone)": false,
		"NOT attribute_exists(gone) AND attribute_exists(txt)":                        true,
	} {
		_, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: someItem, ConditionExpression: &cond, ExpressionAttributeValues: usedValues(cond)})
		want := ""
		if !holds {
			want = "ConditionalCheckFailedException"
		}
		all = errors.Join(all, wantCode(cond, want, err))
	}
	return all
}

func checkUpdates(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	for update, want := range map[string]Item{
		"SET txt = :b":                              {"txt": str("b")},
		"SET txt = amount, amount = :ten":           {"txt": num("9"), "amount": num("10")},
		"SET amount = :ten, txt = amount":           {"txt": num("9"), "amount": num("10")},
		"SET amount = amount + :ten":                {"amount": num("19")},
		"SET amount = amount - :ten":                {"amount": num("-1")},
		"SET fresh = if_not_exists(gone, :ten)":     {"fresh": num("10")},
		"SET amount = if_not_exists(amount, :b)":    {"amount": num("9")},
		"SET els = list_append(els, :l)":            {"els": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("a"), num("1"), str("z")}}},
		"SET els[9] = :b":                           {"els": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("a"), num("1"), str("b")}}},
		"SET doc.m = :b":                            {"doc": &types.AttributeValueMemberM{Value: Item{"k": num("1"), "m": str("b")}}},
		"REMOVE txt, gone":                          {"txt": nil},
		"REMOVE els[0]":                             {"els": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("1")}}},
		"ADD amount :ten":                           {"amount": num("19")},
		"ADD fresh :ten":                            {"fresh": num("10")},
		"ADD tags :w":                               {"tags": &types.AttributeValueMemberSS{Value: []string{"u", "v", "w"}}},
		"DELETE tags :w":                            {},
		"SET txt = :b REMOVE amount ADD fresh :one": {"txt": str("b"), "amount": nil, "fresh": num("1")},
	} {
		if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: someItem}); err != nil {
			return err
		}
		out, err := b.Tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: Item{"h": str("x")}, UpdateExpression: &update, ExpressionAttributeValues: usedValues(update), ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", update, err)
		}
		expected := value.CopyItem(someItem)
		for name, v := range want {
			if expected[name] = v; v == nil {
				delete(expected, name)
			}
		}
		got, err := b.Tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: Item{"h": str("x")}, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return err
		}
		if !value.EqualItems(got.Item, expected) || !value.EqualItems(out.Attributes, expected) {
			return fmt.Errorf("%s: item is %s, answered %s, want %s", update, show(got.Item), show(out.Attributes), show(expected))
		}
	}
	return nil
}

// checkRefusals: each of these is a ValidationException and changes nothing.
func checkRefusals(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	update := func(text string, values Item) func() error {
		return func() error {
			_, err := b.Tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: Item{"h": str("x")}, UpdateExpression: &text, ExpressionAttributeValues: values})
			return wantCode(text, "ValidationException", err)
		}
	}
	put := func(what string, item Item) func() error {
		return func() error {
			_, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item})
			return wantCode("put "+what, "ValidationException", err)
		}
	}
	return steps(
		update("SET a1 = :gone", nil),
		update("REMOVE a1", Item{":unused": num("1")}),
		update("SET h = :v", Item{":v": str("y")}),
		update("SET a1 = :v, a1 = :v", Item{":v": str("y")}),
		update("SET a1 = a2", nil),
		update("SET a1.b1 = :v", Item{":v": str("y")}),
		update("SET a1 == :v", Item{":v": str("y")}),
		update("ADD a1 :v", Item{":v": str("y")}),
		put("an empty key", Item{"h": str("")}),
		put("no key", Item{"a1": str("x")}),
		put("a mistyped key", Item{"h": num("1")}),
		put("an empty set", Item{"h": str("x"), "a1": &types.AttributeValueMemberSS{Value: []string{}}}),
		put("a word for a number", Item{"h": str("x"), "a1": num("ten")}),
		put("39 digits", Item{"h": str("x"), "a1": num(strings.Repeat("1", 39))}),
		put("401 KB", Item{"h": str("x"), "a1": str(strings.Repeat("x", 401<<10))}),
		func() error {
			_, err := b.Tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: Item{"h": str("x"), "a1": str("y")}})
			return wantCode("get by more than the key", "ValidationException", err)
		},
		func() error {
			out, err := b.Tables.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
			if err == nil && len(out.Items) > 0 {
				err = fmt.Errorf("a refused write left %s", show(out.Items[0]))
			}
			return err
		},
	)
}

func checkReserved(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	for _, word := range []string{"position", "Owner", "STATUS", "time", "partition", "complete"} {
		text := "SET " + word + " = :one"
		_, err := b.Tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: Item{"h": str("x")}, UpdateExpression: &text, ExpressionAttributeValues: usedValues(text)})
		want := "ValidationException"
		if word == "complete" { // not on AWS's list
			want = ""
		}
		if err := wantCode(text, want, err); err != nil {
			return err
		}
	}
	return nil
}

func checkReturnValues(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str("x"), "keep": num("1"), "amount": num("1")}}); err != nil {
		return err
	}
	text := "SET amount = amount + :one"
	for _, c := range []struct {
		want types.ReturnValue
		item Item
	}{
		{types.ReturnValueNone, nil},
		{types.ReturnValueAllOld, Item{"h": str("x"), "keep": num("1"), "amount": num("2")}},
		{types.ReturnValueAllNew, Item{"h": str("x"), "keep": num("1"), "amount": num("4")}},
		{types.ReturnValueUpdatedOld, Item{"amount": num("4")}},
		{types.ReturnValueUpdatedNew, Item{"amount": num("6")}},
	} {
		out, err := b.Tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: Item{"h": str("x")}, UpdateExpression: &text, ExpressionAttributeValues: usedValues(text), ReturnValues: c.want,
		})
		if err != nil {
			return err
		}
		if !value.EqualItems(out.Attributes, c.item) {
			return fmt.Errorf("ReturnValues %s: %s, want %s", c.want, show(out.Attributes), show(c.item))
		}
	}
	out, err := b.Tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: Item{"h": str("x")}, ReturnValues: types.ReturnValueAllOld})
	if err != nil || !value.EqualItems(out.Attributes, Item{"h": str("x"), "keep": num("1"), "amount": num("6")}) {
		return fmt.Errorf("DeleteItem returned %v, %v", out, err)
	}
	return nil
}

func checkFailedItem(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	item := Item{"h": str("x"), "amount": num("7")}
	if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		return err
	}
	for _, all := range []bool{false, true} {
		in := &dynamodb.UpdateItemInput{
			TableName: &table, Key: Item{"h": str("x")}, UpdateExpression: aws.String("SET amount = :ten"), ConditionExpression: aws.String("amount > :ten"), ExpressionAttributeValues: usedValues(":ten"),
		}
		want := Item(nil)
		if all {
			in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			want = item
		}
		_, err := b.Tables.UpdateItem(ctx, in)
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			return fmt.Errorf("want a ConditionalCheckFailedException, got %w", err)
		}
		if !value.EqualItems(failed.Item, want) {
			return fmt.Errorf("ALL_OLD %v: the exception carries %s, want %s", all, show(failed.Item), show(want))
		}
	}
	return nil
}

func checkMissingTable(ctx context.Context, b Backend) error {
	_, err := b.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("conformance-no-such-table")})
	if err := wantCode("DescribeTable", "ResourceNotFoundException", err); err != nil {
		return err
	}
	_, err = b.Tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("conformance-no-such-table"), Key: Item{"h": str("x")}})
	if err := wantCode("GetItem", "ResourceNotFoundException", err); err != nil {
		return err
	}
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	_, err = b.Tables.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("h"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("h"), AttributeType: types.ScalarAttributeTypeS}},
	})
	return wantCode("CreateTable again", "ResourceInUseException", err)
}
