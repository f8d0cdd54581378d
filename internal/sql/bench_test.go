package sql_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// discard drops results: what a benchmark of the layers below the connection uses.
type discard struct{ n, mark int }

func (d *discard) Mark()                                    { d.mark = d.n }
func (d *discard) Rewind() bool                             { d.n = d.mark; return true }
func (d *discard) Columns([]plan.Column) error              { return nil }
func (d *discard) Row([]types.Datum) error                  { d.n++; return nil }
func (d *discard) Complete(string) error                    { return nil }
func (d *discard) Empty() error                             { return nil }
func (d *discard) Notice(string, *pgerr.Error)              {}
func (d *discard) CopyOut(int, bool) error                  { return nil }
func (d *discard) CopyData([]byte) error                    { return nil }
func (d *discard) CopyDone() error                          { return nil }
func (d *discard) CopyIn(int, bool) (sql.CopySource, error) { return nil, fmt.Errorf("no input") }

func benchSession(b *testing.B, rows int) *sql.Session {
	b.Helper()
	n := newNode(b, fs.NewMem())
	s := n.session(b)
	b.Cleanup(func() {
		s.Close()
		if err := n.close(); err != nil {
			b.Error(err)
		}
	})
	ctx := context.Background()
	run := func(text string) {
		if err := s.Query(ctx, text, &discard{}); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
	run("CREATE TABLE accounts (aid INT PRIMARY KEY, bid INT, abalance INT, filler CHAR(84))")
	run(fmt.Sprintf("INSERT INTO accounts SELECT g, 1, 0, '' FROM generate_series(1, %d) AS g", rows))
	return s
}

func benchPrepared(b *testing.B, s *sql.Session, text string, params func(i int) []types.Datum) {
	b.Helper()
	ctx := context.Background()
	p, err := s.Prepare(ctx, "p", text, nil, &discard{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Sync(ctx); err != nil {
		b.Fatal(err)
	}
	res := &discard{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		portal, err := s.Bind(ctx, "", p, params(i))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Execute(ctx, portal, 0, true, res); err != nil {
			b.Fatal(err)
		}
		if err := s.Sync(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPointSelect(b *testing.B) {
	s := benchSession(b, 10000)
	args := make([]types.Datum, 1)
	benchPrepared(b, s, "SELECT abalance FROM accounts WHERE aid = $1", func(i int) []types.Datum {
		args[0] = types.NewInt(int64(i*7919%10000) + 1)
		return args
	})
}

func BenchmarkPointUpdate(b *testing.B) {
	s := benchSession(b, 10000)
	args := make([]types.Datum, 2)
	benchPrepared(b, s, "UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2", func(i int) []types.Datum {
		args[0], args[1] = types.NewInt(1), types.NewInt(int64(i*7919%10000)+1)
		return args
	})
}

func BenchmarkRange100(b *testing.B) {
	s := benchSession(b, 10000)
	args := make([]types.Datum, 2)
	benchPrepared(b, s, "SELECT filler FROM accounts WHERE aid BETWEEN $1 AND $2", func(i int) []types.Datum {
		from := int64(i * 7919 % 9900)
		args[0], args[1] = types.NewInt(from), types.NewInt(from+99)
		return args
	})
}
