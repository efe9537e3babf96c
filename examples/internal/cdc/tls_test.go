package cdc

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"testing"
)

// TestTLSUnlessTheEndpointSaysOtherwise: without -endpoint, what the program asks
// a proxy for is a tunnel to port 443, never a request in the clear.
func TestTLSUnlessTheEndpointSaysOtherwise(t *testing.T) {
	awsEnv(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	var proxy sync.WaitGroup
	proxy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				asked = append(asked, r.Method+" "+r.Host)
			}
			_, _ = c.Write([]byte("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"))
			c.Close()
		}
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+l.Addr().String())
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	p := launch(t, "-table", "orders", "-pipeline", "p")
	if code := p.code(t); code != exitInput {
		t.Errorf("exit %d: %s", code, p.said())
	}
	l.Close()
	proxy.Wait()
	if len(asked) == 0 {
		t.Fatalf("it asked for nothing; it said %s", p.said())
	}
	for _, a := range asked {
		if a != "CONNECT dynamodb.us-east-1.amazonaws.com:443" {
			t.Errorf("it asked for %q", a)
		}
	}
}
