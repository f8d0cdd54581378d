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

// exprText prints a stored expression, or query, with the names of sequences, and of
// types as the search path finds them.
func (s *snapshot) exprText(expr string) string {
	expr = s.plainTypes(expr)
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

// plainTypes leaves out the schemas of types that are found without.
func (s *snapshot) plainTypes(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	var n ast.Node
	x, err := parser.ParseExpr(text)
	if n = x; err != nil {
		st, err := parser.ParseStored(text)
		if err != nil {
			return text
		}
		n = st.AST
	}
	changed := false
	plain := func(schema, name ast.Name) bool {
		found := false
		if schema != "" {
			t := s.typeNamed(schema, name)
			found = t != nil && t.Kind == catalog.KindType && s.c.visible(t, t.Name)
		}
		changed = changed || found
		return found
	}
	ast.Walk(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeName:
			if len(n.Names) == 2 && plain(n.Names[0], n.Names[1]) {
				n.Names = n.Names[1:]
			}
		case *ast.FuncCall:
			if plain(n.Name.Schema, n.Name.Name) {
				n.Name.Schema = ""
			}
		}
		return true
	})
	if !changed {
		return text
	}
	return ast.Format(n)
}

// typeName prints a type as format_type does.
func (s *snapshot) typeName(t *types.T) string { return s.c.qualified(t).SQLName }

// defaultText prints a default of a column of t, or the expression that generates it.
func (s *snapshot) defaultText(t *catalog.Table, c *catalog.Column) string {
	if c.Generated != "" {
		return s.expr(c.Generated, t, c.Type, false)
	}
	return s.columnDefault(c, t)
}

// maxDefaults is how many different defaults a snapshot remembers the text of.
const maxDefaults = 1024

// printedDefault is what the text of a default follows from, which reads no columns.
type printedDefault struct {
	expr        string
	typ, domain uint32
	typmod      int32
}

// columnDefault prints a column's own default: those of many columns are alike.
func (s *snapshot) columnDefault(c *catalog.Column, t *catalog.Table) string {
	k := printedDefault{expr: c.Default, typ: c.Type.Oid, typmod: c.Type.Typmod}
	if c.Domain != nil {
		k.domain = c.Domain.Oid
	}
	text, ok := s.defaults[k]
	if !ok {
		text = s.expr(c.Default, t, c.Type, false)
		if s.defaults == nil {
			s.defaults = map[printedDefault]string{}
		}
		if len(s.defaults) < maxDefaults && c.Default != "" {
			s.defaults[k] = text
		}
	}
	return text
}

// domainDefault prints the default of a domain.
func (s *snapshot) domainDefault(def *types.Def) string {
	return s.expr(def.Default, nil, def.Base, false)
}
