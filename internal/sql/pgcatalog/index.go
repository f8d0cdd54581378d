package pgcatalog

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Bits of pg_index.indoption.
const (
	indoptionDesc       = 1
	indoptionNullsFirst = 2
)

// pgIndex lists indexes.
func pgIndex(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !w.wants("indrelid", t.Oid) {
			continue
		}
		for _, ix := range visibleIndexes(t) {
			if w.wants("indexrelid", ix.Oid) {
				s.indexRow(w, t, ix)
			}
		}
	}
	return nil
}

func (s *snapshot) indexRow(w *writer, t *catalog.Table, ix *catalog.Index) {
	w.oid("indexrelid", ix.Oid)
	w.oid("indrelid", t.Oid)
	w.num("indnatts", int64(len(ix.Columns)+len(ix.Stored)))
	w.num("indnkeyatts", int64(len(ix.Columns)))
	w.flag("indisunique", ix.DeclaredUnique() && !ix.Exclusion)
	w.flag("indisprimary", ix.Primary)
	for _, c := range [...]string{"indisclustered", "indcheckxmin", "indisreplident"} {
		w.flag(c, false)
	}
	w.flag("indnullsnotdistinct", ix.NullsNotDistinct)
	w.flag("indisexclusion", ix.Exclusion)
	if !ix.Total() && w.needs("indpred") {
		w.str("indpred", s.expr(ix.Where, t, types.Bool, false))
	}
	if t.Expressions(ix) && w.needs("indexprs") {
		w.str("indexprs", s.keyExprs(t, ix, false))
	}
	w.flag("indimmediate", !ix.Deferrable)
	w.flag("indisvalid", !ix.WriteOnly)
	w.flag("indisready", true)
	w.flag("indislive", true)
	var keys, ordering, classes, options []int64
	for _, id := range indexColumns(ix) {
		keys = append(keys, int64(attnum(t, id)))
	}
	for i, k := range ix.Columns {
		typ := t.Columns[t.ColumnByID(k.Column)].Type
		ordering = append(ordering, int64(keyCollation(k, typ)))
		classes = append(classes, int64(indexClass(ix, &ix.Columns[i], typ)))
		o := int64(0)
		if k.Desc {
			o |= indoptionDesc
		}
		if k.NullsFirst {
			o |= indoptionNullsFirst
		}
		options = append(options, o)
	}
	w.set("indkey", vector(keys))
	w.set("indcollation", vector(ordering))
	w.set("indclass", vector(classes))
	w.set("indoption", vector(options))
	w.done()
}

// pgIndexes is the view of indexes.
func pgIndexes(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for _, ix := range visibleIndexes(t) {
			w.str("schemaname", s.schemaName(t))
			w.str("tablename", t.Name)
			w.str("indexname", ix.Name)
			if ix.Tablespace != "" {
				w.str("tablespace", ix.Tablespace)
			}
			if w.computes("indexdef") {
				w.str("indexdef", s.indexText(t, ix, s.qualified(t), false))
			}
			w.done()
		}
	}
	return nil
}

// qualified returns the name of a relation with its schema.
func (s *snapshot) qualified(t *catalog.Table) string {
	return ast.QuoteIdent(s.schemaName(t)) + "." + ast.QuoteIdent(t.Name)
}

// indexText is the CREATE INDEX statement of an index on the table named rel.
func (s *snapshot) indexText(t *catalog.Table, ix *catalog.Index, rel string, pretty bool) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if ix.DeclaredUnique() && !ix.Exclusion {
		b.WriteString("UNIQUE ")
	}
	b.WriteString("INDEX " + ast.QuoteIdent(ix.Name) + " ON " + rel + " USING " + ix.Method().String() + " (")
	b.WriteString(s.keysText(t, ix, pretty) + ")" + bucketsText(ix))
	b.WriteString(s.includeText(t, ix))
	if ix.NullsNotDistinct {
		b.WriteString(" NULLS NOT DISTINCT")
	}
	b.WriteString(optionsText(ix.Options))
	if !ix.Total() {
		b.WriteString(" WHERE " + s.expr(ix.Where, t, types.Bool, pretty))
	}
	return b.String()
}

// keysText are the key columns of an index.
func (s *snapshot) keysText(t *catalog.Table, ix *catalog.Index, pretty bool) string {
	keys := make([]string, len(ix.Columns))
	for i, k := range ix.Columns {
		keys[i] = s.keyText(t, ix, k, pretty)
		if i < ix.HashColumns && ix.Buckets == 0 && ix.Method() != catalog.MethodHash {
			keys[i] += " HASH"
		}
	}
	return strings.Join(keys, ", ")
}

// bucketsText is the clause of an index whose keys are hashed to a number of buckets.
func bucketsText(ix *catalog.Index) string {
	if ix.Buckets == 0 {
		return ""
	}
	return " USING HASH WITH BUCKET_COUNT = " + strconv.Itoa(int(ix.Buckets))
}

// indexClass is the operator class of a key column.
func indexClass(ix *catalog.Index, k *catalog.IndexColumn, t *types.T) uint32 {
	if c := inverted.ByName(ix.Inverted); c != nil {
		return c.Oid
	}
	for i := range otherClasses {
		if otherClasses[i].name == k.OpClass {
			return otherClasses[i].oid
		}
	}
	if h, ok := hashClasses[opclassNameOf(t)]; ok && ix.Method() == catalog.MethodHash {
		return h.oid
	}
	return opclassOf(t)
}

// keyCollation is the collation of a key column.
func keyCollation(k catalog.IndexColumn, t *types.T) uint32 {
	if k.Collate != nil {
		return k.Collate.Oid
	}
	return collationOf(t)
}

// className is how an index calls an operator class: with its schema where the search path does not lead to it.
func (s *snapshot) className(class string) string {
	x := catalog.ExtensionOfClass(class)
	if in, visible := s.c.h.Coll.PeekExtensionSchema(s.ctx, x); x != "" && in != nil && !visible {
		return ast.QuoteIdent(in.Name) + "." + class
	}
	return class
}

// keyText is a key column with its operator class and order, where those are not the
// default.
func (s *snapshot) keyText(t *catalog.Table, ix *catalog.Index, k catalog.IndexColumn, pretty bool) string {
	text := s.keyColumn(t, k.Column, pretty)
	if k.Collate != nil {
		text += " COLLATE " + s.c.collationName(k.Collate)
	}
	if c := inverted.ByName(ix.Inverted); c != nil && !c.Default {
		text += " " + s.className(c.Name)
	}
	if k.OpClass != "" && k.OpClass != opclassNameOf(t.Columns[t.ColumnByID(k.Column)].Type) {
		text += " " + ast.QuoteIdent(k.OpClass)
	}
	if k.Desc {
		text += " DESC"
		if !k.NullsFirst {
			text += " NULLS LAST"
		}
	} else if k.NullsFirst {
		text += " NULLS FIRST"
	}
	return text
}

func (s *snapshot) includeText(t *catalog.Table, ix *catalog.Index) string {
	if len(ix.Stored) == 0 {
		return ""
	}
	names := make([]string, len(ix.Stored))
	for i, id := range ix.Stored {
		names[i] = s.columnName(t, id)
	}
	return " INCLUDE (" + strings.Join(names, ", ") + ")"
}

func (s *snapshot) columnName(t *catalog.Table, id catalog.ColumnID) string {
	return s.keyColumn(t, id, false)
}

// keyColumn is a key column, which may be an expression.
func (s *snapshot) keyColumn(t *catalog.Table, id catalog.ColumnID, pretty bool) string {
	if ord := t.ColumnByID(id); ord >= 0 {
		if t.Columns[ord].IndexExpression() {
			return s.keyExpr(t.Columns[ord].Generated, t, pretty)
		}
		return ast.QuoteIdent(t.Columns[ord].Name)
	}
	return ""
}

// expressionText is an expression as a key column: in parentheses unless it is a call.
func expressionText(text string) string {
	if x, err := parser.ParseExpr(text); err == nil {
		if _, ok := x.(*ast.FuncCall); ok {
			return text
		}
	}
	return parenthesised(text)
}

func parenthesised(text string) string { return "(" + text + ")" }
