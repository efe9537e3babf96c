//go:build integration

package stores_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// lossy is a proxy before a server whose answers can be lost after the server
// applied the request, and whose requests can arrive late.
type lossy struct {
	server *httptest.Server
	target string

	mu    sync.Mutex
	calls map[string]int
	lose  map[string]int           // answers still to be lost
	hold  map[string]chan struct{} // the next request waits for it
}

func newLossy(t *testing.T, target string) *lossy {
	t.Helper()
	p := &lossy{target: target, calls: map[string]int{}, lose: map[string]int{}, hold: map[string]chan struct{}{}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

// Lose cuts the connection of the next n requests of op once they were applied.
func (p *lossy) Lose(op string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose[op] = n
}

// Hold makes the next request of op wait until the returned function is called.
func (p *lossy) Hold(op string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.hold[op] = gate
	return sync.OnceFunc(func() { close(gate) })
}

// Calls counts the requests of op so far.
func (p *lossy) Calls(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[op]
}

func (p *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.mu.Lock()
	p.calls[op]++
	gate := p.hold[op]
	delete(p.hold, op)
	lose := p.lose[op] > 0
	if lose {
		p.lose[op]--
	}
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	// Not the request's context: a request on the wire is applied though its
	// caller has gone.
	req, err := http.NewRequest(r.Method, p.target, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header.Clone()
	req.Host = r.Host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	if lose {
		io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}
