package exec

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// world is a catalog and a store to run SQL text against.
type world struct {
	t      testing.TB
	store  *fakeStore
	tables map[string]*catalog.Table
	mem    *quota.Pool
	// tweak changes plans before they are compiled.
	tweak     func(*plan.Prepared)
	optimize  bool
	options   *optimizer.Options // of the optimizer
	batchRows int                // as of operator.Env
	virtual   operator.VirtualProvider
	txn       *fakeTxn // open transaction, nil: one per statement
	iso       kvpb.Isolation
}

func newWorld(t testing.TB) *world {
	return &world{t: t, store: newFakeStore(), tables: map[string]*catalog.Table{}, mem: quota.NewPool("statement", 64<<20), iso: kvpb.ReadCommitted}
}

// bothWays runs a test with plans as they are written and with optimized ones.
func bothWays(t *testing.T, make func(testing.TB) *world, test func(*world)) {
	for _, opt := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "optimized"}[opt], func(t *testing.T) {
			w := make(t)
			w.optimize = opt
			test(w)
		})
	}
}

var _ catalog.Resolver = (*world)(nil)

func (w *world) ResolveTable(_ context.Context, _, _, name string) (*catalog.Table, error) {
	if t := w.tables[name]; t != nil {
		return t, nil
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation %q does not exist", name)
}

func (w *world) TableByID(_ context.Context, id catalog.ID) (*catalog.Table, error) {
	for _, t := range w.tables {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation %d does not exist", id)
}

func (w *world) TableByOid(ctx context.Context, oid uint32) (*catalog.Table, error) {
	return w.TableByID(ctx, catalog.ID(oid))
}

func (w *world) SchemaByID(context.Context, catalog.ID) (*catalog.Schema, error) {
	return &catalog.Schema{ID: 2, Name: "public"}, nil
}
func (w *world) CurrentDatabase() *catalog.Database { return &catalog.Database{ID: 1, Name: "db"} }
func (w *world) SearchPath() []string               { return []string{"pg_catalog", "public"} }

// table defines a table: "id int primary key, a text not null, ..., unique (a), index (a desc, b), check (a > 0)".
func (w *world) table(name, def string) *catalog.Table {
	id := catalog.ID(100 + len(w.tables))
	t := &catalog.Table{ID: id, Oid: uint32(id), Database: 1, Schema: 2, Name: name, Kind: catalog.KindTable}
	t.Indexes = []catalog.Index{{ID: 1, Name: name + "_pkey", Primary: true, Unique: true, Constraint: true, ConstraintName: name + "_pkey"}}
	for _, part := range strings.Split(def, ";") {
		part = strings.TrimSpace(part)
		f := strings.Fields(part)
		inner := ""
		if i := strings.IndexByte(part, '('); i >= 0 {
			inner = part[i+1 : strings.LastIndexByte(part, ')')]
		}
		switch f[0] {
		case "primary":
			t.Indexes[0].Columns = w.indexColumns(t, inner)
			for _, c := range t.Indexes[0].Columns {
				t.Columns[t.ColumnByID(c.Column)].NotNull = true
			}
		case "unique", "index":
			ix := catalog.Index{ID: catalog.IndexID(len(t.Indexes) + 1), Unique: f[0] == "unique", Columns: w.indexColumns(t, inner)}
			ix.Name = fmt.Sprintf("%s_%s_idx", name, t.Columns[t.ColumnByID(ix.Columns[0].Column)].Name)
			t.Indexes = append(t.Indexes, ix)
		case "check":
			t.Checks = append(t.Checks, catalog.Check{Name: name + "_check", Expr: inner})
		default:
			col := catalog.Column{ID: catalog.ColumnID(len(t.Columns) + 1), Attnum: int16(len(t.Columns) + 1), Name: f[0]}
			name, mod, _ := strings.Cut(f[1], "(")
			typ, ok := types.ByName(name)
			if !ok {
				w.t.Fatalf("type %s", f[1])
			}
			col.Type = typ
			if n, err := strconv.Atoi(strings.TrimSuffix(mod, ")")); err == nil {
				col.Type = typ.WithTypmod(int32(n) + 4)
			}
			if i := strings.Index(part, " default "); i >= 0 {
				col.Default = part[i+9:]
			}
			col.NotNull = strings.Contains(part, " not null")
			t.Columns = append(t.Columns, col)
		}
	}
	w.tables[name] = t
	return t
}

func (w *world) indexColumns(t *catalog.Table, list string) []catalog.IndexColumn {
	var out []catalog.IndexColumn
	for _, s := range strings.Split(list, ",") {
		f := strings.Fields(s)
		i, ok := t.ColumnByName(f[0])
		if !ok {
			w.t.Fatalf("column %s", f[0])
		}
		desc := len(f) > 1
		out = append(out, catalog.IndexColumn{Column: t.Columns[i].ID, Desc: desc, NullsFirst: desc})
	}
	return out
}

func (w *world) plan(sql string, params []types.Datum) (*plan.Prepared, error) {
	stmts, err := parser.Parse(sql)
	if err != nil {
		return nil, err
	}
	var stmt ast.Statement = stmts[0].AST
	env := &planner.Env{Catalog: w}
	for range params {
		env.ParamTypes = append(env.ParamTypes, nil)
	}
	p, err := planner.Plan(context.Background(), stmt, env)
	if err == nil && w.optimize {
		if err := optimizer.Optimize(p, w.options); err != nil {
			return nil, err
		}
	}
	if err == nil && w.tweak == nil {
		if _, query := p.Root.(*plan.Copy); !query {
			if err := plan.Verify(p.Root, nil); err != nil {
				w.t.Errorf("%s: plan is not valid: %v", sql, err)
			}
		}
	}
	if err == nil && w.tweak != nil {
		w.tweak(p)
	}
	return p, err
}

// exec runs a statement and returns its rows as text, one string per row.
func (w *world) exec(sql string, params ...types.Datum) ([]string, int64, error) {
	p, err := w.plan(sql, params)
	if err != nil {
		return nil, 0, err
	}
	pr, err := Compile(p)
	if err != nil {
		return nil, 0, err
	}
	return w.execute(p, pr, params...)
}

func (w *world) execute(p *plan.Prepared, pr *Program, params ...types.Datum) ([]string, int64, error) {
	txn := w.txn
	if txn == nil {
		txn = w.store.begin(w.iso)
	} else {
		txn.BeginStatement()
	}
	env := &operator.Env{Ctx: context.Background(), Txn: txn, Builtin: &call.Context{}, Params: params, Mem: w.mem, Virtual: w.virtual, BatchRows: w.batchRows}
	var out []string
	n, err := pr.Run(env, func(b *rowcontainer.Batch) error {
		for i := range b.Len() {
			out = append(out, rowText(p.Columns, b.Row(i)))
		}
		return nil
	})
	if used := w.mem.Used(); used != 0 {
		w.t.Errorf("%d bytes leaked", used)
	}
	if w.txn == nil {
		if err == nil {
			txn.commit()
		} else {
			txn.rollback()
		}
	}
	return out, n, err
}

func rowText(cols []plan.Column, row types.Row) string {
	var f []string
	for i, d := range row {
		if d.IsNull() {
			f = append(f, "NULL")
			continue
		}
		f = append(f, string(typeio.AppendText(nil, cols[i].Type, d, nil)))
	}
	return strings.Join(f, "|")
}

// must runs a statement and returns its rows joined with spaces.
func (w *world) must(sql string, params ...types.Datum) string {
	w.t.Helper()
	rows, n, err := w.exec(sql, params...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, describe(err))
	}
	if rows == nil && n > 0 {
		return fmt.Sprint("#", n)
	}
	return strings.Join(rows, " ")
}

func describe(err error) string {
	e := pgerr.From(err)
	s := string(e.Code) + " " + e.Message
	if e.Detail != "" {
		s += " DETAIL " + e.Detail
	}
	return s
}

// Check runs pairs of statements and expected results; an expected "!..." is
// the beginning of the error.
func (w *world) check(pairs ...string) {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		rows, n, err := w.exec(pairs[i])
		got := strings.Join(rows, " ")
		if rows == nil && n > 0 {
			got = fmt.Sprint("#", n)
		}
		if err != nil {
			got = "!" + describe(err)
		}
		want := pairs[i+1]
		if got != want && !(strings.HasPrefix(want, "!") && strings.HasPrefix(got, want)) {
			w.t.Errorf("%s\n got  %s\n want %s", pairs[i], got, want)
		}
	}
}
