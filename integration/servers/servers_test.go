//go:build integration

package servers_test

import (
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
)

func TestServersAnswerAndStop(t *testing.T) {
	for _, s := range servers.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server, err := s.Start(t.Context())
			require.NoError(t, err)
			defer server.Stop()
			_, err = server.DynamoDB().ListTables(t.Context(), &dynamodb.ListTablesInput{})
			require.NoError(t, err)

			require.NoError(t, server.Stop())
			require.NoError(t, server.Stop(), "a second Stop is inert")
			u, err := url.Parse(server.URL)
			require.NoError(t, err)
			_, err = net.DialTimeout("tcp", u.Host, time.Second)
			require.Error(t, err, "nothing listens there any more")
		})
	}
}
