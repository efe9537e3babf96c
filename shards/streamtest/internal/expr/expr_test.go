package expr_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest/internal/expr"
	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

func s(v string) value.Value         { return &types.AttributeValueMemberS{Value: v} }
func n(v string) value.Value         { return &types.AttributeValueMemberN{Value: v} }
func b(v bool) value.Value           { return &types.AttributeValueMemberBOOL{Value: v} }
func ss(v ...string) value.Value     { return &types.AttributeValueMemberSS{Value: v} }
func ns(v ...string) value.Value     { return &types.AttributeValueMemberNS{Value: v} }
func l(v ...value.Value) value.Value { return &types.AttributeValueMemberL{Value: v} }
func m(v value.Item) value.Value     { return &types.AttributeValueMemberM{Value: v} }
func scope(t *testing.T, names map[string]string, values value.Item) *expr.Scope {
	t.Helper()
	sc, err := expr.NewScope(names, values)
	require.NoError(t, err)
	return sc
}

var (
	names  = map[string]string{"#p": "position", "#d": "dotted.name"}
	values = value.Item{
		":s": s("b"), ":n": n("10"), ":m": n("2"), ":t": b(true), ":f": b(false), ":x": s("x"),
		":set": ss("u", "v"), ":S": s("S"), ":list": l(s("z")), ":ns": ns("1"),
	}
	item = value.Item{
		"a": s("abc"), "num": n("9"), "flag": b(true), "position": s("pos"), "dotted.name": s("dn"),
		"tags": ss("x", "y"), "nums": ns("1", "2.0"), "els": l(s("x"), n("10"), l(s("deep"))), "doc": m(value.Item{"k": n("1"), "m": m(value.Item{"q": s("b")})}),
	}
)

func TestConditionsHold(t *testing.T) {
	for text, want := range map[string]bool{
		"a = :s": false, "a <> :s": true, "a < :s": true, "a <= :s": true, "a > :s": false, "a >= :s": false,
		"num < :n": true, // as numbers; as text "9" is above "10"
		"num = :s": false, "num <> :s": true, "num < :s": false,
		"gone = :s": false, "gone <> :s": true, "gone < :s": false, "NOT gone = :s": true,
		"attribute_exists(a)": true, "attribute_exists(gone)": false, "attribute_not_exists(gone)": true,
		"attribute_exists(doc.m.q)": true, "attribute_exists(doc.m.z)": false, "attribute_exists(els[2][0])": true, "attribute_exists(els[9])": false,
		"attribute_exists(a.b)": false, "attribute_exists(a[0])": false,
		"doc.m.q = :s": true, "#p = :s": false, "#d <> :s": true, "#p <> #d": true,
		"attribute_type(a, :S)": true, "attribute_type(num, :S)": false, "attribute_type(gone, :S)": false,
		"begins_with(a, :s)": false, "begins_with(doc.m.q, :s)": true, "begins_with(num, :s)": false, "begins_with(:s, doc.m.q)": true, "size(:list) < :m": true, "contains(:set, a)": false,
		"contains(a, :s)": true, "contains(tags, :x)": true, "contains(tags, :s)": false, "contains(els, :x)": true, "contains(nums, :m)": true,
		"size(a) > :m": true, "size(tags) = :m": true, "size(gone) = :m": false, "size(num) = :m": false, "size(doc) = :m": true,
		"num BETWEEN :m AND :n": true, "num BETWEEN :m AND :m": false,
		"a IN (:s, :n)": false, "doc.m.q IN (:n, :s)": true,
		// AND binds tighter than OR, NOT tighter than AND.
		"attribute_exists(a) OR attribute_exists(a) AND attribute_exists(gone)":   true,
		"(attribute_exists(a) OR attribute_exists(a)) AND attribute_exists(gone)": false,
		"NOT attribute_exists(gone) AND attribute_exists(a)":                      true,
		"NOT (attribute_exists(gone) OR attribute_exists(a))":                     false,
		"(NOT (attribute_exists(gone)))":                                          true,
		"((attribute_exists(a)) OR (attribute_exists(a)))":                        true,
		"not attribute_exists(gone) and (flag = :t)":                              true,
	} {
		c, err := scope(t, names, values).Condition(text)
		require.NoError(t, err, text)
		require.Equal(t, want, c.Holds(item), text)
	}
	c, err := scope(t, nil, nil).Condition("attribute_not_exists(a)")
	require.NoError(t, err)
	require.True(t, c.Holds(nil), "an item that is not there has no attributes")
}

func TestConditionsRefused(t *testing.T) {
	for text, part := range map[string]string{
		"":                       "empty",
		"a":                      "syntax error",
		"a =":                    "syntax error",
		"a = :s AND":             "syntax error",
		"(a = :s":                "syntax error",
		"a = :s)":                "syntax error",
		"((a = :s))":             "redundant parentheses",
		"a == :s":                "syntax error",
		"a = 'x'":                "syntax error",
		"a = 10":                 "syntax error",
		"a = :missing":           "not defined",
		"#missing = :s":          "not defined",
		"position = :s":          "reserved keyword",
		"Total = :s":             "reserved keyword",
		"exists(a)":              "invalid function",
		"ATTRIBUTE_EXISTS(a)":    "invalid function",
		"attribute_exists(a, b)": "number of operands",
		"attribute_exists(:s)":   "document path",
		"a = a":                  "distinct", "a < a": "distinct", "contains(a, a)": "distinct",
		"begins_with(a, :n)": "operand type", "begins_with(:t, a)": "operand type",
		"attribute_type(a, :n)": "operand type", "attribute_type(a, num)": "operand type", "attribute_type(a, :s)": "type name",
		"size(:t) = :n": "operand type", "size(a, num) = :n": "number of operands",
		"a BETWEEN :n AND :m": "upper bound", "a BETWEEN :n AND :s": "same data type",
		"begins_with(a)":            "number of operands",
		"a BETWEEN :s":              "syntax error",
		"a IN :s":                   "syntax error",
		"a LIKE :s":                 "syntax error",
		"if_not_exists(a, :s) = :s": "invalid function",
		"a[x] = :s":                 "syntax error",
		"a[-1] = :s":                "syntax error",
		"a.:s = :s":                 "syntax error",
		"a + num = :n":              "syntax error",
		"a = :s; DROP":              "syntax error",
	} {
		_, err := scope(t, names, values).Condition(text)
		require.ErrorContains(t, err, part, text)
	}
}

func TestPlaceholdersMustBeUsedAndWellFormed(t *testing.T) {
	sc := scope(t, map[string]string{"#a": "a", "#b": "b"}, value.Item{":v": n("1")})
	_, err := sc.Condition("#a = :v")
	require.NoError(t, err)
	require.ErrorContains(t, sc.Unused(), "unused in expressions: keys: {#b}")
	_, err = sc.Update("REMOVE #b")
	require.NoError(t, err)
	require.NoError(t, sc.Unused())

	sc = scope(t, nil, value.Item{":v": n("1")})
	require.ErrorContains(t, sc.Unused(), "{:v}")
	for _, bad := range []string{"a", "#", ":a"} {
		_, err := expr.NewScope(map[string]string{bad: "a"}, nil)
		require.Error(t, err, bad)
	}
	for bad, v := range map[string]value.Value{"v": n("1"), ":": n("1"), ":v": n("one"), ":w": nil, ":e": ss()} {
		_, err := expr.NewScope(nil, value.Item{bad: v})
		require.Error(t, err, bad)
	}
}

func TestUpdatesApply(t *testing.T) {
	for text, want := range map[string]value.Item{
		"SET a = :s":                               {"a": s("b")},
		"SET a = :s, fresh = :n":                   {"a": s("b"), "fresh": n("10")},
		"SET a = num, num = :n":                    {"a": n("9"), "num": n("10")}, // right sides see the item as it was
		"SET num = :n, a = num":                    {"a": n("9"), "num": n("10")},
		"SET num = num + :n":                       {"num": n("19")},
		"SET num = num - :n":                       {"num": n("-1")},
		"SET num = (:n - num)":                     {"num": n("1")},
		"SET num = :n - num":                       {"num": n("1")},
		"SET num = if_not_exists(num, :n)":         {"num": n("9")},
		"SET fresh = if_not_exists(gone, :n) + :m": {"fresh": n("12")},
		"SET els = list_append(els, :list)":        {"els": l(s("x"), n("10"), l(s("deep")), s("z"))},
		"SET els[1] = :x":                          {"els": l(s("x"), s("x"), l(s("deep")))},
		"SET els[77] = :x":                         {"els": l(s("x"), n("10"), l(s("deep")), s("x"))},
		"SET doc.m.q = :x":                         {"doc": m(value.Item{"k": n("1"), "m": m(value.Item{"q": s("x")})})},
		"REMOVE a, gone":                           {"a": nil},
		"REMOVE els[0], els[1]":                    {"els": l(l(s("deep")))},
		"REMOVE doc.k":                             {"doc": m(value.Item{"m": m(value.Item{"q": s("b")})})},
		"ADD num :n":                               {"num": n("19")},
		"ADD fresh :n":                             {"fresh": n("10")},
		"ADD tags :set":                            {"tags": ss("x", "y", "u", "v")},
		"DELETE nums :ns":                          {"nums": ns("2")},
		"DELETE gone :ns":                          {},
		"SET a = :s REMOVE num ADD fresh :n DELETE nums :ns": {"a": s("b"), "num": nil, "fresh": n("10"), "nums": ns("2")},
		"set #p = :s remove #d":                              {"position": s("b"), "dotted.name": nil},
	} {
		u, err := scope(t, names, values).Update(text)
		require.NoError(t, err, text)
		before := value.CopyItem(item)
		got, err := u.Apply(item)
		require.NoError(t, err, text)
		require.True(t, value.EqualItems(before, item), "Apply changed its argument: "+text)
		expected := value.CopyItem(item)
		for name, v := range want {
			if expected[name] = v; v == nil {
				delete(expected, name)
			}
		}
		require.True(t, value.EqualItems(expected, got), "%s: got %v", text, got)
	}
}

func TestDeletingTheLastMemberRemovesTheSet(t *testing.T) {
	u, err := scope(t, nil, value.Item{":v": ns("1", "2")}).Update("DELETE nums :v")
	require.NoError(t, err)
	got, err := u.Apply(item)
	require.NoError(t, err)
	require.NotContains(t, got, "nums")
}

func TestUpdatesRefused(t *testing.T) {
	for text, part := range map[string]string{
		"":                              "empty",
		"SET":                           "syntax error",
		"SET a":                         "syntax error",
		"SET a = :s SET num = :n":       "only be used once",
		"PUT a = :s":                    "syntax error",
		"SET a = :s, a = :n":            "overlap",
		"SET doc.k = :s REMOVE doc":     "overlap",
		"SET a = :missing":              "not defined",
		"SET position = :s":             "reserved keyword",
		"SET a = begins_with(num, :n)":  "invalid function",
		"SET a = if_not_exists(:s, :n)": "syntax error",
		"SET a = if_not_exists(num)":    "syntax error",
		"SET a = :n * :n":               "syntax error",
		"SET a = :n + :n + :n":          "syntax error",
		"SET a = (:n":                   "syntax error",
		"SET a = :n + :s":               "incorrect operand type",
		"SET a = list_append(a, :n)":    "incorrect operand type",
		"SET doc.k = :n, doc[0] = :n":   "conflict",
		"ADD a = :n":                    "syntax error",
		"ADD a :s":                      "incorrect operand type",
		"ADD a :list":                   "incorrect operand type",
		"DELETE a :n":                   "incorrect operand type",
		"REMOVE :n":                     "syntax error",
	} {
		_, err := scope(t, names, values).Update(text)
		require.ErrorContains(t, err, part, text)
	}
	for text, part := range map[string]string{
		"SET num = gone":                  "does not exist in the item",
		"SET num = a + :n":                "incorrect data type",
		"SET els = list_append(a, :list)": "incorrect data type",
		"ADD a :n":                        "incorrect data type",
		"ADD nums :set":                   "incorrect data type",
		"DELETE tags :ns":                 "incorrect data type",
		"SET gone.x = :n":                 "invalid for update",
		"SET a.x = :n":                    "invalid for update",
		"SET doc[0] = :n":                 "invalid for update",
		"SET els.x = :n":                  "invalid for update",
		"REMOVE gone.x":                   "invalid for update",
	} {
		u, err := scope(t, names, values).Update(text)
		require.NoError(t, err, text)
		_, err = u.Apply(item)
		require.ErrorContains(t, err, part, text)
	}
}

func TestKeyConditions(t *testing.T) {
	schema := value.Schema{
		Hash: value.KeyPart{Name: "pk", Type: types.ScalarAttributeTypeS}, Range: value.KeyPart{Name: "sk", Type: types.ScalarAttributeTypeS},
	}
	row := value.Item{"pk": s("p"), "sk": s("bcd")}
	for text, want := range map[string]bool{
		"pk = :x": true, "pk = :x AND sk = :s": false, "pk = :x AND begins_with(sk, :s)": true,
		"sk >= :s AND pk = :x": true, "pk = :x AND sk < :s": false, "pk = :x AND sk BETWEEN :s AND :x": true,
		"(pk = :x) AND (sk > :s)": true,
	} {
		k, err := scope(t, names, values).KeyCondition(text, schema)
		require.NoError(t, err, text)
		require.Equal(t, s("x"), k.Hash)
		require.Equal(t, want, k.Holds(row), text)
	}
	for _, text := range []string{
		"sk = :s", "pk > :x", "pk = :x OR pk = :s", "pk = :x AND NOT sk = :s", "pk = :x AND sk <> :s", "pk = :x AND other = :s",
		"pk = :n", "pk = :x AND sk = :n", "pk = :x AND sk IN (:s)", "pk = :x AND contains(sk, :s)", "pk = :x AND sk > :s AND sk < :x",
		"pk = :x AND pk = :x", "pk = sk", ":x = pk", "pk = :x AND attribute_exists(sk)", "pk.a = :x", "begins_with(pk, :x)", "pk = :x AND begins_with(sk, pk)",
	} {
		_, err := scope(t, names, values).KeyCondition(text, schema)
		require.Error(t, err, text)
	}
}

func TestProjections(t *testing.T) {
	p, err := scope(t, names, nil).Projection("a, #p, gone")
	require.NoError(t, err)
	require.Equal(t, value.Item{"a": s("abc"), "position": s("pos")}, p.Apply(item))
	for _, text := range []string{"", "a,", "a b", "doc.k", ":n", "position"} {
		_, err := scope(t, names, nil).Projection(text)
		require.Error(t, err, text)
	}
}

// FuzzParse looks for a crash of any parser, and for an update that changes its argument.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a = :n AND (b < :s OR NOT size(c) IN (:n))", "SET a = if_not_exists(b, :n) + :n REMOVE c[0].d ADD e :n", "pk = :s AND begins_with(sk, :s)"} {
		f.Add(seed)
	}
	schema := value.Schema{Hash: value.KeyPart{Name: "pk", Type: types.ScalarAttributeTypeS}, Range: value.KeyPart{Name: "sk", Type: types.ScalarAttributeTypeS}}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := scope(t, names, values).Condition(text); err == nil {
			c.Holds(item)
			c.Holds(nil)
		}
		if u, err := scope(t, names, values).Update(text); err == nil {
			before := value.CopyItem(item)
			_, _ = u.Apply(item)
			require.True(t, value.EqualItems(before, item))
		}
		if k, err := scope(t, names, values).KeyCondition(text, schema); err == nil {
			k.Holds(item)
		}
		_, _ = scope(t, names, values).Projection(text)
	})
}
