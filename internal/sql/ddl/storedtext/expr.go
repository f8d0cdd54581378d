package storedtext

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// UsesColumn reports whether an index has a column in its key or stores it.
func UsesColumn(ix *catalog.Index, id catalog.ColumnID) bool {
	return slices.Contains(ix.Stored, id) ||
		slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool { return c.Column == id })
}

// NextvalOf is the default of a column that takes its values from a sequence.
// The sequence is named by its oid, so that renaming it changes nothing.
func NextvalOf(oid uint32) string {
	return "nextval(" + SequenceRef(oid) + ")"
}

// SetDefault is DEFAULT of a column. NULL is one where it is converted: to a domain, whose default
// it takes the place of, or to a modifier.
func SetDefault(ctx context.Context, e *statement.Env, c *catalog.Column, x ast.Expr) (err error) {
	c.Default, err = DefaultText(ctx, e, x, c.Type)
	err = Placed(e, err)
	modified := c.Type.Typmod >= 0 && c.Type.Family != types.IntervalFamily
	if err == nil && c.Default == "" && (c.Domain != nil || modified) {
		c.Default = "NULL"
	}
	return err
}

// Placed is an error in an expression of the statement, without its position if e.unplaced.
func Placed(e *statement.Env, err error) error {
	if err == nil || !e.Unplaced {
		return err
	}
	c := *pgerr.From(err)
	c.Position = 0
	return &c
}

// SequenceRef is how stored expressions name a sequence.
func SequenceRef(oid uint32) string { return "'" + strconv.FormatUint(uint64(oid), 10) + "'::regclass" }

// DefaultText checks the form of a DEFAULT expression of a column of type want and returns
// the text to store; its type is checked by CheckExprs. DEFAULT NULL is no default.
func DefaultText(ctx context.Context, e *statement.Env, x ast.Expr, want *types.T) (string, error) {
	if _, ok := x.(*ast.NullLit); ok {
		return "", nil
	}
	var err error
	ast.Walk(x, func(n ast.Node) bool {
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.ColumnRef:
			err = pgerr.Unsupported("cannot use column reference in DEFAULT expression").At(n.Pos)
		default:
			err = CheckExprNode(n, "DEFAULT expressions", "DEFAULT expression")
		}
		return err == nil
	})
	if err != nil {
		return "", err
	}
	text, err := pinnedText(ctx, e, x)
	if err != nil {
		return "", err
	}
	return FixLiterals(ctx, e, text, nil, nil, want), nil
}

// CheckExprNode refuses what no stored expression may contain.
func CheckExprNode(n ast.Node, plural, singular string) error {
	switch n := n.(type) {
	case *ast.Subquery:
		return pgerr.Unsupported("cannot use subquery in %s", singular).At(n.Pos)
	case *ast.In:
		if n.Query != nil {
			return pgerr.Unsupported("cannot use subquery in %s", singular).At(n.Pos)
		}
	case *ast.Quantified:
		if n.Query != nil {
			return pgerr.Unsupported("cannot use subquery in %s", singular).At(n.Pos)
		}
	case *ast.FuncCall:
		if n.Over != nil {
			return pgerr.New(pgerr.WindowingError, "window functions are not allowed in %s", plural).At(n.Pos)
		}
	case *ast.Param:
		return pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n.N).At(n.Pos)
	}
	return nil
}

// pinnedText is an expression's text with its names pinned. The expression stays as it was
// written: its statement may run again, after other objects have got the names.
func pinnedText(ctx context.Context, e *statement.Env, x ast.Expr) (string, error) {
	st, err := parser.ParseOne(ast.Format(&ast.Select{Items: []ast.SelectItem{{X: x}}}))
	if err != nil {
		return "", err
	}
	if err := PinNames(ctx, e, st.AST); err != nil {
		return "", PinNames(ctx, e, x) // the same error, at its place in the statement
	}
	return ast.Format(st.AST.(*ast.Select).Items[0].X), nil
}

// PinNames makes an expression or a query mean the same whatever search_path says, in
// place: the names of sequences in calls of sequence functions become their oids, and
// user-defined types get their schema.
func PinNames(ctx context.Context, e *statement.Env, x ast.Node) error {
	var err error
	ast.Walk(x, func(n ast.Node) bool {
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.TypeName:
			err = pinType(ctx, e, n)
		case *ast.FuncCall:
			err = pinFunction(ctx, e, n)
		case *ast.Collate:
			err = pinCollation(ctx, e, n)
		}
		return err == nil
	})
	return err
}

// extensionOfFunction returns the schema of the extension of which a name means a function, nil if it means none.
func extensionOfFunction(ctx context.Context, e *statement.Env, name string) *catalog.Schema {
	if len(builtin.Functions(name)) > 0 || len(builtin.Aggregates(name)) > 0 {
		return nil
	}
	for _, o := range builtin.ExtensionFunctions(name) {
		if e.Coll.SeesExtension(ctx, "", o.Extension) {
			in, _ := e.Coll.PeekExtensionSchema(ctx, o.Extension)
			return in
		}
	}
	return nil
}

// pinFunction pins the sequence in a call, or the type whose values the call makes.
func pinFunction(ctx context.Context, e *statement.Env, call *ast.FuncCall) error {
	switch call.Name.Name {
	case "nextval", "currval", "setval":
		if len(call.Args) > 0 {
			return pinSequence(ctx, e, call)
		}
	}
	if call.Name.Schema != "" {
		return nil
	}
	if in := extensionOfFunction(ctx, e, call.Name.Name); in != nil {
		call.Name.Schema = in.Name
		return nil
	}
	t, err := e.Coll.FindTypeDescriptor(ctx, "", call.Name.Name)
	if err == nil && t == nil {
		t, err = ownRoutine(ctx, e, call.Name.Name)
	}
	if err != nil || t == nil {
		return err
	}
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err == nil {
		call.Name.Schema = schema.Name
	}
	return err
}

// ownRoutine returns the user-defined routine that a name leads to first, nil if a built-in function has the name too or
// there is none.
func ownRoutine(ctx context.Context, e *statement.Env, name string) (*catalog.Table, error) {
	found, err := e.Coll.FindRoutines(ctx, "", name)
	if err != nil || len(found) == 0 || len(builtin.Functions(name)) > 0 || len(builtin.Aggregates(name)) > 0 {
		return nil, err
	}
	return found[0], nil
}

// pinType gives the name of a user-defined type its schema, and a type that only the
// dialects call so PostgreSQL's name.
func pinType(ctx context.Context, e *statement.Env, n *ast.TypeName) error {
	if n.DefaultInt && !n.Stored && e.DefaultIntSize == 8 { // INT is INT4 in what is stored
		n.Names, n.DefaultInt = []ast.Name{"pg_catalog", "int8"}, false
	}
	if len(n.Names) != 1 {
		return nil
	}
	if _, err := planner.ResolveType(n, e.DefaultIntSize); pgerr.CodeOf(err) != pgerr.UndefinedObject {
		if name, ok := types.DialectName(n.Names[0], len(n.Typmods) > 0); ok {
			n.Names = []ast.Name{name}
			if len(n.Typmods) > 0 {
				n.Names = []ast.Name{"pg_catalog", name} // as the parser has types with words of their own
			}
		}
		return nil
	}
	if x := types.ExtensionTypeNamed(n.Names[0]); x != nil && e.Coll.SeesExtension(ctx, "", x.Extension()) {
		in, _ := e.Coll.PeekExtensionSchema(ctx, x.Extension())
		n.Names = []ast.Name{in.Name, n.Names[0]}
		return nil
	}
	t, err := e.Coll.FindTypeTable(ctx, "", n.Names[0])
	if err != nil || t == nil {
		return err
	}
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err == nil {
		n.Names = []ast.Name{schema.Name, n.Names[0]}
	}
	return err
}

func pinSequence(ctx context.Context, e *statement.Env, call *ast.FuncCall) error {
	arg := call.Args[0]
	if c, ok := arg.(*ast.Cast); ok && len(c.Type.Names) > 0 {
		switch c.Type.Names[len(c.Type.Names)-1] {
		case "regclass":
			arg = c.X
		case "text": // resolved anew at every call, as in PostgreSQL
			return nil
		}
	}
	lit, ok := arg.(*ast.StrLit)
	if !ok || lit.Val == "" || lit.Val[0] >= '0' && lit.Val[0] <= '9' {
		return nil
	}
	parts, err := splitName(lit.Val)
	if err != nil {
		return pgerr.From(err).At(lit.Pos)
	}
	name := ast.TableName{Loc: lit.Loc, Table: parts[len(parts)-1]}
	if len(parts) > 1 {
		name.Schema = parts[len(parts)-2]
	}
	t, _, err := e.Relation(ctx, name)
	if err != nil {
		return err
	}
	if t == nil {
		return pgerr.From(e.UndefinedRelation(ctx, name)).At(name.Pos)
	}
	call.Args[0] = &ast.Cast{
		Loc: lit.Loc, Style: ast.CastColons,
		X:    &ast.StrLit{Loc: lit.Loc, Val: strconv.FormatUint(uint64(t.Oid), 10)},
		Type: &ast.TypeName{Loc: lit.Loc, Names: []ast.Name{"regclass"}},
	}
	return nil
}

// splitName splits a possibly quoted, qualified name as in the text of a
// regclass value.
func splitName(s string) ([]string, error) {
	bad := pgerr.New(pgerr.InvalidName, "invalid name syntax")
	var parts []string
	for {
		if s == "" {
			return nil, bad
		}
		var part string
		if s[0] == '"' {
			end := 1
			for {
				i := strings.IndexByte(s[end:], '"')
				if i < 0 {
					return nil, bad
				}
				part += s[end : end+i]
				end += i + 1
				if end < len(s) && s[end] == '"' {
					part += `"`
					end++
					continue
				}
				break
			}
			s = s[end:]
		} else {
			i := strings.IndexByte(s, '.')
			if i < 0 {
				i = len(s)
			}
			part, s = strings.ToLower(s[:i]), s[i:]
		}
		parts = append(parts, part)
		if s == "" {
			return parts, nil
		}
		if s[0] != '.' {
			return nil, bad
		}
		s = s[1:]
	}
}

// CheckExprs has the planner check the defaults and CHECK constraints of t, and what t derives from its
// rows.
func CheckExprs(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	ins, _, err := PlanDefaults(ctx, e, t)
	if err != nil {
		return DefaultMessage(err)
	}
	return checkDerived(t, ins.Derived)
}

// PlanDefaults plans the insertion of a row of defaults, of any length, into t; next is the first unused
// column identifier of the plan.
func PlanDefaults(ctx context.Context, e *statement.Env, t *catalog.Table) (ins *plan.Insert, next plan.ColID, err error) {
	st := &ast.Insert{Table: &ast.TableRef{Name: ast.TableName{Schema: ScratchSchema, Table: ScratchNew}}}
	env := PlannerEnv(e, &ScratchResolver{Collection: e.Coll, Table: t})
	env.AnyLength = true
	prep, err := planner.Plan(ctx, st, env)
	if err != nil {
		return nil, 0, err
	}
	ins, ok := prep.Root.(*plan.Insert)
	if !ok {
		return nil, 0, pgerr.Assertion("unexpected plan of a row of defaults")
	}
	return ins, prep.NextCol, nil
}

// PlannerEnv is what the planner works with when names are resolved by r.
func PlannerEnv(e *statement.Env, r catalog.Resolver) *planner.Env {
	return &planner.Env{Catalog: r, Format: e.Format, DefaultIntSize: e.DefaultIntSize, FixedParams: true}
}

// DefaultMessage words an error about a default as PostgreSQL does.
func DefaultMessage(err error) error {
	var pe *pgerr.Error
	if errors.As(err, &pe) && pe.Code == pgerr.DatatypeMismatch {
		c := *pe
		c.Message = strings.Replace(c.Message, " but expression is of type ", " but default expression is of type ", 1)
		return &c
	}
	return err
}

// The names under which the planner finds the tables of a statement's own
// queries. No schema can have such a name.
const (
	ScratchSchema = "\x01ddl"
	ScratchOld    = "old"
	ScratchNew    = "new"
)

// ScratchResolver resolves the names above; all others are the session's.
type ScratchResolver struct {
	*catalog.Collection
	Old   *catalog.Table
	Table *catalog.Table // as it will be
}

// ResolveTable implements catalog.Resolver.
func (r *ScratchResolver) ResolveTable(ctx context.Context, database, schema, name string) (*catalog.Table, error) {
	if schema == ScratchSchema {
		if name == ScratchOld {
			return r.Old, nil
		}
		return r.Table, nil
	}
	return r.Collection.ResolveTable(ctx, database, schema, name)
}

// checkDerived makes sure that what a table derives from its rows depends on them
// only.
func checkDerived(t *catalog.Table, d *plan.Derived) error {
	if d == nil {
		return nil
	}
	for _, c := range d.Columns {
		if !planner.Immutable(c.Value) {
			if t.Columns[c.Ord].IndexExpression() {
				return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
			}
			return pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
		}
	}
	for _, p := range d.Predicates {
		if !planner.Immutable(p.Cond) {
			return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index predicate must be marked IMMUTABLE")
		}
	}
	return nil
}

// ExpressionName is an expression as messages and listings show it: in parentheses
// unless it is a call.
func ExpressionName(text string) string {
	if x, err := parser.ParseExpr(text); err == nil {
		switch x.(type) {
		case *ast.FuncCall, *ast.Coalesce, *ast.NullIf, *ast.MinMax:
			return text
		}
	}
	return "(" + text + ")"
}
