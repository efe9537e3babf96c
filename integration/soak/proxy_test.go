//go:build integration

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProxyDoesWhatItSays calls until every fault was met, and compares what the
// caller sees with what the server saw.
func TestProxyDoesWhatItSays(t *testing.T) {
	var applied atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		applied.Add(1)
		fmt.Fprint(w, `{"answer":"whole"}`)
	}))
	defer server.Close()
	p, err := startProxy(server.URL, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	defer p.close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // else it repeats what was cut
	count := func() [faults]int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.count
	}
	met := map[fault]bool{}
	for calls := 0; len(met) < int(faults)-1; calls++ {
		require.Less(t, calls, 2000)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, bytes.NewReader([]byte(`{"TableName":"a"}`)))
		require.NoError(t, err)
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.UpdateItem")
		before, seen := count(), applied.Load()
		began := time.Now()
		status, whole := 0, false
		if resp, err := client.Do(r); err == nil {
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			status, whole = resp.StatusCode, err == nil && string(text) == `{"answer":"whole"}`
		}
		f, after := none, count()
		for k := range faults {
			if after[k] > before[k] {
				f = k
			}
		}
		met[f] = met[f] || f != none
		if f == none {
			delete(met, none)
		}
		switch f {
		case refuse, errorAfter:
			require.Equal(t, http.StatusInternalServerError, status, "%s", f)
		case throttle:
			require.Equal(t, http.StatusBadRequest, status)
		case cutBefore, cutAfter, late:
			require.Zero(t, status, "%s", f)
		case half:
			require.False(t, whole)
		case emptied:
			require.Equal(t, http.StatusOK, status)
			require.False(t, whole)
		default:
			require.True(t, whole, "%s", f)
		}
		if f == slowBefore || f == slowAfter {
			require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
		}
		if f == late {
			p.late.Wait() // it does arrive
		}
		want := seen + 1
		if f == refuse || f == throttle || f == cutBefore {
			want = seen
		}
		require.Equal(t, want, applied.Load(), "%s", f)
	}
	p.heal()
	before := count()
	for range 50 {
		resp, err := client.Post(p.url, "", nil)
		require.NoError(t, err)
		resp.Body.Close()
	}
	require.Equal(t, before, count(), "a healed proxy is a mere proxy")
}

// TestOutage: for a while every call to the checkpoint table fails, and others
// do not notice.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{on: true, random: rand.New(rand.NewPCG(1, 2))}
		p.plan(time.Now())
		time.Sleep(time.Until(p.outage[0]) + time.Millisecond)
		others := 0
		for range 100 {
			f, _ := p.choose(call{operation: "UpdateItem", table: checkpointTable}, time.Now())
			require.NotEqual(t, none, f)
			if f, _ := p.choose(call{operation: "Scan", table: tableName}, time.Now()); f != none {
				others++
			}
		}
		require.Less(t, others, 50)
		time.Sleep(2 * time.Second)
		sound := 0
		for range 100 {
			if f, _ := p.choose(call{operation: "UpdateItem", table: checkpointTable}, time.Now()); f == none {
				sound++
			}
		}
		require.Greater(t, sound, 50)
	})
}
