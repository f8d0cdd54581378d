package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// schemaTable is the table whose descriptor changes.
	schemaTable = "a"
	// schemaRows is how many rows are written; which database they seem to be of has
	// nothing to do with the table.
	schemaRows = 8
	// gatewayPause is the pause between two attempts to make the table.
	gatewayPause = 200 * time.Millisecond
)

// schemas changes a table's descriptor on all nodes while rows are written under what
// each gateway has cached of it. The length of the table's comment is its version, and
// each row says under which it was written.
type schemas struct {
	c *cluster

	mu       sync.Mutex
	changes  map[int64]check.Op // acknowledged, by version
	returned int64              // the newest version whose change has returned
}

func newSchemas() *schemas {
	return &schemas{changes: map[int64]check.Op{}}
}

func schemaRow(i int) string { return string(append(keys.DatabasePrefix(900), byte('a'+i))) }

func (w *schemas) keys() keys.Span { return prefix(string(keys.DatabasePrefix(900))) }

func (w *schemas) points() (keys []string) {
	for i := range schemaRows {
		keys = append(keys, schemaRow(i))
	}
	return keys
}

func (w *schemas) initial() map[string]string {
	m := map[string]string{}
	for i := range schemaRows {
		m[schemaRow(i)] = fmt.Sprintf("0/0-%d", i)
	}
	return m
}

// prepare has the nodes serve SQL: that makes each of their incarnations a gateway.
func (w *schemas) prepare(c *cluster) { w.c, c.sql = c, true }

// gateway returns the catalog of an incarnation, nil before it is a gateway.
func (w *schemas) gateway(inc *incarnation) *catalog.Store {
	if inc.sql.Server() == nil {
		return nil
	}
	return inc.sql.Catalog()
}

type searchPath []string

func (p searchPath) SearchPathSetting() []string { return p }

// begin makes the table.
func (w *schemas) begin() {
	ctx := context.Background()
	var last error
	for range 100 {
		<-time.After(gatewayPause)
		cat := w.gateway(w.c.nodes[0].current())
		if cat == nil {
			continue
		}
		c, err := w.session(ctx, cat)
		if err != nil {
			last = err
			continue
		}
		t := cat.DB().Begin(kv.TxnOptions{})
		t.BeginStatement()
		c.Begin(t)
		c.BeginStatement()
		if last = makeTable(ctx, c); last == nil {
			last = commitSchema(ctx, c, t)
		}
		if last != nil {
			t.Rollback(ctx)
			c.RolledBack(ctx)
		}
		c.Close()
		if last == nil {
			return
		}
	}
	w.c.t.Fatalf("the table can't be made: %v", last)
}

func (w *schemas) session(ctx context.Context, cat *catalog.Store) (*catalog.Collection, error) {
	db, err := cat.DatabaseByName(ctx, "defaultdb")
	if err != nil {
		return nil, err
	}
	c := cat.NewCollection()
	c.SetSession(db, searchPath{"public"})
	return c, nil
}

func makeTable(ctx context.Context, c *catalog.Collection) error {
	schema, err := c.FindSchema(ctx, "public")
	if err != nil {
		return err
	}
	t := &catalog.Table{
		Name: schemaTable, Owner: catalog.RootOid, Kind: catalog.KindTable, NextColumnID: 2, NextIndexID: 2, NextAttnum: 2,
		Columns:  []catalog.Column{{ID: 1, Attnum: 1, Name: "a", Type: types.Int4, NotNull: true}},
		Indexes:  []catalog.Index{{ID: 1, Name: schemaTable + "_pkey", Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}}},
		Database: schema.Database, Schema: schema.ID,
	}
	if t.ID, err = c.NewID(ctx); err != nil {
		return err
	}
	if t.Oid, err = c.NewOid(ctx); err != nil {
		return err
	}
	name := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.Name}
	if taken, err := c.AddName(ctx, name, catalog.NameEntry{ID: t.ID}); err != nil || taken {
		return errors.Join(err, errors.New("the name is taken"))
	}
	return c.Put(ctx, t)
}

// commitSchema commits as a session does.
func commitSchema(ctx context.Context, c *catalog.Collection, t *kv.Txn) error {
	if err := c.PreCommit(ctx); err != nil {
		return err
	}
	t.Renew = c.CommitDeadline
	if err := t.Commit(ctx); err != nil {
		return err
	}
	c.Committed(ctx)
	return nil
}

func (w *schemas) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	cat := w.gateway(inc)
	if cat == nil {
		return
	}
	c, err := w.session(ctx, cat)
	if err != nil {
		return
	}
	defer c.Close()
	t := inc.db.Begin(kv.TxnOptions{Isolation: []kv.Isolation{kv.Serializable, kv.RepeatableRead, kv.ReadCommitted}[rng.IntN(3)]})
	t.BeginStatement()
	c.Begin(t)
	c.BeginStatement()
	if rng.IntN(6) == 0 {
		w.change(ctx, s, client, inc, c, t)
		return
	}
	w.write(ctx, s, client, inc, c, t, rng)
}

func version(tab *catalog.Table) int64 { return int64(len(tab.Comment)) }

// write writes a row under the cached descriptor.
func (w *schemas) write(ctx context.Context, s *simulation, client int, inc *incarnation, c *catalog.Collection, t *kv.Txn, rng *rand.Rand) {
	p := s.h.Begin(check.Op{Client: client, Kind: "row"})
	w.mu.Lock()
	floor := w.returned
	w.mu.Unlock()
	row := schemaRow(rng.IntN(schemaRows))
	err := func() error {
		tab, _, err := c.FindRelation(ctx, "", "", schemaTable)
		if err != nil {
			return err
		}
		if version(tab) < floor {
			s.fail(fmt.Errorf("node %d uses version %d of the table after the change to %d had returned", inc.node.id, version(tab), floor))
		}
		if rng.IntN(2) == 0 {
			<-time.After(time.Duration(rng.Int64N(int64(2 * opPause))))
		}
		write := check.Access{Key: row, Value: fmt.Sprintf("%d/%d", version(tab), s.unique())}
		if err := put(ctx, t, &p.Op, write); err != nil {
			return err
		}
		return commitSchema(ctx, c, t)
	}()
	w.done(ctx, s, p, inc, c, t, err)
}

// change makes the next version of the table.
func (w *schemas) change(ctx context.Context, s *simulation, client int, inc *incarnation, c *catalog.Collection, t *kv.Txn) {
	p := s.h.Begin(check.Op{Client: client, Kind: "schema"})
	var made int64
	err := func() error {
		tab, _, err := c.FindRelation(ctx, "", "", schemaTable)
		if err != nil {
			return err
		}
		if err := c.LockExclusive(ctx, tab.ID); err != nil {
			return err
		}
		if tab, err = c.TableByID(ctx, tab.ID); err != nil {
			return err
		}
		next := tab.Clone()
		next.Comment += "x"
		made = version(next)
		if err := c.Put(ctx, next); err != nil {
			return err
		}
		return commitSchema(ctx, c, t)
	}()
	w.done(ctx, s, p, inc, c, t, err)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		op := p.Op
		op.TS = stamp(t.CommitTimestamp())
		if o, twice := w.changes[made]; twice {
			s.fail(fmt.Errorf("version %d was made twice: %v and %v", made, o, op))
		}
		w.changes[made] = op
		w.returned = max(w.returned, made)
	}
}

// done ends an operation as its error says.
func (w *schemas) done(ctx context.Context, s *simulation, p *check.Pending, inc *incarnation, c *catalog.Collection, t *kv.Txn, err error) {
	outcome := check.OK
	if err != nil {
		outcome = check.Failed
		if kv.IsAmbiguous(err) || inc.ended.Err() != nil {
			outcome = check.Unknown
		}
		t.Rollback(ctx)
		c.RolledBack(ctx)
	} else {
		p.Op.TS = stamp(t.CommitTimestamp())
	}
	p.Done(outcome, err)
	s.story.Addf("node %d %v", inc.node.id, p.Op)
}

// check answers whether every row was committed while the version that it was written
// under was the newest.
func (w *schemas) check(ops []check.Op, _, _ map[string]string) error {
	if len(w.changes) == 0 {
		return fmt.Errorf("no change succeeded, %w", errProvesNothing)
	}
	for _, op := range ops {
		if op.Outcome != check.OK || op.Kind != "row" {
			continue
		}
		n, _, _ := strings.Cut(op.Writes[0].Value, "/")
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return err
		}
		if made, ok := w.changes[v]; ok && op.TS.Less(made.TS) {
			return fmt.Errorf("%v was committed before its version %d of the table: %v", op, v, made)
		}
		if next, ok := w.changes[v+1]; ok && next.TS.Less(op.TS) {
			return fmt.Errorf("%v was committed under version %d of the table after version %d: %v", op, v, v+1, next)
		}
	}
	return nil
}

// TestSchemas changes a table on all gateways while rows are written under what each has
// cached of it.
func TestSchemas(t *testing.T) {
	all, length := seeds(t, 7)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runSchemas(t, seed, length) })
	}
}

func runSchemas(t *testing.T, seed uint64, length time.Duration) {
	w := newSchemas()
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{schemaRow(0), schemaRow(4)}, points: w.points(),
		least: leastOps / 8, // after a commit of unknown outcome all wait for its deadline
	}, w)
	t.Logf("schemas: %d changes", len(w.changes))
}
