package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rangeParams are the parameters of CREATE TYPE ... AS RANGE as written, nil where
// they are not given.
type rangeParams map[string]*ast.Option

func readRangeParams(st *ast.CreateRange) (rangeParams, error) {
	p := rangeParams{"subtype": nil, "subtype_opclass": nil, "collation": nil, "canonical": nil, "subtype_diff": nil, "multirange_type_name": nil}
	for i := range st.Params {
		o := &st.Params[i]
		old, ok := p[o.Name]
		switch {
		case !ok:
			return nil, pgerr.New(pgerr.SyntaxError, "type attribute \"%s\" not recognized", o.Name)
		case old != nil:
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(o.Pos)
		case o.Value == nil:
			return nil, pgerr.New(pgerr.SyntaxError, "%s requires a parameter", o.Name)
		}
		p[o.Name] = o
	}
	if p["subtype"] == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "type attribute \"subtype\" is required")
	}
	return p, nil
}

// name returns the value of a parameter that is a name, perhaps with a schema.
func (p rangeParams) name(param string) (n ast.TableName, given bool) {
	o := p[param]
	if o == nil {
		return n, false
	}
	text := relations.ParamText(o)
	if t, err := parser.ParseTypeName(text); err == nil && len(t.Names) == 2 {
		return ast.TableName{Loc: o.Loc, Schema: t.Names[0], Table: t.Names[1]}, true
	}
	return ast.TableName{Loc: o.Loc, Table: text}, true
}

// createRange is CREATE TYPE ... AS RANGE, which makes a multirange type too.
func createRange(ctx context.Context, e *statement.Env, st *ast.CreateRange) error {
	t, err := alter.NewType(ctx, e, st.Name, false)
	if err != nil {
		return err
	}
	p, err := readRangeParams(st)
	if err != nil {
		return err
	}
	def := &types.Def{Kind: types.DefRange}
	if def.Base, err = rangeSubtype(ctx, e, p); err != nil {
		return err
	}
	if def.Base, err = rangeCollation(ctx, e, p, def.Base); err != nil {
		return err
	}
	if p["canonical"] != nil { // nor has PostgreSQL one for a type that is not there yet
		return pgerr.New(pgerr.InvalidObjectDefinition, "cannot specify a canonical function without a pre-created shell type").
			WithHint("Create the type as a shell type, then create its canonicalization function, then do a full CREATE TYPE.")
	}
	if def.SubDiff, err = rangeSubDiff(p, def.Base); err != nil {
		return err
	}
	m, err := newMultirange(ctx, e, p, t)
	if err != nil {
		return err
	}
	def.Multirange = types.MultirangeDef{Oid: m.Oid, Name: m.Name, SQLName: ast.QuoteIdent(m.Name)}
	if def.Multirange.ArrayOid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	if err := alter.AddType(ctx, e, t, def); err != nil {
		return err
	}
	m.UserType, _ = types.MultirangeOf(t.UserType)
	return alter.PutType(ctx, e, m)
}

// rangeSubtype finds the type of the bounds, which must have an order.
func rangeSubtype(ctx context.Context, e *statement.Env, p rangeParams) (*types.T, error) {
	o := p["subtype"]
	text := relations.ParamText(o)
	find := func(text string) (*types.T, error) {
		tn, err := parser.ParseTypeName(text)
		if err != nil {
			return nil, err
		}
		return planner.FindType(ctx, tn, e.DefaultIntSize, e.Coll)
	}
	sub, err := find(text)
	if quoted := ast.QuoteIdent(text); err != nil && quoted != text {
		if t, qerr := find(quoted); qerr == nil {
			sub, err = t, nil
		}
	}
	switch {
	case err != nil:
		err := pgerr.From(err)
		err.Position = 0
		return nil, err
	case e.MayUseType(sub) != nil:
		return nil, e.MayUseType(sub)
	case sub.Category() == 'P':
		return nil, pgerr.New(pgerr.DatatypeMismatch, "range subtype cannot be %s", sub.SQLName)
	case sub.Def != nil && sub.Def.Kind == types.DefDomain:
		return nil, pgerr.Unsupported("ranges of a domain are not supported")
	}
	if n, ok := p.name("subtype_opclass"); ok {
		name := []ast.Name{n.Table}
		if err := relations.CheckOpClass(&ast.IndexElem{OpClass: name}, "btree", sub); err != nil {
			return nil, err
		}
	}
	if rowcodec.CheckOrderable(sub) != nil || !types.HasOrder(sub) {
		return nil, pgerr.New(pgerr.UndefinedObject, "data type %s has no default operator class for access method \"btree\"", types.FormatType(sub)).
			WithHint("You must specify an operator class for the range type or define a default operator class for the subtype.")
	}
	return sub.WithTypmod(-1), nil
}

func rangeCollation(ctx context.Context, e *statement.Env, p rangeParams, sub *types.T) (*types.T, error) {
	n, given := p.name("collation")
	switch {
	case given && !sub.IsString():
		return nil, pgerr.New(pgerr.WrongObjectType, "range collation specified but subtype does not support collation")
	case !given:
		return sub, nil
	}
	name := []ast.Name{n.Table}
	if n.Schema != "" {
		name = []ast.Name{n.Schema, n.Table}
	}
	c, err := storedtext.Collation(ctx, e, name, sub, 0)
	if err != nil {
		return nil, err
	}
	if !c.Bytewise() { // ranges compare their bounds by bytes
		return nil, pgerr.Unsupported("a range type under the collation \"%s\" is not supported", c.Name)
	}
	return sub.WithCollation(c), nil
}

// subDiffs are the functions that may be named as subtype_diff, by their subtype.
var subDiffs = map[string]*types.T{
	"float8mi": types.Float8, "int4range_subdiff": types.Int4, "int8range_subdiff": types.Int8, "numrange_subdiff": types.Numeric,
	"daterange_subdiff": types.Date, "tsrange_subdiff": types.Timestamp, "tstzrange_subdiff": types.TimestampTZ,
}

// rangeSubDiff checks the name of the function that tells how far values are from
// each other. It serves PostgreSQL's GiST indexes; here nothing calls it.
func rangeSubDiff(p rangeParams, sub *types.T) (string, error) {
	n, given := p.name("subtype_diff")
	if !given {
		return "", nil
	}
	if t := subDiffs[n.Table]; t != nil && t.Is(sub) {
		return n.Table, nil
	}
	if fn, err := builtin.ResolveFunction(n.Table, []*types.T{sub, sub}); err == nil && !fn.Ret.Is(types.Float8) {
		return "", pgerr.New(pgerr.InvalidObjectDefinition, "range subtype diff function %s must return type double precision", n.Table)
	}
	return "", pgerr.New(pgerr.UndefinedFunction, "function %s(%s, %s) does not exist", n.Table, sub.SQLName, sub.SQLName)
}

// newMultirange makes the descriptor of the multirange type over the range type t.
func newMultirange(ctx context.Context, e *statement.Env, p rangeParams, t *catalog.Table) (*catalog.Table, error) {
	n, given := p.name("multirange_type_name")
	if !given {
		n = ast.TableName{Table: multirangeName(t.Name)}
	}
	if !given || n.Schema == "" {
		d, err := e.Coll.SchemaByID(ctx, t.Schema)
		if err != nil {
			return nil, err
		}
		n.Schema = d.Name
	}
	m, err := alter.NewType(ctx, e, n, false)
	if pgerr.CodeOf(err) == pgerr.DuplicateObject && !given {
		return nil, pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", n.Table).
			WithDetail("Failed while creating a multirange type for type \"%s\".", t.Name).
			WithHint("You can manually specify a multirange type name using the \"multirange_type_name\" attribute.")
	}
	return m, err
}

// multirangeName derives the name of a multirange type as PostgreSQL does.
func multirangeName(name string) string {
	if before, after, ok := strings.Cut(name, "range"); ok {
		return before + "multirange" + after
	}
	return statement.ObjectName(name, "", "multirange")
}
