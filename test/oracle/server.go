package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
)

// serverCheck checks the oracle itself: where pg_query refuses a text, a server
// must refuse it with the SQLSTATE and position that we say PostgreSQL gives.
type serverCheck struct {
	conn   *pgconn.PgConn
	asked  int
	differ []string
}

func dialServer(url string) (*serverCheck, error) {
	conn, err := pgconn.Connect(context.Background(), url)
	return &serverCheck{conn: conn}, err
}

func (s *serverCheck) close() { s.conn.Close(context.Background()) }

// compare asks the server to prepare a text that pg_query refused.
func (s *serverCheck) compare(c comparison) error {
	if c.theirs.code == "" {
		return nil
	}
	s.asked++
	_, err := s.conn.Prepare(context.Background(), "", c.sql, nil)
	var e *pgconn.PgError
	if err != nil && !errors.As(err, &e) {
		return err
	}
	if e == nil {
		s.differ = append(s.differ, fmt.Sprintf("accepted: %q, not %s", c.sql, c.theirs))
		return nil
	}
	if said := (outcome{e.Code, e.Message, int(e.Position)}); said != c.theirs {
		s.differ = append(s.differ, fmt.Sprintf("%q: %s, not %s", c.sql, said, c.theirs))
	}
	return nil
}

func (s *serverCheck) print(w io.Writer) {
	fmt.Fprintf(w, "\nthe server was asked %d times and differs from pg_query %d times\n", s.asked, len(s.differ))
	for i, d := range s.differ {
		if i == 50 {
			break
		}
		fmt.Fprintln(w, "  ", d)
	}
}
