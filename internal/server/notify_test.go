package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/keys"
)

// TestNotifications: sessions on all nodes write rows and send notifications of them, in one transaction each. The
// queue's range is split and a node is cut off meanwhile. Listeners on the other nodes get a notification for each
// row that is there in the end, once, and in the same order.
func TestNotifications(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		one := c.connect(first)
		c.exec(one, "CREATE TABLE log (id INT PRIMARY KEY)")
		c.exec(one, "ALTER TABLE log SPLIT AT VALUES (100000), (200000)")
		c.awaitVoters(first, second, third)
		a, b := newHearing(c, first), newHearing(c, second)
		var senders sync.WaitGroup
		var mu sync.Mutex
		sent := 0
		ctx, cut := context.WithCancel(c.ctx) // of clients of the third node, who hear nothing once it is cut off
		defer cut()
		for i, n := range []*Node{first, second, third, first, second, third} {
			conn := c.connect(n)
			ctx := ctx
			if n != third {
				ctx = c.ctx
			}
			senders.Go(func() {
				for k := range 60 {
					err := send(ctx, conn, i*50000+k)
					mu.Lock()
					sent++
					mu.Unlock()
					if err != nil && n != third && !expected(err) {
						t.Error(err)
					}
					if err != nil && n == third && conn.IsClosed() {
						return
					}
				}
			})
		}
		after := func(n int) {
			c.until(fmt.Sprint(n, " transactions"), func() (bool, string) {
				mu.Lock()
				defer mu.Unlock()
				return sent >= n, fmt.Sprint(sent)
			})
		}
		after(60)
		span := keys.NotificationSpan()
		if err := first.KV.Admin.SplitAt(c.ctx, span.Start); err != nil {
			t.Error(err)
		}
		for _, n := range []*Node{first, second, third} { // between the slots of two nodes
			if err := first.KV.Admin.SplitAt(c.ctx, keys.Notification(uint64(n.NodeID()), 0, 0)); err != nil {
				t.Error(err)
			}
		}
		after(150)
		c.isolate(third)
		cut()
		senders.Wait()
		c.exec(one, "NOTIFY c, 'end'")
		heardA, heardB := a.all(), b.all()
		if !slices.Equal(heardA, heardB) {
			t.Errorf("one listener got %v, another %v", heardA, heardB)
		}
		var rows []int
		found, err := one.Query(c.ctx, "SELECT id FROM log ORDER BY id")
		if err == nil {
			rows, err = pgx.CollectRows(found, pgx.RowTo[int])
		}
		got := slices.Sorted(slices.Values(heardA))
		if err != nil || !slices.Equal(rows, got) {
			t.Errorf("%d rows, %d notifications, %v: %v and %v", len(rows), len(got), err, rows, got)
		}
		last := map[int]int{}
		for _, id := range heardA {
			if id < last[id/50000] {
				t.Errorf("%d comes after %d of the same session", id, last[id/50000])
			}
			last[id/50000] = id
		}
		t.Logf("%d notifications", len(heardA))
	})
}

// send writes a row and sends a notification of it.
func send(ctx context.Context, conn *pgx.Conn, id int) error {
	for {
		_, err := conn.Exec(ctx, fmt.Sprintf("BEGIN; INSERT INTO log VALUES (%d); NOTIFY c, '%d'; COMMIT", id, id))
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != "40001" {
			return err
		}
		if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
	}
}

// hearing is a session that listens.
type hearing struct {
	c    *testNodes
	conn *pgx.Conn
	done chan struct{}
	ids  []int
}

func newHearing(c *testNodes, n *Node) *hearing {
	h := &hearing{c: c, conn: c.connect(n), done: make(chan struct{})}
	c.exec(h.conn, "LISTEN c")
	go func() {
		defer close(h.done)
		for {
			n, err := h.conn.WaitForNotification(c.ctx)
			if err != nil {
				c.t.Error(err)
				return
			}
			id, err := strconv.Atoi(n.Payload)
			if err != nil {
				return
			}
			h.ids = append(h.ids, id)
		}
	}()
	return h
}

// all waits for the last notification.
func (h *hearing) all() []int {
	select {
	case <-h.done:
	case <-time.After(timeout):
		h.c.t.Fatal("the last notification does not come")
	}
	return h.ids
}
