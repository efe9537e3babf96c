package streamtest

import (
	"slices"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (s *Service) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	err := onlyKnown(in, "TableName", "AttributeDefinitions", "BillingMode", "KeySchema", "ProvisionedThroughput", "StreamSpecification", "Tags", "TableClass", "SSESpecification", "DeletionProtectionEnabled")
	if err != nil {
		return nil, err
	}
	spec := Table{Name: aws.ToString(in.TableName)}
	if n := len(spec.Name); n < 3 || n > 255 {
		return nil, invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	typeOf := func(name string) (types.ScalarAttributeType, error) {
		for _, d := range in.AttributeDefinitions {
			if aws.ToString(d.AttributeName) != name {
				continue
			}
			if !slices.Contains(d.AttributeType.Values(), d.AttributeType) {
				return "", invalid("Member must satisfy enum value set: [B, N, S]: attributeType %q", d.AttributeType)
			}
			return d.AttributeType, nil
		}
		return "", invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s]", name)
	}
	for i, k := range in.KeySchema {
		name := aws.ToString(k.AttributeName)
		typ, err := typeOf(name)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0 && k.KeyType == types.KeyTypeHash:
			spec.Hash, spec.HashType = name, typ
		case i == 1 && k.KeyType == types.KeyTypeRange && name != spec.Hash:
			spec.Range, spec.RangeType = name, typ
		default:
			return nil, invalid("Invalid KeySchema: a HASH key, then at most one RANGE key of another name")
		}
	}
	if spec.Hash == "" {
		return nil, invalid("Invalid KeySchema: no HASH key")
	}
	if len(in.AttributeDefinitions) != len(in.KeySchema) {
		return nil, invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	if in.BillingMode != types.BillingModePayPerRequest && in.ProvisionedThroughput == nil {
		return nil, invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	if sp := in.StreamSpecification; sp != nil && aws.ToBool(sp.StreamEnabled) {
		if !slices.Contains(sp.StreamViewType.Values(), sp.StreamViewType) {
			return nil, invalid("One or more parameter values were invalid: unknown StreamViewType %q", sp.StreamViewType)
		}
		spec.View = sp.StreamViewType
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	if s.tables[spec.Name] != nil {
		return nil, &types.ResourceInUseException{Message: aws.String("Table already exists: " + spec.Name)}
	}
	t := s.createLocked(spec, now)
	t.active = now.Add(s.cfg.CreateDelay)
	return &dynamodb.CreateTableOutput{TableDescription: s.describe(t)}, nil
}

func (s *Service) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowLocked()
	t := s.tables[aws.ToString(in.TableName)]
	if t == nil {
		return nil, noSuchTable(aws.ToString(in.TableName))
	}
	return &dynamodb.DescribeTableOutput{Table: s.describe(t)}, nil
}

// describe gives ItemCount and TableSizeBytes as they are; AWS updates them
// every six hours or so.
func (s *Service) describe(t *table) *types.TableDescription {
	d := &types.TableDescription{
		TableName:          aws.String(t.name),
		TableArn:           aws.String(s.tableARN(t.name)),
		TableId:            aws.String(t.id),
		TableStatus:        types.TableStatusActive,
		CreationDateTime:   aws.Time(t.created),
		ItemCount:          aws.Int64(int64(t.items.Len())),
		TableSizeBytes:     aws.Int64(t.bytes),
		BillingModeSummary: &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
		KeySchema:          keySchema(t.schema),
	}
	for _, p := range t.schema.Parts() {
		d.AttributeDefinitions = append(d.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(p.Name), AttributeType: p.Type})
	}
	if s.cfg.Now().Add(s.offset).Before(t.active) {
		d.TableStatus = types.TableStatusCreating
	}
	if st := t.stream; st != nil {
		d.LatestStreamArn, d.LatestStreamLabel = aws.String(st.arn), aws.String(st.label)
		if st.ended.IsZero() {
			d.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: st.view}
		}
	}
	return d
}

func keySchema(schema value.Schema) []types.KeySchemaElement {
	out := []types.KeySchemaElement{{AttributeName: aws.String(schema.Hash.Name), KeyType: types.KeyTypeHash}}
	if schema.Range.Name != "" {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(schema.Range.Name), KeyType: types.KeyTypeRange})
	}
	return out
}
