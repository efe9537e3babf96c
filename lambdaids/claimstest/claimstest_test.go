package claimstest_test

import (
	"testing"
	"time"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/claimstest"
)

// How an implementation of Claims is held to its contract.
func TestMemory(t *testing.T) {
	claimstest.Run(t, func(now func() time.Time) lambdaids.Claims { return lambdaids.NewMemoryClaims(now) })
}
