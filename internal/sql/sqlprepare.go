package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// prepare executes PREPARE name (types) AS statement.
func (x *execution) prepare(ctx context.Context, st *ast.Prepare) error {
	s := x.s
	name := string(st.Name)
	if len(s.statements) >= maxStatements {
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many prepared statements (limit %d)", maxStatements)
	}
	p := &Prepared{Name: name, Text: s.queryText(), stmt: parser.Statement{
		AST: st.Stmt, SQL: ast.Format(st.Stmt), NumParams: st.NumParams,
	}}
	for _, tn := range st.Types {
		t, err := planner.FindType(ctx, tn, s.vals.Fast.DefaultIntSize, s.coll)
		if err != nil {
			return err
		}
		p.params = append(p.params, t.BaseType().WithTypmod(-1)) // as in PostgreSQL
		if t.OfDomain() {
			p.domains = append(p.domains, domainParam{len(p.params) - 1, tn})
		}
	}
	s.txn.Ensure()
	c, err := s.planFor(ctx, p, nil)
	if err != nil {
		return err
	}
	if s.statements[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	p.plan, p.types, p.cols = c, c.prep.ParamTypes, s.resultColumns(c.prep)
	p.params = p.types
	p.fromSQL = true
	return s.keep(p)
}

// bindExecute makes the execution of EXECUTE that of the statement it names.
func (x *execution) bindExecute(ctx context.Context, st *ast.Execute) error {
	s := x.s
	p, err := s.Statement(string(st.Name))
	if err != nil {
		return err
	}
	if len(st.Args) != len(p.types) {
		return pgerr.New(pgerr.SyntaxError, "wrong number of parameters for prepared statement %q", p.Name).
			WithDetail("Expected %d parameters but got %d.", len(p.types), len(st.Args))
	}
	params := make([]types.Datum, len(st.Args))
	s.txn.Ensure()
	for i, arg := range st.Args {
		arg = p.domainArg(i, arg)
		if params[i], err = s.evalParam(ctx, i, arg, p.types[i]); err != nil {
			return err
		}
	}
	x.prepared, x.params = p, params
	return nil
}

// bindExplained makes the execution of EXPLAIN EXECUTE that of EXPLAIN of the statement it names,
// which is refused as its execution would be if its rows have changed.
func (x *execution) bindExplained(ctx context.Context, st *ast.Explain, named *ast.Execute) error {
	if err := x.bindExecute(ctx, named); err != nil {
		return err
	}
	if _, err := x.s.planFor(ctx, x.prepared, x.params); err != nil {
		return err
	}
	x.prepared = x.prepared.explained(st)
	return nil
}

// domainParam is a parameter that PREPARE declares to be of a domain, or of an array
// of one. Within the statement it is of the type below.
type domainParam struct {
	n  int
	as *ast.TypeName
}

// domainArg makes an argument of EXECUTE checked by the domain of its parameter.
func (p *Prepared) domainArg(n int, arg ast.Expr) ast.Expr {
	for _, d := range p.domains {
		if d.n == n {
			return &ast.Cast{Loc: ast.Loc{Pos: arg.Position()}, X: arg, Type: d.as}
		}
	}
	return arg
}

// explained is EXPLAIN of the prepared statement instead of EXECUTE.
func (p *Prepared) explained(st *ast.Explain) *Prepared {
	e := &Prepared{Text: p.Text, stmt: p.stmt, params: p.types}
	e.stmt.AST = &ast.Explain{Loc: st.Loc, Options: st.Options, Stmt: p.stmt.AST}
	e.stmt.SQL = "EXPLAIN " + p.stmt.SQL
	return e
}

func (s *Session) queryText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.query
}

func (s *Session) plannerEnv(params []*types.T) *planner.Env {
	return &planner.Env{
		Catalog: s.coll, ParamTypes: params, Format: &s.vals.Format, DefaultIntSize: s.vals.Fast.DefaultIntSize,
		Source: statementSource,
	}
}

// evalConst evaluates an expression without columns or parameters.
func (s *Session) evalConst(ctx context.Context, e ast.Expr) (types.Datum, *types.T, error) {
	sel := &ast.Select{Items: []ast.SelectItem{{X: e}}}
	return s.evalSelect(ctx, sel)
}

// evalParam evaluates an argument of EXECUTE as a value of its parameter's type.
func (s *Session) evalParam(ctx context.Context, n int, e ast.Expr, t *types.T) (types.Datum, error) {
	if lit, ok := e.(*ast.StrLit); ok { // as a result column it would become text
		return typeio.ParseText(t, lit.Val, &s.vals.Format)
	}
	d, from, err := s.evalConst(ctx, e)
	if err != nil || d.IsNull() {
		return d, err
	}
	if from.Oid == types.Unknown.Oid {
		return typeio.ParseText(t, d.Str(), &s.vals.Format)
	}
	if from.Oid != t.Oid {
		cast, ok := casts.Find(from, t)
		if !ok || cast.Context == types.CastExplicit {
			return d, pgerr.New(pgerr.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s",
				n+1, types.FormatType(from), types.FormatType(t)).WithHint("You will need to rewrite or cast the expression.").At(e.Position())
		}
		if cast.Fn != nil {
			return cast.Fn(&s.vals.Format, d, t)
		}
	}
	return d, nil
}

func (s *Session) evalSelect(ctx context.Context, sel *ast.Select) (types.Datum, *types.T, error) {
	prep, err := planner.Plan(ctx, sel, s.plannerEnv(nil))
	if err != nil {
		return types.Null, nil, err
	}
	pr, err := exec.Compile(prep)
	if err != nil {
		return types.Null, nil, err
	}
	d, err := s.oneValue(ctx, pr)
	return d, prep.Columns[0].Type, err
}

func (s *Session) oneValue(ctx context.Context, pr *exec.Program) (types.Datum, error) {
	env := exec.Env{Ctx: ctx, Builtin: s.builtinContext(ctx)}
	if s.txn.Open() {
		s.fillEnv(ctx, &env, nil)
	}
	rows, err := pr.Rows(&env)
	if err != nil || len(rows) == 0 {
		return types.Null, err
	}
	return rows[0][0], nil
}
