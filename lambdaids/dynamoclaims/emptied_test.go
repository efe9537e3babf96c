package dynamoclaims_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/dynamoclaims"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// between answers the next calls itself, with success and without a body, as
// something between a function and its table may.
type between struct {
	http.RoundTripper
	next int
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.next > 0 {
		b.next--
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	return b.RoundTripper.RoundTrip(r)
}

// An answer without a body says nothing: what it is taken for would be applied
// twice, or never.
func TestEmptiedAnswerClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := streamtest.New(streamtest.Config{})
		require.NoError(t, service.CreateTable(streamtest.Table{Name: "claims", Hash: "key"}))
		way := &between{RoundTripper: service}
		cfg := service.AWSConfig()
		cfg.HTTPClient = &http.Client{Transport: way}
		claims := dynamoclaims.New(dynamodb.NewFromConfig(cfg), dynamoclaims.Config{Table: "claims"})
		row := func() streamtest.Item {
			item, _ := service.Get("claims", streamtest.Item{"key": &types.AttributeValueMemberS{Value: "k"}})
			return item
		}
		state := func() string {
			if s, ok := row()["state"].(*types.AttributeValueMemberS); ok {
				return s.Value
			}
			return ""
		}

		way.next = 100
		_, _, err := claims.Claim(t.Context(), "k", time.Minute)
		require.ErrorContains(t, err, "did not arrive whole")
		require.Empty(t, row())

		way.next = 1
		claim, got, err := claims.Claim(t.Context(), "k", time.Minute)
		require.NoError(t, err)
		require.Equal(t, lambdaids.Claimed, got)
		require.Equal(t, "claimed", state())

		way.next = 100
		require.ErrorContains(t, claims.Confirm(t.Context(), claim), "did not arrive whole")
		require.ErrorContains(t, claims.Release(t.Context(), claim), "did not arrive whole")
		require.Equal(t, "claimed", state())

		way.next = 1
		require.NoError(t, claims.Confirm(t.Context(), claim))
		require.Equal(t, "applied", state())
	})
}
