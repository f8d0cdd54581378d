package dataset

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/workload"
	"github.com/lichendb/lichen/internal/workload/measure"
)

// copyRows is how many rows go into one COPY.
const copyRows = 1000

// Table is a table with generated rows.
type Table struct {
	Name    string
	Columns string // in the order in which Row appends values
	Rows    int64
	Row     func(*Row)
}

// Set is a schema and its data.
type Set struct {
	// Schema makes the tables. Links makes what needs their rows first, such as foreign
	// keys between tables that refer to each other.
	Schema, Links string
	Tables        []Table // in an order in which they can be filled
}

// InitOptions say where and how a set is loaded.
type InitOptions struct {
	Target   workload.Target
	Drop     bool // drop the tables first
	Threads  int
	Seed     uint64
	Report   io.Writer     // the report in YCSB's format
	Progress io.Writer     // a line per table, and
	Every    time.Duration // one in this time while a table is loaded; 0 for none
}

// Init makes the tables and loads their rows.
func (s *Set) Init(ctx context.Context, o InitOptions) error {
	l := &loader{InitOptions: o}
	defer l.close(context.WithoutCancel(ctx))
	for range max(o.Threads, 1) {
		c, err := workload.Connect(ctx, o.Target)
		if err != nil {
			return err
		}
		l.conns = append(l.conns, c)
	}
	if o.Drop {
		if err := l.conns[0].Exec(ctx, "DROP TABLE IF EXISTS "+s.names()+" CASCADE"); err != nil {
			return err
		}
	}
	begun := time.Now()
	if err := l.conns[0].Exec(ctx, s.Schema); err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	for i := range s.Tables {
		if err := l.loadTable(ctx, &s.Tables[i]); err != nil {
			return fmt.Errorf("loading table %s: %w", s.Tables[i].Name, err)
		}
	}
	if s.Links != "" {
		if err := l.conns[0].Exec(ctx, s.Links); err != nil {
			return fmt.Errorf("linking the tables: %w", err)
		}
	}
	return l.set.Report(o.Report, l.loaded.Load(), time.Since(begun), []float64{95, 99})
}

func (s *Set) names() string {
	names := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// loader is one Init.
type loader struct {
	InitOptions
	conns  []*workload.Conn
	set    measure.Set
	loaded atomic.Int64

	mu    sync.Mutex
	shown time.Time // when the last line of progress was written
}

func (l *loader) close(ctx context.Context) {
	for _, c := range l.conns {
		c.Close(ctx) // nothing is lost: every COPY was acknowledged
	}
}

// loadTable fills a table. The first error ends all threads.
func (l *loader) loadTable(ctx context.Context, t *Table) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun, op := time.Now(), l.set.Operation("COPY "+t.Name)
	var taken, done atomic.Int64
	var wg sync.WaitGroup
	for _, c := range l.conns {
		wg.Go(func() {
			for ctx.Err() == nil {
				first := taken.Add(copyRows) - copyRows + 1
				if first > t.Rows {
					return
				}
				n := min(copyRows, t.Rows-first+1)
				if err := l.copyRows(ctx, c, op, t, first, n); err != nil {
					cancel(err)
					return
				}
				l.progress(t, done.Add(n))
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.loaded.Add(t.Rows)
	took := time.Since(begun)
	fmt.Fprintf(l.Progress, "%s: %d rows in %.1f s\n", t.Name, t.Rows, took.Seconds())
	return nil
}

func (l *loader) copyRows(ctx context.Context, c *workload.Conn, op *measure.Operation, t *Table, first, n int64) error {
	text := t.text(l.Seed, first, n)
	begun := time.Now()
	got, err := c.CopyFrom(ctx, "COPY "+t.Name+" ("+t.Columns+") FROM STDIN", text)
	if err == nil && got != n {
		err = fmt.Errorf("COPY of %d rows wrote %d", n, got)
	}
	status := "OK"
	if err != nil {
		status = "ERROR"
	}
	op.Record(time.Since(begun), status, err == nil)
	op.Retried(c.TakeRetries())
	return err
}

// text returns n rows as COPY reads them.
func (t *Table) text(seed uint64, first, n int64) string {
	var text []byte
	for i := first; i < first+n; i++ {
		r := newRow(text, seed, t.Name, i)
		t.Row(r)
		text = append(r.text, '\n')
	}
	return string(text)
}

func (l *loader) progress(t *Table, done int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.Every <= 0 || done == t.Rows || now.Sub(l.shown) < l.Every {
		return
	}
	l.shown = now
	fmt.Fprintf(l.Progress, "%s: %d of %d rows\n", t.Name, done, t.Rows)
}
