//go:build integration

package servers_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
)

// child makes the test binary a program that starts a server and is killed.
const child = "SERVERS_TEST_CHILD"

func TestMain(m *testing.M) {
	name := os.Getenv(child)
	if name == "" {
		os.Exit(m.Run())
	}
	for _, s := range servers.All() {
		if s.Name == name {
			server, err := s.Start(context.Background())
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(server.URL)
			select {}
		}
	}
}

// A test that is killed leaves no server behind.
func TestServersEndWithTheirStarter(t *testing.T) {
	for _, name := range []string{"moto", "dynalite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), child+"="+name)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			defer cmd.Wait()
			defer cmd.Process.Kill()
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			u, err := url.Parse(strings.TrimSpace(line))
			require.NoError(t, err)
			conn, err := net.Dial("tcp", u.Host)
			require.NoError(t, err)
			conn.Close()

			require.NoError(t, cmd.Process.Kill())
			require.Eventually(t, func() bool {
				conn, err := net.Dial("tcp", u.Host)
				if err == nil {
					conn.Close()
				}
				return err != nil
			}, 30*time.Second, 50*time.Millisecond)
		})
	}
}
