package pgcatalog

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// storedRef finds the references to sequences in stored expressions, which name
// them by oid.
var storedRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'([0-9]+)'::regclass`) })

// sequencesIn returns the oids of the sequences in a stored expression.
func sequencesIn(expr string) []uint32 {
	var out []uint32
	for _, m := range storedRef().FindAllStringSubmatch(expr, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			out = append(out, uint32(n))
		}
	}
	return out
}

// exprText prints a stored expression with the names of sequences.
func (s *snapshot) exprText(expr string) string {
	if !strings.Contains(expr, "::regclass") {
		return expr
	}
	return storedRef().ReplaceAllStringFunc(expr, func(m string) string {
		oid, err := strconv.ParseUint(m[1:strings.IndexByte(m[1:], '\'')+1], 10, 32)
		if err != nil {
			return m
		}
		name, ok := s.c.relationName(uint32(oid))
		if !ok {
			return m
		}
		return ast.QuoteLiteral(name) + "::regclass"
	})
}

// defaultText prints a default as PostgreSQL does: constants that were written
// without a type show the column's.
func (s *snapshot) defaultText(c *catalog.Column) string {
	if c.Generated != "" {
		return expressionText(c.Generated)
	}
	x, err := parser.ParseExpr(c.Default)
	if err != nil {
		return c.Default
	}
	switch x := x.(type) {
	case *ast.StrLit:
		return constantText(x.Val, c.Type)
	case *ast.IntLit:
		if x.Val < 0 {
			typ := types.Int4
			if x.Val < -1<<31 {
				typ = types.Int8
			}
			return "'" + strconv.FormatInt(x.Val, 10) + "'::" + typ.SQLName
		}
	}
	return s.exprText(c.Default)
}

// constantText prints a quoted constant of a type.
func constantText(text string, t *types.T) string {
	switch t.Oid {
	case types.Int4.Oid, types.Bool.Oid:
		d, err := types.ParseText(t.WithTypmod(-1), text, nil)
		switch {
		case err != nil:
		case t.Is(types.Bool):
			return strconv.FormatBool(d.Bool())
		case d.Int() >= 0:
			return strconv.FormatInt(d.Int(), 10)
		}
	case types.Bpchar.Oid:
		return ast.QuoteLiteral(text) + "::bpchar"
	}
	return ast.QuoteLiteral(text) + "::" + t.SQLName
}

// viewText is what pg_get_viewdef prints.
func (s *snapshot) viewText(t *catalog.Table) string { return " " + s.exprText(t.View.Query) + ";" }
