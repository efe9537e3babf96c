package lambdaids

import "slices"

// Response is the answer of a function to its event source mapping. Its JSON is
// what Lambda takes, a list even when nothing failed:
//
//	{"batchItemFailures":[{"itemIdentifier":"…"}]}
//
// The zero value says that everything succeeded. A copy is an answer of its own.
// The type parameter ties it to its source: a Kinesis number in an SQS answer does
// not compile.
type Response[ID Identifier] struct {
	failures []ID
	seen     map[ID]struct{} // of failures, once there are many
	owner    *Response[ID]   // who may write to both: a copy makes its own first
}

// manyFailures is where looking through the list begins to cost more than a map.
const manyFailures = 32

// Fail adds an identifier; one that is already there is not repeated, because
// what Lambda makes of a duplicate is undocumented. On the sources whose answer
// is a checkpoint (DynamoDB Streams, Kinesis) only the lowest number is kept:
// it is the only one Lambda reads. The zero ID changes nothing and gives false.
func (r *Response[ID]) Fail(id ID) bool {
	var zero ID
	if id == zero {
		return false
	}
	if r.owner != r {
		r.failures, r.seen, r.owner = slices.Clone(r.failures), nil, r
	}
	if isCheckpoint(id) && len(r.failures) > 0 {
		if compareIDs(id, r.failures[0]) >= 0 {
			return false
		}
		r.failures[0] = id
		return true
	}
	if r.has(id) {
		return false
	}
	r.failures = append(r.failures, id)
	return true
}

// has reports whether id is listed; when many are, it also enters id in the map.
func (r *Response[ID]) has(id ID) bool {
	if len(r.failures) < manyFailures {
		return slices.Contains(r.failures, id)
	}
	if len(r.seen) != len(r.failures) {
		r.seen = make(map[ID]struct{}, 2*len(r.failures))
		for _, f := range r.failures {
			r.seen[f] = struct{}{}
		}
	}
	_, ok := r.seen[id]
	r.seen[id] = struct{}{}
	return ok
}

func isCheckpoint(id any) bool {
	switch id.(type) {
	case DynamoDBSequence, KinesisSequence:
		return true
	}
	return false
}

// Len is how many identifiers the answer names.
func (r Response[ID]) Len() int { return len(r.failures) }

// At is the i-th identifier.
func (r Response[ID]) At(i int) ID { return r.failures[i] }

// MarshalJSON gives the answer as Lambda reads it.
func (r Response[ID]) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 32+72*len(r.failures)), `{"batchItemFailures":[`...)
	for i, id := range r.failures {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"itemIdentifier":`...)
		b = id.appendJSON(b)
		b = append(b, '}')
	}
	return append(b, "]}"...), nil
}
