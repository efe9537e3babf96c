package checkpoint_test

import (
	"testing"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

func TestMemory_KeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) checkpoint.Store { return checkpoint.NewMemory() })
}
