package dynamostore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
)

// expression collects the names and values that a request's expressions use.
// Every attribute goes by its name with a number sign, since position, owner,
// time and others are or may become words of DynamoDB's own.
type expression struct {
	names  map[string]string
	values item
}

func newExpression() expression { return expression{names: map[string]string{}, values: item{}} }

func (e expression) name(attr string) string {
	e.names["#"+attr] = attr
	return "#" + attr
}

func (e expression) value(name string, v types.AttributeValue) string {
	e.values[":"+name] = v
	return ":" + name
}

// update collects the clauses of an UpdateExpression.
type update struct {
	expression
	set, remove []string
}

func (u *update) put(attr string, v types.AttributeValue) {
	u.set = append(u.set, u.name(attr)+" = "+u.value(attr, v))
}

func (u *update) drop(attr string) { u.remove = append(u.remove, u.name(attr)) }

// putStr drops the attribute instead of writing an empty string, which older
// servers refuse.
func (u *update) putStr(attr, s string) {
	if s == "" {
		u.drop(attr)
		return
	}
	u.put(attr, str(s))
}

func (u *update) String() string {
	var b strings.Builder
	b.WriteString("SET " + strings.Join(u.set, ", "))
	if len(u.remove) > 0 {
		b.WriteString(" REMOVE " + strings.Join(u.remove, ", "))
	}
	return b.String()
}

func claimInput(table string, key checkpoint.Key, owner string) *dynamodb.UpdateItemInput {
	u := update{expression: newExpression()}
	// Revisions are counted within a fence, so a new fence begins them anew.
	u.set = append(u.set, u.name(attrRevision)+" = "+u.value("zero", number(0)))
	u.putStr(attrOwner, owner)
	u.put(attrUpdatedAt, instant(time.Now()))
	add := " ADD " + u.name(attrFence) + " " + u.value("one", number(1))
	condition := "attribute_not_exists(" + u.name(attrSchema) + ")"
	return &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       itemKey(key),
		UpdateExpression:          aws.String(u.String() + add),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  u.names,
		ExpressionAttributeValues: u.values,
		ReturnValues:              types.ReturnValueAllNew,
	}
}

// saveInput writes neither fence nor owner: those are Claim's.
func (s *Store) saveInput(cp checkpoint.Checkpoint) *dynamodb.UpdateItemInput {
	u := update{expression: newExpression()}
	u.putStr(attrPosition, cp.Position)
	u.put(attrComplete, boolean(cp.Complete))
	u.put(attrRevision, number(cp.Revision))
	u.putInstant(attrEventTime, cp.EventTime)
	u.putInstant(attrUpdatedAt, cp.UpdatedAt)
	if s.expire != nil {
		if keep := s.expire(cp); keep > 0 {
			u.put(attrExpiresAt, seconds(time.Now().Add(keep)))
		} else {
			u.drop(attrExpiresAt)
		}
	}
	condition := u.saveCondition(cp)
	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 itemKey(cp.Key),
		UpdateExpression:                    aws.String(u.String()),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// saveCondition holds while the claim stands and nothing newer was saved under
// it. Equal is not newer: a save whose answer was lost is repeated as it was.
func (u *update) saveCondition(cp checkpoint.Checkpoint) string {
	owned := "attribute_not_exists(" + u.name(attrOwner) + ")"
	if cp.Owner != "" {
		owned = "#owner = " + u.value(attrOwner, str(cp.Owner))
	}
	condition := u.name(attrFence) + " = " + u.value(attrFence, number(cp.Fence)) + " AND " + owned + " AND #revision <= :revision"
	if !cp.Complete {
		condition += " AND (attribute_not_exists(#complete) OR #complete = :complete)"
	}
	return condition
}

func (u *update) putInstant(attr string, t time.Time) {
	if t.IsZero() {
		u.drop(attr)
		return
	}
	u.put(attr, instant(t))
}

// seconds is how DynamoDB's time to live wants its times.
func seconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}

func listInput(table, pipeline, prefix string) *dynamodb.QueryInput {
	e := newExpression()
	condition := e.name(attrPipeline) + " = " + e.value(attrPipeline, str(pipeline))
	if prefix != "" {
		condition += " AND begins_with(" + e.name(attrPartition) + ", " + e.value("prefix", str(prefix)) + ")"
	}
	return &dynamodb.QueryInput{
		TableName:                 &table,
		KeyConditionExpression:    &condition,
		ExpressionAttributeNames:  e.names,
		ExpressionAttributeValues: e.values,
		ConsistentRead:            aws.Bool(true),
	}
}

func beginInput(table, pipeline, token string, o checkpoint.Origin) (*dynamodb.UpdateItemInput, error) {
	u := update{expression: newExpression()}
	if o.Start != checkpoint.StartTrimHorizon && o.Start != checkpoint.StartLatest {
		return nil, fmt.Errorf("dynamostore: begin %s: start is %q, want %q or %q", pipeline, o.Start, checkpoint.StartTrimHorizon, checkpoint.StartLatest)
	}
	u.put(attrStart, str(string(o.Start)))
	u.set = append(u.set, u.name(attrOwner)+" = "+u.value("token", str(token)))
	u.putInstant(attrTime, o.Time)
	u.putStr(attrSource, o.Source)
	condition := "attribute_not_exists(" + u.name(attrPipeline) + ") OR #owner = :token"
	return &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       itemKey(checkpoint.Key{Pipeline: pipeline, Partition: checkpoint.OriginPartition}),
		UpdateExpression:          aws.String(u.String()),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  u.names,
		ExpressionAttributeValues: u.values,
	}, nil
}
