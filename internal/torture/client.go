package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/check"
)

// opTimeout bounds one operation: then its client takes its outcome to be unknown and
// connects anew.
const opTimeout = 25 * time.Second

// client is one connection's worth of load on one gateway.
type client struct {
	id   int
	load string // what it does, for people
	node *Node
	rng  *rand.Rand
	conn *pgconn.PgConn
	tell func(class string, err error) // hears of every error
	// inTxn says that the error was met by a transaction of several statements.
	inTxn bool
	// balancer, if not nil, picks the node to connect to, as a load balancer does.
	balancer func(*rand.Rand) *Node
}

// connect opens the connection if there is none.
func (c *client) connect(ctx context.Context) error {
	if c.conn != nil && !c.conn.IsClosed() {
		return nil
	}
	if c.balancer != nil {
		c.node = c.balancer(c.rng)
	}
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	var err error
	c.conn, err = pgconn.Connect(ctx, c.node.URL())
	if err != nil {
		c.conn = nil
	}
	return err
}

func (c *client) close() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.conn.Close(ctx)
		c.conn = nil
	}
}

// exec runs statements and returns the rows of the last one.
func (c *client) exec(sql string) ([][]string, string, error) {
	// The end of the load does not interrupt an operation: its outcome would be lost.
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	results, err := c.conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, "", err
	}
	last := results[len(results)-1]
	rows := make([][]string, len(last.Rows))
	for i, r := range last.Rows {
		for _, v := range r {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, last.CommandTag.String(), nil
}

// outcome says what an error means for the write, or the commit, that it answers.
func outcome(err error) check.Outcome {
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return check.OK
	case errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01"):
		return check.Failed // rolled back, it says
	}
	return check.Unknown
}

// failed takes note of an error and makes the connection usable again.
func (c *client) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		kind := class(err)
		if kind == "40001" && c.inTxn {
			kind += " in a transaction"
		}
		c.tell(kind, fmt.Errorf("%s: %w", c.load, err))
	}
	var pe *pgconn.PgError
	if c.conn == nil || c.conn.IsClosed() || !errors.As(err, &pe) || strings.HasPrefix(pe.Code, "57P0") && pe.Severity == "FATAL" {
		c.close()
		return
	}
	if c.conn.TxStatus() != 'I' {
		if _, _, err := c.exec("ROLLBACK"); err != nil {
			c.close()
		}
	}
}

// class is an error as reports count it.
func class(err error) string {
	var pe *pgconn.PgError
	var ce *pgconn.ConnectError
	switch {
	case errors.As(err, &pe):
		return pe.Code
	case errors.As(err, &ce):
		return "cannot connect"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case pgconn.SafeToRetry(err):
		return "connection closed before"
	}
	return "connection lost"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
