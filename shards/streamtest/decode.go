package streamtest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The SDK can write its inputs as JSON and read its outputs, a server needs
// the opposite. Outputs it writes too, as Serialize is public; inputs are read
// here, into the SDK's own structs, whose members are named as on the wire.

var (
	attributeType = reflect.TypeFor[types.AttributeValue]()
	timeType      = reflect.TypeFor[time.Time]()
)

// decodeInto reads JSON into an SDK input struct. Unknown members are ignored,
// as AWS does.
func decodeInto(data []byte, v reflect.Value) error {
	switch {
	case v.Type() == attributeType:
		av, err := decodeValue(data)
		if err == nil {
			v.Set(reflect.ValueOf(av))
		}
		return err
	case v.Type() == timeType:
		var sec float64
		if err := json.Unmarshal(data, &sec); err != nil {
			return err
		}
		whole, frac := math.Modf(sec)
		v.Set(reflect.ValueOf(time.Unix(int64(whole), int64(math.Round(frac*1e3))*1e6)))
		return nil
	}
	if string(data) == "null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeInto(data, v.Elem())
	case reflect.Struct:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return err
		}
		for name, raw := range members {
			f := v.FieldByName(name)
			if !f.IsValid() || !f.CanSet() || name == "ResultMetadata" {
				continue
			}
			if err := decodeInto(raw, f); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case reflect.Map:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return err
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(members)))
		for name, raw := range members {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := decodeInto(raw, e); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
		}
		return nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		var members []json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), len(members), len(members)))
		for i, raw := range members {
			if err := decodeInto(raw, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Interface:
		return fmt.Errorf("streamtest cannot read a %v", v.Type())
	}
	return json.Unmarshal(data, v.Addr().Interface())
}

func decodeValue(data []byte) (value.Value, error) {
	var member map[string]json.RawMessage
	if err := json.Unmarshal(data, &member); err != nil {
		return nil, err
	}
	if len(member) != 1 {
		return nil, fmt.Errorf("supplied AttributeValue has %d datatypes set, must contain exactly one of the supported datatypes", len(member))
	}
	for name, raw := range member {
		switch name {
		case "S":
			v := &types.AttributeValueMemberS{}
			return v, json.Unmarshal(raw, &v.Value)
		case "N":
			v := &types.AttributeValueMemberN{}
			return v, json.Unmarshal(raw, &v.Value)
		case "B":
			v := &types.AttributeValueMemberB{}
			return v, json.Unmarshal(raw, &v.Value)
		case "BOOL":
			v := &types.AttributeValueMemberBOOL{}
			return v, json.Unmarshal(raw, &v.Value)
		case "NULL":
			v := &types.AttributeValueMemberNULL{}
			return v, json.Unmarshal(raw, &v.Value)
		case "SS":
			v := &types.AttributeValueMemberSS{}
			return v, json.Unmarshal(raw, &v.Value)
		case "NS":
			v := &types.AttributeValueMemberNS{}
			return v, json.Unmarshal(raw, &v.Value)
		case "BS":
			v := &types.AttributeValueMemberBS{}
			return v, json.Unmarshal(raw, &v.Value)
		case "L":
			v := &types.AttributeValueMemberL{}
			return v, decodeInto(raw, reflect.ValueOf(&v.Value).Elem())
		case "M":
			v := &types.AttributeValueMemberM{}
			return v, decodeInto(raw, reflect.ValueOf(&v.Value).Elem())
		}
	}
	return nil, fmt.Errorf("supplied AttributeValue must contain exactly one of the supported datatypes")
}
