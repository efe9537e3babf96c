package dynamostore_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// policyActions reads the actions of one statement of the policy that the
// documentation tells people to paste.
func policyActions(t *testing.T, sid string) []string {
	t.Helper()
	doc, err := os.ReadFile("../../doc/dynamostore.md")
	require.NoError(t, err)
	block := jsonBlock.FindSubmatch(doc)
	require.NotNil(t, block, "the documentation has no policy")
	var policy struct {
		Version   string
		Statement []struct {
			Sid, Effect string
			Action      []string
			Resource    string
		}
	}
	require.NoError(t, json.Unmarshal(block[1], &policy))
	for _, s := range policy.Statement {
		if s.Sid == sid {
			require.Equal(t, "Allow", s.Effect)
			slices.Sort(s.Action)
			return s.Action
		}
	}
	t.Fatalf("the policy has no statement %s", sid)
	return nil
}
