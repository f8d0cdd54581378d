package server

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
)

// Nodes that wait for a cluster say so to SQL clients. Once one of them has founded it, it
// tells which of the others do not serve yet.
func TestWaitingNodes(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		cfg := c.config()
		cfg.Stores = config.Dirs("n")
		first := c.listening(cfg, fs.NewMem())
		addr := first.AdvertisedAddr()
		first.cfg.Join = []string{addr}
		second := c.add()
		joined := second.AdvertisedAddr()
		first.cfg.Join = append(first.cfg.Join, joined, "127.0.0.1:1")

		refused := func(n *Node, want string) {
			t.Helper()
			cfg, err := pgx.ParseConfig("postgres://root@" + n.Addr().String() + "/defaultdb?sslmode=disable")
			if err != nil {
				t.Fatal(err)
			}
			cfg.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) { return c.net.dial(ctx, addr) }
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
		first.sayNotYet()
		refused(first, "the node is starting up")
		c.start(first)
		if a := first.awaited(c.ctx); !slices.Equal(a.Serving, []string{addr}) || !slices.Equal(a.Starting, []string{joined}) {
			t.Errorf("before the second node has joined: %+v", a)
		}
		c.start(second)
		if a := first.awaited(c.ctx); !slices.Equal(a.Serving, []string{addr, joined}) || len(a.Starting) > 0 {
			t.Errorf("with the second node: %+v", a)
		}
	})
}
