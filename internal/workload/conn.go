package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// DefaultURL is where a workload runs unless told otherwise.
const DefaultURL = "postgresql://root@localhost:26257/defaultdb?sslmode=disable"

// MaxRetries bounds how often a statement is repeated because the server asked for
// it; after that it counts as failed.
const MaxRetries = 1000

// Target is the server that a workload runs against.
type Target struct {
	// URL is a PostgreSQL connection URL or key-value string; a JDBC URL does too.
	URL string
	// User and Password replace those of the URL unless they are empty.
	User, Password string
}

// Config parses the target.
func (t Target) Config() (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(strings.TrimPrefix(t.URL, "jdbc:"))
	if err != nil {
		return nil, err
	}
	if t.User != "" {
		c.User = t.User
	}
	if t.Password != "" {
		c.Password = t.Password
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "lichen workload"
	}
	return c, nil
}

// Conn is a connection with prepared statements.
type Conn struct {
	pg       *pgconn.PgConn
	prepared map[string]string // by statement text: its name
	retries  int64
}

// Connect opens a connection.
func Connect(ctx context.Context, t Target) (*Conn, error) {
	cfg, err := t.Config()
	if err != nil {
		return nil, err
	}
	pg, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Conn{pg: pg, prepared: map[string]string{}}, nil
}

// Close ends the connection.
func (c *Conn) Close(ctx context.Context) error { return c.pg.Close(ctx) }

// Lost reports whether the connection can't be used any more.
func (c *Conn) Lost() bool { return c.pg.IsClosed() }

// TakeRetries returns how often statements were repeated since it was last called.
func (c *Conn) TakeRetries() int64 {
	n := c.retries
	c.retries = 0
	return n
}

// Exec runs statements that take no parameters, in one simple query.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	_, err := c.pg.Exec(ctx, sql).ReadAll()
	return err
}

// Run runs a statement, which it prepares the first time it sees its text, and
// returns how many rows it returned or changed. visit, unless nil, gets every row;
// the values are valid only during the call.
func (c *Conn) Run(ctx context.Context, sql string, args [][]byte, visit func(values [][]byte)) (int64, error) {
	name, ok := c.prepared[sql]
	if !ok {
		name = fmt.Sprintf("w%d", len(c.prepared))
		if _, err := c.pg.Prepare(ctx, name, sql, nil); err != nil {
			return 0, err
		}
		c.prepared[sql] = name
	}
	return c.do(func() (int64, error) {
		rr := c.pg.ExecPrepared(ctx, name, args, nil, nil)
		rows := int64(0)
		for rr.NextRow() {
			rows++
			if visit != nil {
				visit(rr.Values())
			}
		}
		tag, err := rr.Close()
		if rows == 0 {
			rows = tag.RowsAffected()
		}
		return rows, err
	})
}

func (c *Conn) do(f func() (int64, error)) (int64, error) {
	for i := 0; ; i++ {
		n, err := f()
		if err == nil || !Retryable(err) || i == MaxRetries {
			return n, err
		}
		c.retries++
	}
}

// CopyFrom runs a COPY … FROM STDIN with the given text.
func (c *Conn) CopyFrom(ctx context.Context, sql, text string) (int64, error) {
	return c.do(func() (int64, error) {
		tag, err := c.pg.CopyFrom(ctx, strings.NewReader(text), sql)
		return tag.RowsAffected(), err
	})
}

// Retryable reports whether the server asks for the transaction to be repeated: a
// serialization failure or a deadlock.
func Retryable(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")
}
