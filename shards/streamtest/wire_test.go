package streamtest_test

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// onWire serves a table with one item, and gives a client that is not the Go SDK.
func onWire(t *testing.T) (s *streamtest.Service, send func(method, target, body string) (*http.Response, []byte)) {
	s = streamtest.New(streamtest.Config{Now: fixed})
	orders(t, s, 1)
	put(t, s, 1, 7)
	srv, err := s.Serve()
	require.NoError(t, err)
	t.Cleanup(func() { srv.Close() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return s, func(method, target, body string) (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL(), strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("X-Amz-Target", target)
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err, "it ends where it says")
		return resp, raw
	}
}

// What is on the wire, as a client sees it that is not the Go SDK.
func TestWireFormat(t *testing.T) {
	s, send := onWire(t)
	call := func(target, body string) (int, map[string]any) {
		resp, raw := send(http.MethodPost, target, body)
		require.Equal(t, "application/x-amz-json-1.0", resp.Header.Get("Content-Type"))
		require.Equal(t, strconv.FormatUint(uint64(crc32.ChecksumIEEE(raw)), 10), resp.Header.Get("X-Amz-Crc32"))
		require.Equal(t, fixed().Format(http.TimeFormat), resp.Header.Get("Date"))
		require.NotEmpty(t, resp.Header.Get("X-Amzn-Requestid"))
		var out map[string]any
		require.NoError(t, json.Unmarshal(raw, &out))
		return resp.StatusCode, out
	}

	status, out := call("DynamoDB_20120810.GetItem", `{"TableName":"orders","Key":{"id":{"S":"order-00001"}},"SomethingNew":1}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"Item": map[string]any{"id": map[string]any{"S": "order-00001"}, "total": map[string]any{"N": "7"}}}, out)

	status, out = call("DynamoDB_20120810.PutItem", `{"TableName":"orders","Item":{"id":{"S":"order-00001"}},"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", out["__type"])
	require.Equal(t, map[string]any{"N": "7"}, out["Item"].(map[string]any)["total"])

	for body, typ := range map[string]string{
		`{`:                       "SerializationException",
		`{"TableName":7}`:         "SerializationException",
		`{"TableName":"nowhere"}`: "ResourceNotFoundException",
		`{"TableName":"orders","FilterExpression":"bad"}`:                                    "ValidationException",
		`{"TableName":"orders","ExclusiveStartKey":{"id":{"S":"x","N":"1"}}}`:                "SerializationException",
		`{"TableName":"orders","ExclusiveStartKey":{"id":{"Q":"x"}}}`:                        "SerializationException",
		`{"TableName":"orders","ScanFilter":{"id":{"ComparisonOperator":"NULL"}}}`:           "ValidationException",
		`{"TableName":"orders","Segment":0,"TotalSegments":1,"Limit":1,"Select":"NONSENSE"}`: "ValidationException",
	} {
		status, out := call("DynamoDB_20120810.Scan", body)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Equal(t, typ, out["__type"].(string)[strings.Index(out["__type"].(string), "#")+1:], body)
		require.NotEmpty(t, out["message"], body)
	}

	for body, ok := range map[string]bool{
		`{"TableName":"made","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"N"}],"BillingMode":"PAY_PER_REQUEST"}`:     true,
		`{"TableName":"other","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"BOOL"}],"BillingMode":"PAY_PER_REQUEST"}`: false,
		`{"TableName":"other","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`:                                    false,
		`{"TableName":"other","KeySchema":[{"AttributeName":"a","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`:   false,
		`{"TableName":"other","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"b","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`:    false,
		`{"TableName":"x","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`:        false,
		`{"TableName":"other"}`: false,
	} {
		status, out := call("DynamoDB_20120810.CreateTable", body)
		require.Equal(t, ok, status == http.StatusOK, "%s: %v", body, out)
	}

	s.FailNext("ListStreams", streamtest.Internal, 1)
	status, out = call("DynamoDBStreams_20120810.ListStreams", `{}`)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, out["__type"], "#InternalServerError")
	status, out = call("DynamoDBStreams_20120810.ListStreams", `{}`)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, out["Streams"], 1)

	resp, _ := send(http.MethodGet, "", "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}
