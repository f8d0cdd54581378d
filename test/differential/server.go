package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// statementLimit is how long a statement may take before its database counts as
// stuck.
const statementLimit = time.Minute

// server is a database under test.
type server struct {
	name, url string
	conn      *pgconn.PgConn
	made      func(sql string) answer // a test's answers, instead of a database's
	notices   []string                // since the last statement began
}

// column is what a database says of a result's column.
type column struct {
	name   string
	oid    uint32
	typmod int32
}

// answer is all that is compared about a statement.
type answer struct {
	code, message string // of the error, empty if there was none
	context       string // of the error: in which routines it came up
	notices       []string
	columns       []column
	rows          []string
	tag           string
}

// settings are those on which results depend. They come with the connection, so that RESET
// goes back to them.
var settings = map[string]string{
	"timezone": "UTC", "datestyle": "ISO, MDY", "intervalstyle": "postgres", "extra_float_digits": "1",
	"search_path": "diff, public", "statement_timeout": "10s", "client_min_messages": "error", "bytea_output": "hex",
	"default_transaction_isolation": "repeatable read", "work_mem": "4MB",
}

func (s *server) connect(ctx context.Context) error {
	cfg, err := pgconn.ParseConfig(s.url)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	maps.Copy(cfg.RuntimeParams, settings)
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		s.notices = append(s.notices, n.Severity+" "+n.Code+": "+n.Message+n.Detail+n.Hint)
	}
	if s.conn, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// ask runs one statement. A lost connection is an answer too, with code "lost".
func (s *server) ask(ctx context.Context, sql string) answer {
	if s.made != nil {
		return s.made(sql)
	}
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	s.notices = nil
	r := s.conn.ExecParams(ctx, sql, nil, nil, nil, nil)
	var a answer
	for _, f := range r.FieldDescriptions() {
		a.columns = append(a.columns, column{f.Name, f.DataTypeOID, f.TypeModifier})
	}
	for r.NextRow() {
		a.rows = append(a.rows, rowText(r.Values()))
	}
	tag, err := r.Close()
	a.tag = tag.String()
	if err != nil {
		a = answer{}
		var e *pgconn.PgError
		if errors.As(err, &e) {
			a.code, a.message, a.context = e.Code, e.Message, e.Where
		} else {
			a.code, a.message = "lost", err.Error()
		}
	}
	a.notices = s.notices
	return a
}

// rowText writes a row so that rows differ where their texts do.
func rowText(values [][]byte) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(" | ")
		}
		if v == nil {
			b.WriteString("NULL")
		} else {
			fmt.Fprintf(&b, "%q", v)
		}
	}
	return b.String()
}

// revive connects anew after a lost connection.
func (s *server) revive(ctx context.Context) error {
	if !s.conn.IsClosed() {
		return nil
	}
	return s.connect(ctx)
}
