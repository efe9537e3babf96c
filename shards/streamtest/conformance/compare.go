package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// Compare sends n random conditional updates, puts and deletes to two servers
// and fails at the first that they answer differently, or that leaves
// different items. Most are valid; some are refused, by both.
func Compare(t *testing.T, a, b Tables, seed uint64, n int) {
	ctx := t.Context()
	var names [2]string
	for i, tables := range [2]Tables{a, b} {
		var err error
		if names[i], err = newTable(ctx, tables, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	g := &script{Rand: rand.New(rand.NewPCG(seed, 17))}
	held, failed, refused := 0, 0, 0
	for step := range n {
		w := g.write()
		var codes [2]string
		var errs [2]error
		var answers, items [2]Item
		for i, tables := range [2]Tables{a, b} {
			answers[i], errs[i] = w.send(t, tables, names[i])
			codes[i] = code(errs[i])
			out, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: &names[i], Key: Item{"h": str(w.key)}, ConsistentRead: aws.Bool(true)})
			if err != nil {
				t.Fatal(err)
			}
			items[i] = out.Item
		}
		if codes[0] != codes[1] || !value.EqualItems(answers[0], answers[1]) || !value.EqualItems(items[0], items[1]) {
			t.Fatalf("seed %d, step %d: %s\nanswers %s, %v\nand     %s, %v\nitem is %s\nand     %s", seed, step, w,
				show(answers[0]), errs[0], show(answers[1]), errs[1], show(items[0]), show(items[1]))
		}
		switch codes[0] {
		case "":
			held++
		case "ConditionalCheckFailedException":
			failed++
		default:
			refused++
		}
	}
	if n >= 100 && (held == 0 || failed == 0 || refused == 0) {
		t.Fatalf("seed %d: of %d writes %d were done, %d failed their condition, %d were refused: the script is one-sided", seed, n, held, failed, refused)
	}
	t.Logf("seed %d: %d writes done, %d failed their condition, %d refused, by both servers alike", seed, held, failed, refused)
}

// write is one random request.
type write struct {
	kind   string // update, put, delete
	key    string
	item   Item
	update string
	cond   string
	values Item
}

func (w write) String() string {
	return fmt.Sprintf("%s %s %s %q if %q with %s", w.kind, w.key, show(w.item), w.update, w.cond, show(w.values))
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (w write) send(t *testing.T, tables Tables, table string) (Item, error) {
	ctx, key := t.Context(), Item{"h": str(w.key)}
	switch w.kind {
	case "put":
		out, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: w.item, ConditionExpression: optional(w.cond), ExpressionAttributeValues: w.values, ReturnValues: types.ReturnValueAllOld})
		if err != nil {
			return nil, err
		}
		return out.Attributes, nil
	case "delete":
		out, err := tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ConditionExpression: optional(w.cond), ExpressionAttributeValues: w.values, ReturnValues: types.ReturnValueAllOld})
		if err != nil {
			return nil, err
		}
		return out.Attributes, nil
	}
	out, err := tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, UpdateExpression: &w.update, ConditionExpression: optional(w.cond), ExpressionAttributeValues: w.values, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// script draws requests over few keys, attributes and values, so that they meet.
type script struct {
	*rand.Rand
	values Item
}

func pick[T any](g *script, from ...T) T { return from[g.IntN(len(from))] }

func (g *script) write() write {
	g.values = Item{}
	w := write{key: pick(g, "x", "y", "z")}
	if g.IntN(3) > 0 {
		w.cond = g.condition(2)
	}
	switch g.IntN(6) {
	case 0:
		w.kind = "delete"
	case 1:
		w.kind, w.item = "put", Item{"h": str(w.key)}
		for range g.IntN(5) {
			w.item[g.attribute()] = g.literal()
		}
	default:
		w.kind, w.update = "update", g.update()
	}
	if w.values = g.values; len(w.values) == 0 {
		w.values = nil
	}
	return w
}

func (g *script) attribute() string { return pick(g, "a1", "a2", "a3", "a4", "a5") }

func (g *script) literal() types.AttributeValue {
	switch g.IntN(8) {
	case 0, 1:
		return str(pick(g, "a", "b", "ab", "10", "9"))
	case 2, 3:
		return num(pick(g, "0", "1", "-1", "2", "9", "10", "1.5"))
	case 4:
		// Never false: dynalite takes a false attribute for one without a type.
		return &types.AttributeValueMemberBOOL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: pick(g, []string{"a"}, []string{"a", "b"}, []string{"c"})}
	case 6:
		return &types.AttributeValueMemberNS{Value: pick(g, []string{"1"}, []string{"2", "10"}, []string{"9"})}
	}
	return &types.AttributeValueMemberL{Value: []types.AttributeValue{str("a"), num("1")}}
}

// value names a literal for the expression.
func (g *script) value(v types.AttributeValue) string {
	name := fmt.Sprintf(":v%d", len(g.values))
	g.values[name] = v
	return name
}

func (g *script) condition(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return g.condition(depth-1) + " AND " + g.condition(depth-1)
		case 1:
			return g.condition(depth-1) + " OR " + g.condition(depth-1)
		case 2:
			return "NOT " + g.condition(0)
		case 3:
			return "(" + g.condition(depth-1) + ")"
		}
	}
	switch a := g.attribute(); g.IntN(8) {
	case 0:
		return "attribute_exists(" + a + ")"
	case 1:
		return "attribute_not_exists(" + a + ")"
	case 2:
		return "attribute_type(" + a + ", " + g.value(str(pick(g, "S", "N", "SS", "NS", "L", "BOOL"))) + ")"
	case 3:
		return "begins_with(" + a + ", " + g.value(str(pick(g, "a", "b"))) + ")"
	case 4:
		return "contains(" + a + ", " + g.value(pick(g, str("a"), str("b"), num("1"))) + ")"
	case 5:
		lo, hi := pick(g, [2]string{"1", "9"}, [2]string{"-1", "10"})[0], "10"
		return a + " BETWEEN " + g.value(num(lo)) + " AND " + g.value(num(hi))
	case 6:
		// Scalars only: dynalite finds no list equal to another here.
		return a + " IN (" + g.value(pick(g, str("a"), num("1"))) + ", " + g.value(pick(g, str("b"), num("9.0"))) + ")"
	default:
		v := pick(g, str("a"), str("b"), num("2"), num("10"))
		return a + " " + pick(g, "=", "<>", "<", "<=", ">", ">=") + " " + g.value(v)
	}
}

func (g *script) update() string {
	free := []string{"a1", "a2", "a3", "a4", "a5"}
	g.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	take := func() string {
		a := free[0]
		free = free[1:]
		return a
	}
	var clauses []string
	if g.IntN(2) == 0 {
		clauses = append(clauses, "SET "+take()+" = "+g.term()+", "+take()+" = "+g.term())
	}
	if g.IntN(3) == 0 {
		clauses = append(clauses, "REMOVE "+take())
	}
	if g.IntN(3) == 0 {
		clauses = append(clauses, "ADD "+take()+" "+g.value(pick[types.AttributeValue](g, num("1"), num("-2.5"), &types.AttributeValueMemberSS{Value: []string{"b", "c"}}, &types.AttributeValueMemberNS{Value: []string{"1", "3"}})))
	}
	// Not beside a SET: dynalite lets a set copied by it share its members.
	if len(clauses) == 0 && g.IntN(3) == 0 {
		clauses = append(clauses, "DELETE "+take()+" "+g.value(pick[types.AttributeValue](g, &types.AttributeValueMemberSS{Value: []string{"a", "c"}}, &types.AttributeValueMemberNS{Value: []string{"1", "9"}})))
	}
	if len(clauses) == 0 {
		clauses = []string{"SET " + take() + " = " + g.value(g.literal())}
	}
	return strings.Join(clauses, " ")
}

func (g *script) term() string {
	switch g.IntN(6) {
	case 0:
		return g.attribute()
	case 1:
		return "if_not_exists(" + g.attribute() + ", " + g.value(g.literal()) + ")"
	case 2:
		return g.attribute() + pick(g, " + ", " - ") + g.value(num("1"))
	case 3:
		return "list_append(" + g.attribute() + ", " + g.value(&types.AttributeValueMemberL{Value: []types.AttributeValue{str("b")}}) + ")"
	}
	return g.value(g.literal())
}
