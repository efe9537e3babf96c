package esmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// The fixtures make events whose wrong identifiers cannot pass by coincidence:
// a change's eventID and SequenceNumber share no character, and the sequence
// numbers grow by a digit on the way, so that comparing them as strings shows.

// DynamoDBRecords are n changes of one shard. The i-th has the key {"id": {"S": "i"}}.
func DynamoDBRecords(n int) []Record {
	return build(n, func(i int) (map[string]any, string) {
		return map[string]any{
			"eventID": letters(i), "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
			"awsRegion":      "eu-central-1",
			"eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2024-06-10T19:26:16.525",
			"dynamodb": map[string]any{
				"ApproximateCreationDateTime": 1480642020,
				"Keys":                        map[string]any{"id": map[string]string{"S": fmt.Sprint(i)}},
				"NewImage":                    map[string]any{"id": map[string]string{"S": fmt.Sprint(i)}, "qty": map[string]string{"N": fmt.Sprint(i)}},
				"SequenceNumber":              Sequence(i), "SizeBytes": 26, "StreamViewType": "NEW_IMAGE",
			},
		}, ""
	})
}

// KinesisRecords are n records of one shard. The i-th has the data "i".
func KinesisRecords(n int) []Record {
	return build(n, func(i int) (map[string]any, string) {
		return map[string]any{
			"eventID": "shardId-000000000006:" + Sequence(i), "eventName": "aws:kinesis:record", "eventVersion": "1.0",
			"eventSource": "aws:kinesis", "invokeIdentityArn": "arn:aws:iam::123456789012:role/lambda-role",
			"awsRegion": "eu-central-1", "eventSourceARN": "arn:aws:kinesis:eu-central-1:123456789012:stream/orders",
			"kinesis": map[string]any{
				"kinesisSchemaVersion": "1.0", "partitionKey": fmt.Sprint(i % 3), "sequenceNumber": Sequence(i),
				"data": base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(i))), "approximateArrivalTimestamp": 1480642020.5,
			},
		}, ""
	})
}

// SQSMessages are n messages of a standard queue. The i-th has the body "i", and,
// as fair queues allow, a message group all the same.
func SQSMessages(n int) []Record {
	return build(n, func(i int) (map[string]any, string) {
		return message(i, "orders", fmt.Sprint(i%2)), ""
	})
}

// FIFOMessages are n messages of a FIFO queue, the i-th with the body "i" and the
// message group group(i); "" leaves it out.
func FIFOMessages(n int, group func(i int) string) []Record {
	return build(n, func(i int) (map[string]any, string) {
		return message(i, "orders.fifo", group(i)), ""
	})
}

func message(i int, queue, group string) map[string]any {
	attributes := map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1520621625029"}
	if group != "" {
		attributes["MessageGroupId"] = group
	}
	return map[string]any{
		"messageId": "m-" + letters(i), "receiptHandle": fmt.Sprintf("handle-%d", i), "body": fmt.Sprint(i),
		"attributes": attributes, "messageAttributes": map[string]any{},
		"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:" + queue, "awsRegion": "eu-central-1",
	}
}

// KafkaRecords are n records of the topic "orders", the i-th with the value "i"
// in the partition partition(i). Offsets count up within each partition.
func KafkaRecords(n int, partition func(i int) int) []Record {
	offsets := map[int]int{}
	return build(n, func(i int) (map[string]any, string) {
		p := partition(i)
		offsets[p]++
		return map[string]any{
			"topic": "orders", "partition": p, "offset": 97 + offsets[p], "timestamp": int64(1595035749700), "timestampType": "CREATE_TIME",
			"key":     base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "k%d", i)),
			"value":   base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(i))),
			"headers": []any{},
		}, fmt.Sprintf("orders-%d", p)
	})
}

// Without is a copy of the record that lacks the field at path ("dynamodb",
// "SequenceNumber"): an unreportable record.
func (r Record) Without(path ...string) Record {
	var whole map[string]any
	if err := json.Unmarshal(r.JSON, &whole); err != nil {
		panic("esmtest: " + err.Error())
	}
	at := whole
	for _, key := range path[:len(path)-1] {
		at, _ = at[key].(map[string]any)
	}
	delete(at, path[len(path)-1])
	return Record{JSON: marshal(whole), Partition: r.Partition}
}

// Sequence is the sequence number of the fixtures' i-th record.
func Sequence(i int) string {
	base, _ := new(big.Int).SetString("99999999999999999999995", 10)
	return base.Add(base, big.NewInt(int64(i))).String()
}

// letters is i in letters alone.
func letters(i int) string {
	return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%08d", i))
}

func build(n int, record func(int) (map[string]any, string)) []Record {
	recs := make([]Record, n)
	for i := range recs {
		fields, partition := record(i)
		recs[i] = Record{JSON: marshal(fields), Partition: partition}
	}
	return recs
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("esmtest: " + err.Error())
	}
	return b
}
