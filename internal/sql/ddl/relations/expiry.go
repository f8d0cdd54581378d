package relations

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/ttl"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Row-level TTL: parameters of a table say when its rows expire. With ttl_expire_after a column has the time, which every change of a row
// sets anew.

// expiryOptions adds the parameters of row-level TTL to the options of a table, and returns the others.
func expiryOptions(e *statement.Env, options []string, params []ast.StorageParam, of *Parameters) (with []string, rest []ast.StorageParam, err error) {
	set := false
	for i := range params {
		p := &params[i]
		switch {
		case p.Namespace != "" || !ttl.Is(p.Name) || of != &TableParameters:
			rest = append(rest, *p)
			continue
		case p.Name == ttl.Automatic:
			e.Notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "ttl_automatic_column is no longer used. Setting ttl_expire_after automatically "+
				"creates a TTL column. Resetting ttl_expire_after removes the automatically created column."))
			continue
		case slices.ContainsFunc(params[:i], func(o ast.StorageParam) bool { return o.Namespace == "" && o.Name == p.Name }):
			return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" specified more than once", p.Name)
		}
		text := parameterText(p)
		if c, ok := p.Value.(*ast.Cast); ok { // '1 day'::INTERVAL
			if s, ok := c.X.(*ast.StrLit); ok {
				text = s.Val
			}
		}
		value, err := ttl.Check(p.Name, text)
		if err != nil {
			return nil, nil, pgerr.From(err).At(p.Pos)
		}
		options, set = append(withoutOption(options, p.Name), p.Name+"="+value), true
	}
	if _, expires := ttl.Of(options); set && !expires {
		return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "\"%s\" and/or \"%s\" must be set", ttl.After, ttl.Expression)
	}
	if set && !slices.Contains(options, "ttl=on") {
		options = append([]string{"ttl=on"}, options...)
	}
	return options, rest, nil
}

// ExpiryOff takes the other parameters of row-level TTL off where none says any more when rows expire.
func ExpiryOff(options []string) []string {
	if _, expires := ttl.Of(options); expires {
		return options
	}
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return ttl.Is(name)
	})
}

// ExpiryColumn is the definition of the column that has the time when a row expires.
func ExpiryColumn(after string) *ast.ColumnDef {
	return &ast.ColumnDef{
		Name: ttl.Column, Type: &ast.TypeName{Names: []ast.Name{"pg_catalog", "timestamptz"}}, NotVisible: true,
		Constraints: []*ast.Constraint{
			{Kind: ast.ConstrNotNull}, {Kind: ast.ConstrDefault, X: Expiry(after)}, {Kind: ast.ConstrOnUpdate, X: Expiry(after)},
		},
	}
}

// Expiry is when a row expires that is written now.
func Expiry(after string) ast.Expr {
	x, err := parser.ParseExpr("current_timestamp + " + ast.QuoteLiteral(after) + "::pg_catalog.interval")
	if err != nil {
		return &ast.NullLit{} // no interval has such a text
	}
	return x
}

// withExpiry adds the column of row-level TTL to the definitions of a new table. A dump has it as any other column.
func withExpiry(options []string, name ast.Name, defs []ast.TableDef) ([]ast.TableDef, error) {
	p, _ := ttl.Of(options)
	if p.ExpireAfter == "" {
		return defs, nil
	}
	own, defs := ExpiryColumn(p.ExpireAfter), slices.Clone(defs)
	for i, d := range defs {
		c, ok := d.(*ast.ColumnDef)
		if !ok || c.Name != ttl.Column {
			continue
		}
		if t, err := planner.ResolveType(c.Type, 8); err != nil || t.Oid != types.TimestampTZ.Oid {
			return nil, pgerr.New(pgerr.InvalidTableDefinition, "table %s has TTL defined, but column %s is not a TIMESTAMPTZ", name, ttl.Column).At(c.Pos)
		}
		defs[i] = own
		return defs, nil
	}
	return append(defs, own), nil
}

// CheckExpiry checks the expression by which the rows of a table expire, and stores it so that it means the same in every session. It returns
// the columns that it names.
func CheckExpiry(ctx context.Context, e *statement.Env, t *catalog.Table) ([]catalog.ColumnID, error) {
	p, _ := ttl.Of(t.Options)
	if p.Expression == "" {
		return nil, nil
	}
	x, err := parser.ParseExpr(p.Expression)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%s \"%s\" must be a valid expression", ttl.Expression, p.Expression)
	}
	text, cols, err := storedtext.RowText(ctx, e, t, x, nil, storedtext.InExpiry)
	if err != nil {
		return nil, storedtext.Placed(e, unplaced(err))
	}
	if x, err = parser.ParseExpr(text); err != nil {
		return nil, err
	}
	notes, _, err := planner.Annotate(ctx, storedtext.PlannerEnv(e, e.Coll), x, t, nil, nil)
	if err != nil {
		return nil, unplaced(err)
	}
	if is := notes.Types[x]; is == nil || is.BaseType().Oid != types.TimestampTZ.Oid {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "expected TTL EXPIRATION EXPRESSION expression to have type timestamptz, but '%s' has type %s",
			p.Expression, types.FormatType(is))
	}
	i := slices.Index(t.Options, ttl.Expression+"="+p.Expression)
	t.Options = slices.Clone(t.Options)
	t.Options[i] = ttl.Expression + "=" + text
	return cols, nil
}

// unplaced is an error without its position, which is one within the parameter.
func unplaced(err error) error {
	c := *pgerr.From(err)
	c.Position = 0
	return &c
}
