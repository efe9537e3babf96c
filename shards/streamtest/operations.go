package streamtest

import (
	"context"
	"io"
	"net/http"
	"reflect"

	ddbschemas "github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	streamschemas "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/schemas"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// operation is one operation as the wire knows it.
type operation struct {
	name    string
	streams bool
	output  *smithy.OperationSchema
	run     func(s *Service, body []byte) (smithy.Serializable, error)
}

// operations by X-Amz-Target.
var operations = map[string]operation{}

func serve[In, Out any, P interface {
	*Out
	smithy.Serializable
}](target, name string, streams bool, output *smithy.Schema, do func(*Service, *In) (P, error)) {
	operations[target+"."+name] = operation{
		name: name, streams: streams, output: smithy.NewOperationSchema(output, output, output),
		run: func(s *Service, body []byte) (smithy.Serializable, error) {
			in := new(In)
			if err := decodeInto(body, reflect.ValueOf(in).Elem()); err != nil {
				return nil, &smithy.GenericAPIError{Code: "SerializationException", Message: err.Error(), Fault: smithy.FaultClient}
			}
			return do(s, in)
		},
	}
}

func init() {
	const tables, shards = "DynamoDB_20120810", "DynamoDBStreams_20120810"
	serve(tables, "CreateTable", false, ddbschemas.CreateTableOutput, (*Service).createTable)
	serve(tables, "DescribeTable", false, ddbschemas.DescribeTableOutput, (*Service).describeTable)
	serve(tables, "GetItem", false, ddbschemas.GetItemOutput, (*Service).getItem)
	serve(tables, "PutItem", false, ddbschemas.PutItemOutput, (*Service).putItem)
	serve(tables, "UpdateItem", false, ddbschemas.UpdateItemOutput, (*Service).updateItem)
	serve(tables, "DeleteItem", false, ddbschemas.DeleteItemOutput, (*Service).deleteItem)
	serve(tables, "Query", false, ddbschemas.QueryOutput, (*Service).query)
	serve(tables, "Scan", false, ddbschemas.ScanOutput, (*Service).scan)
	serve(shards, "ListStreams", true, streamschemas.ListStreamsOutput, (*Service).listStreams)
	serve(shards, "DescribeStream", true, streamschemas.DescribeStreamOutput, (*Service).describeStream)
	serve(shards, "GetShardIterator", true, streamschemas.GetShardIteratorOutput, (*Service).getShardIterator)
	serve(shards, "GetRecords", true, streamschemas.GetRecordsOutput, (*Service).getRecords)
}

// knownOperation tells operations from misspellings.
func knownOperation(name string) bool {
	for _, op := range operations {
		if op.name == name {
			return true
		}
	}
	return false
}

var protocol = awsjson.New10(ddbschemas.DynamoDB_20120810)

// encode writes an SDK struct as JSON: for the SDK's protocol our answer is
// just another request.
func encode(ctx context.Context, schema *smithy.OperationSchema, out smithy.Serializable) ([]byte, error) {
	req := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if err := protocol.SerializeRequest(ctx, schema, out, req); err != nil {
		return nil, err
	}
	return io.ReadAll(req.GetStream())
}

// perform runs a request of the wire and returns the answer's body, or an API
// error, or errCut, or the context's error. Beside errEmptied and errTorn it
// returns the body that was to be sent.
func (s *Service) perform(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	target := header.Get("X-Amz-Target")
	op, ok := operations[target]
	if !ok {
		return nil, &smithy.GenericAPIError{Code: "UnknownOperationException", Message: "streamtest does not support the operation " + target, Fault: smithy.FaultClient}
	}
	var out smithy.Serializable
	err := s.hook.around(ctx, op.name, op.streams, func() (err error) {
		out, err = op.run(s, body)
		return err
	})
	if err != nil && !maimed(err) {
		return nil, err
	}
	text, failed := encode(ctx, op.output, out)
	if failed != nil {
		return nil, failed
	}
	return text, err
}
