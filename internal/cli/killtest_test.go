package cli_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/workload/killtest"
)

// cutOff stands for a server: a proxy whose kill cuts the connections off and then
// lets a test damage the data.
type cutOff struct {
	url    string
	target string
	damage func()
	ln     net.Listener
	mu     sync.Mutex
	conns  []net.Conn
}

func startCutOff(target string, damage func()) (*cutOff, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	back := u.Host
	u.Host = ln.Addr().String()
	c := &cutOff{url: u.String(), target: target, damage: damage, ln: ln}
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", back)
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, in, out)
			c.mu.Unlock()
			go func() { _, _ = io.Copy(out, in); out.Close() }() // ends when either side is closed
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	return c, nil
}

func (c *cutOff) URL() (string, error) { return c.url, nil }

func (c *cutOff) Kill() error {
	err := c.ln.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	if err != nil {
		return nil // it was killed before
	}
	// A killed server does nothing any more; the one behind the proxy goes on with
	// what it had begun, until it notices that its clients are gone.
	if err := awaitAlone(c.target); err != nil {
		return err
	}
	if c.damage != nil {
		c.damage()
	}
	return nil
}

// awaitAlone waits until a server has no session but this one.
func awaitAlone(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for others := 1; others > 0; {
		err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()").Scan(&others)
		if err != nil {
			return err
		}
	}
	return nil
}

// TestKillTestFinds: the kill test passes when nothing is lost and finds each kind of
// damage.
func TestKillTestFinds(t *testing.T) {
	for _, tc := range []struct{ damage, want string }{
		{"", ""},
		{"DELETE FROM kill_ledger WHERE writer = 1 AND seq = (SELECT max(seq) FROM kill_ledger WHERE writer = 1) OR writer = 1 AND seq = (SELECT max(seq) - 1 FROM kill_ledger WHERE writer = 1)",
			"was acknowledged, the last one there is"},
		{"DELETE FROM kill_ledger WHERE writer = 0 AND seq = 1", "some are missing"},
		{"DELETE FROM kill_ledger WHERE writer = 1 AND seq = 2 AND part = 1", "half there"},
		{"UPDATE kill_accounts SET balance = balance + 1 WHERE id = 7", "balances differ from the ledger"},
		{"UPDATE kill_progress SET seq = seq + 1", "its progress says"},
	} {
		target := node(t)
		damage := func() {
			if tc.damage != "" {
				want(t, "sql", "--url", target, "-e", tc.damage)
			}
		}
		res, err := killtest.Run(context.Background(), killtest.Options{
			Start: func() (killtest.Server, error) { return startCutOff(target, damage) },
			Kills: 2, Writers: 4, MinLoad: 60 * time.Millisecond, MaxLoad: 80 * time.Millisecond, Seed: 1, Progress: io.Discard,
		})
		switch {
		case tc.want == "" && (err != nil || res.Kills != 2 || res.Acknowledged == 0):
			t.Errorf("no damage: %v, %+v", err, res)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", tc.damage, err, tc.want)
		}
	}
}
