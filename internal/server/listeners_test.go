package server

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
)

// A start-up packet of a wrong length is refused when its length has come: a client that sends
// nothing else does not keep its connection until the time for saying who it is has passed.
func TestWrongStartupLength(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		for _, length := range []uint32{0, 4, 7, 10_001, 1 << 31} {
			server, client := net.Pipe()
			go n.serveConn(server)
			if err := client.SetDeadline(time.Now().Add(sniffTimeout / 2)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Write(binary.BigEndian.AppendUint32(nil, length)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(client)
			if err != nil || !strings.Contains(string(got), "invalid length of startup packet") {
				t.Errorf("length %d: %q, %v", length, got, err)
			}
		}
	})
}
