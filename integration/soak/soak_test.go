//go:build integration

package main

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSmoke is the whole soak, short.
func TestSmoke(t *testing.T) {
	var log, out bytes.Buffer
	r, err := run(t.Context(), config{minutes: 0.3, rate: 4000, seed: uint64(time.Now().UnixNano()) % 1_000_000, dir: t.TempDir()}, &log)
	require.NoError(t, err, "%s", log.String())
	r.print(&out)
	t.Logf("%s%s", log.String(), out.String())
	require.True(t, r.ok())
	require.Regexp(t, regexp.MustCompile(`^soak: minutes 0\.3 items [1-9]\d* changes [1-9]\d* kills [1-9]\d* faults [1-9]\d* lost 0 regressions 0 fds (flat|unknown) memory (flat|unknown)\n$`), out.String())
}
