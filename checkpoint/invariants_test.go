package checkpoint_test

import (
	"testing"
	"time"

	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// Every kind of fault, often.
var storm = storetest.Rates{
	Throttled: 0.1, Hung: 0.05, Lost: 0.15, Late: 0.15,
	Latency: 200 * time.Millisecond, After: 8 * time.Second, Outage: 5, OutageRate: 0.02,
}

func TestC1_DurableNeverPassesAnOutstandingTicket(t *testing.T) {
	runWorld(t, 1, storm, "hold", "ackAgain", "ackLater", "nack", "discard", "flush", "crash")
}

func TestC2_DurableNeverGoesBack(t *testing.T) {
	runWorld(t, 2, storetest.Rates{Lost: 0.25, Late: 0.35, Latency: time.Second, After: 20 * time.Second},
		"ackLater", "flush", "cut", "heal", "release", "crash")
}

func TestC3_ANewerClaimFencesTheOlder(t *testing.T) {
	runWorld(t, 3, storm, "open", "flush", "cut", "heal", "abandon", "release", "ackLater")
}

func TestC4_CompleteOnlyWhenSettledAndForEver(t *testing.T) {
	runWorld(t, 2, storm, "seal", "nack", "discard", "hold", "ackLater", "crash", "flush", "drain")
}

func TestC5_PersistedOnlyAfterTheStoreSaidSo(t *testing.T) {
	runWorld(t, 1, storetest.Rates{Throttled: 0.5, Hung: 0.1, Lost: 0.2, Latency: time.Second},
		"seal", "ackLater", "flush", "drain", "close", "cut", "heal")
}

func TestC6_NilMeansDurable(t *testing.T) {
	runWorld(t, 2, storm, "seal", "hold", "ackLater", "flush", "drain", "close", "release", "cut", "heal")
}

func TestC7_ADeadStoreDelaysNobody(t *testing.T) {
	runWorld(t, 2, storetest.Rates{Throttled: 0.3, Hung: 0.7},
		"ackLater", "discard", "flush", "drain", "close", "abandon")
}
