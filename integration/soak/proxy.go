//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fault is what the proxy does to one call.
type fault int

const (
	none       fault = iota
	refuse           // an internal error, the server has not seen the request
	throttle         // as refuse, with the error that asks for patience
	cutBefore        // the connection ends, the server has not seen the request
	cutAfter         // the request is applied, the connection ends
	errorAfter       // the request is applied, the answer is an internal error
	half             // the request is applied, the answer ends in its middle
	emptied          // the request is applied, the answer is a success without a body
	late             // the connection ends, and the request is applied later, when newer ones were
	slowBefore
	slowAfter
	faults // how many there are
)

func (f fault) String() string {
	return [...]string{"none", "refuse", "throttle", "cut-before", "cut-after", "error-after", "half", "emptied", "late", "slow-before", "slow-after"}[f]
}

// proxy stands between the program and the server.
type proxy struct {
	url    string
	server string
	client *http.Client
	listen net.Listener
	http   *http.Server
	late   sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	on     bool
	outage [2]time.Time // the next, or the one that is
	count  [faults]int
}

// share is how many calls of a hundred meet a fault.
const share = 12

func startProxy(server string, random *rand.Rand) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		url: "http://" + l.Addr().String(), server: server, listen: l, random: random, on: true,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	p.plan(time.Now())
	p.http = &http.Server{Handler: p}
	go func() { _ = p.http.Serve(l) }()
	return p, nil
}

// close waits for the requests that are late.
func (p *proxy) close() {
	p.heal()
	_ = p.http.Close()
	p.late.Wait()
	p.client.CloseIdleConnections()
}

// heal ends all faults.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = false
}

func (p *proxy) total() (n int, kinds string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for f := refuse; f < faults; f++ {
		n += p.count[f]
		fmt.Fprintf(&b, " %s %d", f, p.count[f])
	}
	return n, b.String()
}

// call is a request as the faults are chosen by.
type call struct {
	stream    bool // of DynamoDB Streams
	operation string
	table     string
}

func parseCall(r *http.Request, body []byte) call {
	target := r.Header.Get("X-Amz-Target")
	version, operation, _ := strings.Cut(target, ".")
	var named struct{ TableName string }
	_ = json.Unmarshal(body, &named)
	return call{strings.HasPrefix(version, "DynamoDBStreams"), operation, named.TableName}
}

// plan the next outage of the checkpoint table.
func (p *proxy) plan(now time.Time) {
	from := now.Add(5*time.Second + time.Duration(p.random.IntN(15_000))*time.Millisecond)
	p.outage = [2]time.Time{from, from.Add(300*time.Millisecond + time.Duration(p.random.IntN(1500))*time.Millisecond)}
}

func (p *proxy) choose(c call, now time.Time) (f fault, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return none, 0
	}
	if now.After(p.outage[1]) {
		p.plan(now)
	}
	switch {
	case c.table == checkpointTable && now.After(p.outage[0]):
		f = []fault{refuse, throttle, cutBefore, cutAfter}[p.random.IntN(4)]
	case p.random.IntN(100) < share:
		f = refuse + fault(p.random.IntN(int(faults-refuse)))
	default:
		return none, 0
	}
	if f == late && c.operation != "UpdateItem" {
		f = cutBefore // a read that is late tells nobody anything
	}
	p.count[f]++
	longest := 600
	if f == late {
		longest = 3000
	}
	return f, 20*time.Millisecond + time.Duration(p.random.IntN(longest))*time.Millisecond
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut()
	}
	c := parseCall(r, body)
	if c.operation == "Scan" {
		time.Sleep(scanPace)
	}
	f, delay := p.choose(c, time.Now())
	switch f {
	case refuse:
		answer(w, http.StatusInternalServerError, "InternalServerError")
		return
	case throttle:
		name := "ProvisionedThroughputExceededException"
		if c.stream {
			name = "LimitExceededException"
		}
		answer(w, http.StatusBadRequest, name)
		return
	case cutBefore:
		cut()
	case late:
		p.late.Go(func() {
			time.Sleep(delay)
			if resp, _, err := p.forward(context.Background(), r, body); err == nil {
				_ = resp.Body.Close()
			}
		})
		cut()
	case slowBefore:
		time.Sleep(delay)
	}
	// Not with the request's context: a server does not forget a request
	// because its client is dead.
	resp, text, err := p.forward(context.WithoutCancel(r.Context()), r, body)
	if err != nil {
		cut()
	}
	switch f {
	case cutAfter:
		cut()
	case errorAfter:
		answer(w, http.StatusInternalServerError, "InternalServerError")
		return
	case slowAfter:
		time.Sleep(delay)
	}
	if f == emptied {
		w.WriteHeader(http.StatusOK)
		return
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	w.WriteHeader(resp.StatusCode)
	if f == half {
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
		cut()
	}
	_, _ = w.Write(text)
}

// scanPace makes the backfill last long enough to be killed in.
const scanPace = 100 * time.Millisecond

func (p *proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, []byte, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, p.server+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.Header = r.Header.Clone()
	resp, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, text, err
}

func answer(w http.ResponseWriter, status int, name string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected by soak"}`, name)
}

// cut ends the connection, whatever was answered so far.
func cut() { panic(http.ErrAbortHandler) }
