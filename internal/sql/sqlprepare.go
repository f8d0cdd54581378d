package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// prepare executes PREPARE name (types) AS statement.
func (x *execution) prepare(ctx context.Context, st *ast.Prepare) error {
	s := x.s
	name := string(st.Name)
	p := &prepared.Statement{Name: name, Text: s.current.Query(), Stmt: parser.Statement{
		AST: st.Stmt, SQL: ast.Format(st.Stmt), NumParams: st.NumParams,
	}}
	for _, tn := range st.Types {
		t, err := planner.FindType(ctx, tn, s.vals.Fast.DefaultIntSize, s.coll)
		if err != nil {
			return err
		}
		p.Declared = append(p.Declared, t.BaseType().WithTypmod(-1)) // as in PostgreSQL
		if t.OfDomain() {
			p.Domains = append(p.Domains, prepared.DomainParam{N: len(p.Declared) - 1, As: tn})
		}
	}
	s.txn.Ensure()
	c, err := s.planner.For(ctx, p, nil)
	if err != nil {
		return err
	}
	if err := s.statements.Admit(name); err != nil {
		return err
	}
	p.Planned(c, s.resultColumns(c.Prep))
	p.FixTypes()
	p.FromSQL = true
	return s.statements.Keep(p)
}

// bindExecute makes the execution of EXECUTE that of the statement it names.
func (x *execution) bindExecute(ctx context.Context, st *ast.Execute) error {
	s := x.s
	p, err := s.Statement(string(st.Name))
	if err != nil {
		return err
	}
	if len(st.Args) != len(p.ParamTypes()) {
		return pgerr.New(pgerr.SyntaxError, "wrong number of parameters for prepared statement \"%s\"", p.Name).
			WithDetail("Expected %d parameters but got %d.", len(p.ParamTypes()), len(st.Args))
	}
	params := make([]types.Datum, len(st.Args))
	s.txn.Ensure()
	for i, arg := range st.Args {
		arg = p.DomainArg(i, arg)
		if params[i], err = s.evalParam(ctx, i, arg, p.ParamTypes()[i]); err != nil {
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
	if _, err := x.s.planner.For(ctx, x.prepared, x.params); err != nil {
		return err
	}
	x.prepared = x.prepared.Explained(st)
	return nil
}

// evalConst evaluates an expression without columns or parameters.
func (s *Session) evalConst(ctx context.Context, e ast.Expr) (types.Datum, *types.T, error) {
	sel := &ast.Select{Items: []ast.SelectItem{{X: e}}}
	return s.evalSelect(ctx, sel)
}

// evalParam evaluates an argument of EXECUTE as a value of its parameter's type.
func (s *Session) evalParam(ctx context.Context, n int, e ast.Expr, t *types.T) (types.Datum, error) {
	if lit, ok := e.(*ast.StrLit); ok { // as a result column it would become text
		d, err := typeio.ParseText(t, lit.Val, &s.vals.Format)
		if err != nil {
			return d, pgerr.From(err).At(lit.Position())
		}
		return d, nil
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
	prep, err := s.planWithin(ctx, sel)
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
	env := operator.Env{Ctx: ctx, Builtin: s.builtinContext(ctx)}
	if s.txn.Open() {
		s.fillEnv(ctx, &env, nil)
	}
	rows, err := pr.Rows(&env)
	if err != nil || len(rows) == 0 {
		return types.Null, err
	}
	return rows[0][0], nil
}
