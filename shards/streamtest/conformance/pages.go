package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func init() {
	tableCheck("query order and paging", checkQuery)
	tableCheck("query by number", checkQueryNumbers)
	tableCheck("query refusals", checkQueryRefusals)
	tableCheck("scan segments", checkScanSegments)
	tableCheck("scan filter and limit", checkScanFilter)
	tableCheck("a full last page has a next key", checkLastPage)
}

// show prints an item with its attributes in order.
func show(item Item) string {
	names := make([]string, 0, len(item))
	for n := range item {
		names = append(names, n)
	}
	sort.Strings(names)
	out := "{"
	for _, n := range names {
		out += " " + n + "=" + showValue(item[n])
	}
	return out + " }"
}

func showValue(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberM:
		return show(v.Value)
	case *types.AttributeValueMemberL:
		out := "["
		for _, e := range v.Value {
			out += " " + showValue(e)
		}
		return out + " ]"
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf("ss%q", v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprintf("ns%q", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	}
	return fmt.Sprintf("%T", v)
}

// queryAll pages through a query and returns the range keys.
func queryAll(ctx context.Context, tables Tables, in *dynamodb.QueryInput) (keys []string, err error) {
	for {
		out, err := tables.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		if in.Limit != nil && len(out.Items) > int(*in.Limit) {
			return nil, fmt.Errorf("%d items with Limit %d", len(out.Items), *in.Limit)
		}
		for _, item := range out.Items {
			switch r := item["r"].(type) {
			case *types.AttributeValueMemberS:
				keys = append(keys, r.Value)
			case *types.AttributeValueMemberN:
				keys = append(keys, r.Value)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return keys, nil
		}
	}
}

func checkQuery(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, types.ScalarAttributeTypeS, "")
	if err != nil {
		return err
	}
	all := []string{"a", "a/1", "a/10", "a/2", "ab", "b", "b/1"}
	for _, r := range all {
		for _, h := range []string{"x", "xx"} {
			if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str(h), "r": str(r)}}); err != nil {
				return err
			}
		}
	}
	for cond, want := range map[string][]string{
		"h = :h":                         all,
		"h = :h AND begins_with(r, :p)":  {"a/1", "a/10", "a/2"},
		"h = :h AND r > :p":              {"a/1", "a/10", "a/2", "ab", "b", "b/1"},
		"h = :h AND r <= :p":             {"a"},
		"h = :h AND r BETWEEN :p AND :q": {"a/1", "a/10", "a/2", "ab"},
	} {
		values := Item{":h": str("x")}
		if len(cond) > len("h = :h") {
			values[":p"] = str("a/")
		}
		if cond == "h = :h AND r BETWEEN :p AND :q" {
			values[":q"] = str("az")
		}
		for _, forward := range []bool{true, false} {
			for _, limit := range []int32{2, 100} {
				got, err := queryAll(ctx, b.Tables, &dynamodb.QueryInput{
					TableName: &table, KeyConditionExpression: &cond, ExpressionAttributeValues: values, ConsistentRead: aws.Bool(true), ScanIndexForward: &forward, Limit: &limit,
				})
				if err != nil {
					return fmt.Errorf("%s: %w", cond, err)
				}
				expected := slices.Clone(want)
				if !forward {
					slices.Reverse(expected)
				}
				if !slices.Equal(got, expected) {
					return fmt.Errorf("%s, forward %v, by %d: %q, want %q", cond, forward, limit, got, expected)
				}
			}
		}
	}
	return nil
}

func checkQueryNumbers(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, types.ScalarAttributeTypeN, "")
	if err != nil {
		return err
	}
	want := []string{"-1000000", "-12", "-1.5", "-1", "-0.001", "0", "0.5", "1", "1.25", "9", "10", "100", "1000000000000000000000"}
	for i := range want {
		r := want[(i*5)%len(want)]
		if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str("x"), "r": num(r)}}); err != nil {
			return err
		}
	}
	got, err := queryAll(ctx, b.Tables, &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: aws.String("h = :h"), ExpressionAttributeValues: Item{":h": str("x")}, Limit: aws.Int32(3)})
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("order is %q, want %q", got, want)
	}
	return err
}

func checkQueryRefusals(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, types.ScalarAttributeTypeS, "")
	if err != nil {
		return err
	}
	var all error
	for _, cond := range []string{"r = :v", "h > :v", "h = :v OR r = :v", "h = :v AND r <> :v", "h = :v AND other = :v", "h = :v AND contains(r, :v)"} {
		_, err := b.Tables.Query(ctx, &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: &cond, ExpressionAttributeValues: Item{":v": str("x")}})
		all = errors.Join(all, wantCode(cond, "ValidationException", err))
	}
	return all
}

func checkScanSegments(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	const n = 60
	for i := range n {
		if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str(fmt.Sprint("item-", i))}}); err != nil {
			return err
		}
	}
	for _, segments := range []int32{1, 4} {
		seen := map[string]int{}
		for segment := range segments {
			in := &dynamodb.ScanInput{TableName: &table, Segment: &segment, TotalSegments: &segments, Limit: aws.Int32(7), ConsistentRead: aws.Bool(true)}
			for {
				out, err := b.Tables.Scan(ctx, in)
				if err != nil {
					return err
				}
				for _, item := range out.Items {
					seen[showValue(item["h"])]++
				}
				if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
					break
				}
			}
		}
		for id, times := range seen {
			if times != 1 {
				return fmt.Errorf("%d segments: %s was seen %d times", segments, id, times)
			}
		}
		if len(seen) != n {
			return fmt.Errorf("%d segments: %d items of %d", segments, len(seen), n)
		}
	}
	_, err = b.Tables.Scan(ctx, &dynamodb.ScanInput{TableName: &table, Segment: aws.Int32(4), TotalSegments: aws.Int32(4)})
	return wantCode("segment 4 of 4", "ValidationException", err)
}

// checkScanFilter: the limit counts what was scanned, before the filter.
func checkScanFilter(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	for i := range 10 {
		if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str(fmt.Sprint(i)), "even": num(strconv.Itoa(1 - i%2))}}); err != nil {
			return err
		}
	}
	found, scanned := 0, 0
	in := &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(3), FilterExpression: aws.String("even = :one"), ExpressionAttributeValues: Item{":one": num("1")}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for {
		out, err := b.Tables.Scan(ctx, in)
		if err != nil {
			return err
		}
		if out.ScannedCount > 3 || int(out.Count) != len(out.Items) {
			return fmt.Errorf("scanned %d, counted %d, returned %d with Limit 3", out.ScannedCount, out.Count, len(out.Items))
		}
		if out.ConsumedCapacity == nil || out.ConsumedCapacity.CapacityUnits == nil || *out.ConsumedCapacity.CapacityUnits <= 0 {
			return fmt.Errorf("no capacity consumed")
		}
		found += len(out.Items)
		scanned += int(out.ScannedCount)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			break
		}
	}
	if found != 5 || scanned != 10 {
		return fmt.Errorf("found %d of %d scanned, want 5 of 10", found, scanned)
	}
	return nil
}

// checkLastPage: a page that ends with the last item does not know it.
func checkLastPage(ctx context.Context, b Backend) error {
	table, err := newTable(ctx, b.Tables, "", "")
	if err != nil {
		return err
	}
	for i := range 4 {
		if _, err := b.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: Item{"h": str(fmt.Sprint(i))}}); err != nil {
			return err
		}
	}
	out, err := b.Tables.Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(4)})
	if err != nil || len(out.Items) != 4 || len(out.LastEvaluatedKey) == 0 {
		return fmt.Errorf("a scan of all 4 items with Limit 4 answered %+v, %v", out, err)
	}
	out, err = b.Tables.Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(4), ExclusiveStartKey: out.LastEvaluatedKey})
	if err != nil || len(out.Items) != 0 || len(out.LastEvaluatedKey) != 0 {
		return fmt.Errorf("behind them %+v, %v", out, err)
	}
	return nil
}
