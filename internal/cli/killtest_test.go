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
	ripe   func() error // returns when there is enough to damage
	damage func()
	ln     net.Listener
	mu     sync.Mutex
	conns  []net.Conn
	killed bool
}

func startCutOff(target string, ripe func() error, damage func()) (*cutOff, error) {
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
	c := &cutOff{url: u.String(), target: target, ripe: ripe, damage: damage, ln: ln}
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
			if c.killed { // after it was accepted
				in.Close()
				out.Close()
			}
			c.mu.Unlock()
			go func() { _, _ = io.Copy(out, in); out.Close() }() // ends when either side is closed
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	return c, nil
}

func (c *cutOff) URL() (string, error) { return c.url, nil }

func (c *cutOff) Kill() error {
	if err := c.ripe(); err != nil {
		return err
	}
	err := c.ln.Close()
	c.mu.Lock()
	c.killed = true
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
	return awaitTrue(url, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
}

// awaitLedger waits until the first writers of each kind have written enough that every
// damage shows, however slow the machine is.
func awaitLedger(url string) error {
	return awaitTrue(url, "SELECT count(*) = 2 FROM (SELECT writer FROM kill_ledger WHERE writer IN (0, 1) GROUP BY writer HAVING max(seq) >= 3) w")
}

// awaitTrue asks a server until it says yes.
func awaitTrue(url, question string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for yes := false; !yes; {
		if err := conn.QueryRow(ctx, question).Scan(&yes); err != nil {
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
		{"UPDATE kill_accounts SET balance = balance + 1 WHERE id = (SELECT min(account) FROM kill_ledger)", "balances differ from the ledger"},
		{"UPDATE kill_progress SET seq = seq + 1", "its progress says"},
	} {
		target := node(t)
		ripe := sync.OnceValue(func() error { return awaitLedger(target) })
		damage := func() {
			if tc.damage != "" {
				want(t, "sql", "--url", target, "-e", tc.damage)
			}
		}
		res, err := killtest.Run(context.Background(), killtest.Options{
			Start: func() (killtest.Server, error) { return startCutOff(target, ripe, damage) },
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
