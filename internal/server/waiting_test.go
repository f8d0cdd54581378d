package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/node"
)

// Nodes that wait for a cluster say so to SQL clients. Once one of them has founded it, it
// tells which of the others do not serve yet.
func TestWaitingNodes(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		const addr, joined = "127.0.0.1:101", "127.0.0.1:102"
		listening := func(addr string, join ...string) *Node {
			cfg := c.config()
			cfg.Stores, cfg.ListenAddr, cfg.Join = config.Dirs("n"), addr, join
			return c.listening(cfg, fs.NewMem())
		}
		first, second := listening(addr, addr, joined, "127.0.0.1:1"), listening(joined, addr)

		refused := func(n *Node, want string) {
			t.Helper()
			cfg, err := pgx.ParseConfig("postgres://root@" + n.Addr().String() + "/defaultdb?sslmode=disable")
			if err != nil {
				t.Fatal(err)
			}
			cfg.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) { return c.clients.Dial(ctx, addr) }
			_, err = pgx.ConnectConfig(c.ctx, cfg)
			var answer *pgconn.PgError
			if !errors.As(err, &answer) || answer.Code != "57P03" || answer.Message != want {
				t.Errorf("%v, want 57P03, %s", err, want)
			}
		}
		refused(second, "the node is not part of a cluster yet")
		if err := first.Init(); err != nil {
			t.Fatal(err)
		}
		refused(first, "the node is starting up")
		c.start(first)
		awaited := func() (a node.Awaited) {
			t.Helper()
			p, err := first.RPC.CallAddr(c.ctx, addr, node.MethodAwaited, nil)
			if err == nil {
				err = json.Unmarshal(p, &a)
			}
			if err != nil {
				t.Error(err)
			}
			return a
		}
		if a := awaited(); !slices.Equal(a.Serving, []string{addr}) || !slices.Equal(a.Starting, []string{joined}) {
			t.Errorf("before the second node has joined: %+v", a)
		}
		c.start(second)
		awaited = func() (a node.Awaited) {
			t.Helper()
			p, err := first.RPC.CallAddr(c.ctx, addr, node.MethodAwaited, nil)
			if err == nil {
				err = json.Unmarshal(p, &a)
			}
			if err != nil {
				t.Error(err)
			}
			return a
		}
		if a := awaited(); !slices.Equal(a.Serving, []string{addr, joined}) || len(a.Starting) > 0 {
			t.Errorf("with the second node: %+v", a)
		}
	})
}
