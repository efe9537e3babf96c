package streamtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func row(pipeline, partition string) streamtest.Item {
	return streamtest.Item{"pipeline": str(pipeline), "partition": str(partition)}
}

func createCheckpoints(t *testing.T, tables tableClient) {
	t.Helper()
	out, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("checkpoints"),
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pipeline"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("partition"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pipeline"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("partition"), AttributeType: types.ScalarAttributeTypeS},
		},
		BillingMode: types.BillingModePayPerRequest,
	})
	require.NoError(t, err)
	require.Equal(t, "checkpoints", *out.TableDescription.TableName)
	require.Nil(t, out.TableDescription.LatestStreamArn)
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprintf("no API error: %v", err)
}

// A checkpoint store lives by conditional writes: claim by ADD, save under a
// fence, create an origin only once.
func TestCheckpointTable(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		ctx := t.Context()
		createCheckpoints(t, tables)
		key := row("p", "stream/1")

		claim := func(owner string) streamtest.Item {
			out, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: aws.String("checkpoints"), Key: key,
				UpdateExpression:          aws.String("SET #revision = :zero, #owner = :owner ADD #fence :one"),
				ConditionExpression:       aws.String("attribute_not_exists(#schema)"),
				ExpressionAttributeNames:  map[string]string{"#revision": "revision", "#owner": "owner", "#fence": "fence", "#schema": "schema"},
				ExpressionAttributeValues: streamtest.Item{":zero": num(0), ":one": num(1), ":owner": str(owner)},
				ReturnValues:              types.ReturnValueAllNew,
			})
			require.NoError(t, err)
			return out.Attributes
		}
		save := func(fence, revision int, owner, position string, complete bool) error {
			_, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: aws.String("checkpoints"), Key: key,
				UpdateExpression:    aws.String("SET #position = :position, #complete = :complete, #revision = :revision REMOVE #event_time"),
				ConditionExpression: aws.String("#fence = :fence AND #owner = :owner AND #revision <= :revision AND (attribute_not_exists(#complete) OR #complete = :false)"),
				ExpressionAttributeNames: map[string]string{
					"#position": "position", "#complete": "complete", "#revision": "revision", "#fence": "fence", "#owner": "owner", "#event_time": "event_time",
				},
				ExpressionAttributeValues: streamtest.Item{
					":position": str(position), ":complete": boolean(complete), ":revision": num(revision), ":fence": num(fence), ":owner": str(owner), ":false": boolean(false),
				},
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			return err
		}

		require.Equal(t, num(1), claim("a")["fence"])
		require.NoError(t, save(1, 1, "a", "100", false))
		require.NoError(t, save(1, 1, "a", "100", false), "the same again, as after a lost answer")
		claimed := claim("b")
		require.Equal(t, num(2), claimed["fence"])
		require.Equal(t, str("100"), claimed["position"])
		require.Equal(t, num(0), claimed["revision"])

		err := save(1, 9, "a", "999", false)
		var failed *types.ConditionalCheckFailedException
		require.ErrorAs(t, err, &failed)
		require.Equal(t, str("100"), failed.Item["position"])
		require.Equal(t, num(2), failed.Item["fence"])

		require.NoError(t, save(2, 1, "b", "200", true))
		require.ErrorAs(t, save(2, 2, "b", "300", false), &failed, "complete stays complete")

		got, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("checkpoints"), Key: key, ConsistentRead: aws.Bool(true)})
		require.NoError(t, err)
		require.Equal(t, streamtest.Item{
			"pipeline": str("p"), "partition": str("stream/1"), "position": str("200"), "complete": boolean(true), "fence": num(2), "revision": num(1), "owner": str("b"),
		}, got.Item)

		begin := func(token string) error {
			_, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: aws.String("checkpoints"), Key: row("p", "origin"),
				UpdateExpression:          aws.String("SET #start = :start, #time = :time, #owner = :token"),
				ConditionExpression:       aws.String("attribute_not_exists(#pipeline) OR #owner = :token"),
				ExpressionAttributeNames:  map[string]string{"#start": "start", "#time": "time", "#owner": "owner", "#pipeline": "pipeline"},
				ExpressionAttributeValues: streamtest.Item{":start": str("latest"), ":time": num(7), ":token": str(token)},
			})
			return err
		}
		require.NoError(t, begin("x"))
		require.NoError(t, begin("x"))
		require.Equal(t, "ConditionalCheckFailedException", code(begin("y")))

		_, err = tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("checkpoints"), Key: key})
		require.NoError(t, err)
		_, err = tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("checkpoints"), Key: key})
		require.NoError(t, err, "deleting what is not there is fine")
		gone, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("checkpoints"), Key: key})
		require.NoError(t, err)
		require.Nil(t, gone.Item)
	})
}

func TestQueryPagesOneHashValueInOrder(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		ctx := t.Context()
		createCheckpoints(t, tables)
		for i := range 30 {
			for _, pipeline := range []string{"p", "pp", "q"} {
				for _, kind := range []string{"stream", "backfill"} {
					_, err := s.Put("checkpoints", row(pipeline, fmt.Sprintf("%s/%02d", kind, i)))
					require.NoError(t, err)
				}
			}
		}
		query := func(prefix string, forward bool, limit int32) (all []string) {
			in := &dynamodb.QueryInput{
				TableName: aws.String("checkpoints"), ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(forward), Limit: aws.Int32(limit),
				KeyConditionExpression:    aws.String("#pipeline = :pipeline"),
				ExpressionAttributeNames:  map[string]string{"#pipeline": "pipeline"},
				ExpressionAttributeValues: streamtest.Item{":pipeline": str("p")},
			}
			if prefix != "" {
				in.KeyConditionExpression = aws.String("#pipeline = :pipeline AND begins_with(#partition, :prefix)")
				in.ExpressionAttributeNames["#partition"] = "partition"
				in.ExpressionAttributeValues[":prefix"] = str(prefix)
			}
			for {
				out, err := tables.Query(ctx, in)
				require.NoError(t, err)
				for _, item := range out.Items {
					require.Equal(t, str("p"), item["pipeline"])
					all = append(all, item["partition"].(*types.AttributeValueMemberS).Value)
				}
				if in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
					return all
				}
			}
		}
		all := query("", true, 7)
		require.Len(t, all, 60)
		require.IsIncreasing(t, all)
		require.Len(t, query("stream/", true, 4), 30)
		require.Len(t, query("stream/1", true, 100), 10)
		require.Empty(t, query("stream/1x", true, 100))
		back := query("", false, 7)
		require.Len(t, back, 60)
		require.IsDecreasing(t, back)
		require.Len(t, query("backfill/", false, 4), 30)
	})
}

func TestTableRequestsRefused(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		ctx := t.Context()
		createCheckpoints(t, tables)
		table, key := aws.String("checkpoints"), row("p", "x")
		for name, call := range map[string]func() error{
			"undefined value": func() error {
				_, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("SET a = :a")})
				return err
			},
			"unused value": func() error {
				_, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("REMOVE a"), ExpressionAttributeValues: streamtest.Item{":a": num(1)}})
				return err
			},
			"key attribute updated": func() error {
				_, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("SET pipeline = :a"), ExpressionAttributeValues: streamtest.Item{":a": str("q")}})
				return err
			},
			"half a key": func() error {
				_, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: streamtest.Item{"pipeline": str("p")}})
				return err
			},
			"more than the key": func() error {
				_, err := tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: streamtest.Item{"pipeline": str("p"), "partition": str("x"), "a": num(1)}})
				return err
			},
			"empty key": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: row("p", "")})
				return err
			},
			"no key": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: streamtest.Item{"pipeline": str("p")}})
				return err
			},
			"bad number": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: streamtest.Item{"pipeline": str("p"), "partition": str("x"), "a": &types.AttributeValueMemberN{Value: "one"}}})
				return err
			},
			"large item": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: streamtest.Item{"pipeline": str("p"), "partition": str("x"), "a": str(string(make([]byte, 401<<10)))}})
				return err
			},
			"legacy condition": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, Expected: map[string]types.ExpectedAttributeValue{"a": {Exists: aws.Bool(false)}}})
				return err
			},
			"an index": func() error {
				_, err := tables.Scan(ctx, &dynamodb.ScanInput{TableName: table, IndexName: aws.String("i")})
				return err
			},
			"segment without total": func() error {
				_, err := tables.Scan(ctx, &dynamodb.ScanInput{TableName: table, Segment: aws.Int32(0)})
				return err
			},
			"segment out of range": func() error {
				_, err := tables.Scan(ctx, &dynamodb.ScanInput{TableName: table, Segment: aws.Int32(4), TotalSegments: aws.Int32(4)})
				return err
			},
			"limit of none": func() error {
				_, err := tables.Scan(ctx, &dynamodb.ScanInput{TableName: table, Limit: aws.Int32(0)})
				return err
			},
			"reserved word": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, ConditionExpression: aws.String("attribute_not_exists(position)")})
				return err
			},
			"return values of a put": func() error {
				_, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, ReturnValues: types.ReturnValueAllNew})
				return err
			},
		} {
			require.Equal(t, "ValidationException", code(call()), name)
		}
		require.Empty(t, s.Items("checkpoints"), "a refused request changes nothing")

		_, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("nowhere"), Key: key})
		var missing *types.ResourceNotFoundException
		require.ErrorAs(t, err, &missing)
		_, err = tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("nowhere")})
		require.ErrorAs(t, err, &missing)
		_, err = tables.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: table, BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		})
		var inUse *types.ResourceInUseException
		require.ErrorAs(t, err, &inUse)
	})
}

func TestUnknownOperationIsRefusedByName(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	_, err := dynamodb.NewFromConfig(s.AWSConfig()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	require.Equal(t, "UnknownOperationException", code(err))
	require.ErrorContains(t, err, "ListTables")
}

// 01.50 and 1.5 are one number: it is stored one way, and writing it the other
// way changes nothing.
func TestNumbersAreStoredInOneSpelling(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		orders(t, s, 1)
		spelled := func(text string) streamtest.Item {
			return streamtest.Item{"id": str("x"), "total": &types.AttributeValueMemberN{Value: text}}
		}
		_, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: spelled("01.50")})
		require.NoError(t, err)
		got, err := tables.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: streamtest.Item{"id": str("x")}})
		require.NoError(t, err)
		require.Equal(t, spelled("1.5"), got.Item)
		again, err := s.Put("orders", spelled("15e-1"))
		require.NoError(t, err)
		require.Zero(t, again)
		_, err = s.Put("orders", spelled("2.0"))
		require.NoError(t, err)
		require.Equal(t, spelled("2"), s.Items("orders")[0])
	})
}
