package pgcatalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// internalCreate lists the statements that make the relations of the database as they
// are, for SHOW CREATE.
func internalCreate(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !w.wants("descriptor_id", t.Oid) {
			continue
		}
		w.str("schema_name", s.schemaName(t))
		w.oid("descriptor_id", t.Oid)
		w.str("descriptor_name", t.Name)
		if w.needs("create_statement") || w.needs("descriptor_type") {
			kind, text := s.createText(t)
			w.str("descriptor_type", kind)
			w.str("create_statement", text)
		}
		w.done()
	}
	return nil
}

// createText returns the kind of a relation and the statement that makes it.
func (s *snapshot) createText(t *catalog.Table) (kind, text string) {
	switch relkind(t) {
	case "m":
		text = "CREATE MATERIALIZED VIEW " + s.createdView(t)
		if t.View.Unpopulated {
			text += " WITH NO DATA"
		}
		for _, ix := range visibleIndexes(t) {
			text += ";\n" + s.indexText(t, ix, s.qualified(t), false)
		}
		return "materialized view", text
	case "v":
		text = "CREATE " + s.temporary(t) + "VIEW " + s.createdView(t)
		for _, c := range visibleColumns(t) {
			if c.Default != "" {
				text += ";\nALTER VIEW " + s.createdName(t) + " ALTER COLUMN " + ast.QuoteIdent(c.Name) + " SET DEFAULT " + s.defaultText(t, c)
			}
		}
		return "view", text
	case "S":
		return "sequence", s.createSequence(t, true)
	}
	return "table", s.createTable(t, true)
}

// temporary is the word of CREATE for relations that end with their session.
func (s *snapshot) temporary(t *catalog.Table) string {
	if s.persistence(t) == "t" {
		return "TEMPORARY "
	}
	return ""
}

// createdName is the name of a relation in its CREATE statement.
func (s *snapshot) createdName(t *catalog.Table) string {
	if s.persistence(t) == "t" {
		return ast.QuoteIdent(t.Name) // the schema is another one for each session
	}
	return s.qualified(t)
}

func (s *snapshot) createdView(t *catalog.Table) string {
	cols := visibleColumns(t)
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = ast.QuoteIdent(c.Name)
	}
	return s.createdName(t) + " (" + strings.Join(names, ", ") + ")" + optionsText(optionsOf(t)) + " AS" + s.viewQuery(t)
}

// createSequence makes a sequence, that belongs to its column if owned says so.
func (s *snapshot) createSequence(t *catalog.Table, owned bool) string {
	q := t.Sequence
	text := "CREATE " + s.temporary(t) + "SEQUENCE " + s.createdName(t) + " AS " + q.Type.SQLName + " " + sequenceText(q)
	if owner := s.tableByID(q.OwnerTable); owner != nil && owned {
		text += s.ownedBy(owner, t)
	}
	return text
}

func (s *snapshot) ownedBy(owner, q *catalog.Table) string {
	return " OWNED BY " + s.createdName(owner) + "." + s.columnName(owner, q.Sequence.OwnerColumn)
}

// isSerial reports whether a column is written as SERIAL, which makes its sequence q.
func isSerial(t *catalog.Table, c *catalog.Column, q *catalog.Table) bool {
	return c.Identity == 0 && c.NotNull && plainSequence(t, c, q) && slices.Equal(sequencesIn(c.Default), []uint32{q.Oid})
}

// sequenceText are the options of a sequence but its type and owner.
func sequenceText(q *catalog.Sequence) string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	text := "INCREMENT BY " + n(q.Increment) + " MINVALUE " + n(q.Min) + " MAXVALUE " + n(q.Max) + " START WITH " + n(q.Start) + " CACHE " + n(q.Cache)
	if q.Cycle {
		text += " CYCLE"
	}
	return text
}

// plainSequence reports whether a sequence is as SERIAL makes it for a column of t.
func plainSequence(t *catalog.Table, c *catalog.Column, q *catalog.Table) bool {
	top := map[uint32]int64{types.Int2.Oid: 1<<15 - 1, types.Int4.Oid: 1<<31 - 1, types.Int8.Oid: 1<<63 - 1}[c.Type.Oid]
	o := q.Sequence
	return q.Schema == t.Schema && q.Name == t.Name+"_"+c.Name+"_seq" && o.Type.Is(c.Type) &&
		o.Increment == 1 && o.Min == 1 && o.Max == top && o.Start == 1 && o.Cache == 1 && !o.Cycle
}

// createTable makes a table, with its foreign keys if keys says so.
func (s *snapshot) createTable(t *catalog.Table, keys bool) string {
	var defs []string
	for _, c := range visibleColumns(t) {
		defs = append(defs, s.columnText(t, c))
	}
	for _, ix := range visibleIndexes(t) {
		defs = append(defs, s.inlineIndexText(t, ix))
	}
	for i := range t.Checks {
		text, _ := s.constraintText(t, t.Checks[i].Oid, true)
		defs = append(defs, "CONSTRAINT "+ast.QuoteIdent(t.Checks[i].Name)+" "+text)
	}
	for i := range t.ForeignKeys {
		if keys {
			defs = append(defs, s.createdKey(t, &t.ForeignKeys[i]))
		}
	}
	defs = append(defs, familyTexts(t)...)
	body := ""
	if len(defs) > 0 {
		body = "\n\t" + strings.Join(defs, ",\n\t") + "\n"
	}
	text := "CREATE " + s.temporary(t) + "TABLE " + s.createdName(t) + " (" + body + ")" + optionsText(t.Options)
	if s.persistence(t) == "t" {
		text += map[catalog.OnCommit]string{catalog.DeleteRows: " ON COMMIT DELETE ROWS", catalog.DropTable: " ON COMMIT DROP"}[t.OnCommit]
	}
	if t.Tablespace != "" {
		text += " TABLESPACE " + ast.QuoteIdent(t.Tablespace)
	}
	return text
}

// columnText is the definition of a column, without constraints of the table.
func (s *snapshot) columnText(t *catalog.Table, c *catalog.Column) string {
	text := ast.QuoteIdent(c.Name) + " "
	q := s.tableByID(c.OwnsSequence)
	serial := q != nil && isSerial(t, c, q)
	if serial {
		text += map[uint32]string{types.Int2.Oid: "smallserial", types.Int4.Oid: "serial", types.Int8.Oid: "bigserial"}[c.Type.Oid]
	} else {
		text += s.declaredType(c) + s.collateText(c)
	}
	if c.NotVisible {
		text += " NOT VISIBLE"
	}
	if c.NotNull {
		text += " NOT NULL"
	}
	switch {
	case serial:
	case c.Identity != 0:
		text += " GENERATED " + map[byte]string{'a': "ALWAYS", 'd': "BY DEFAULT"}[c.Identity] + " AS IDENTITY"
		if q != nil && !plainSequence(t, c, q) {
			text += " (SEQUENCE NAME " + s.createdName(q) + " " + sequenceText(q.Sequence) + ")"
		}
	case c.Generated != "":
		text += " GENERATED ALWAYS AS (" + s.exprText(c.Generated) + map[bool]string{false: ") STORED", true: ") VIRTUAL"}[c.Virtual]
	case c.Default != "":
		text += " DEFAULT " + operandText(s.defaultText(t, c))
	}
	if c.OnUpdate != "" {
		text += " ON UPDATE " + operandText(s.exprText(c.OnUpdate))
	}
	return text
}

// operandText is an expression where the grammar takes no operators but arithmetic.
func operandText(text string) string {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return parenthesised(text)
	}
	return ast.FormatOperand(x)
}

// declaredType is the type of a column as it is written in a definition.
func (s *snapshot) declaredType(c *catalog.Column) string {
	t := c.Type
	if c.Domain != nil {
		t = c.Domain
	}
	return types.FormatType(s.c.qualified(t))
}

// inlineIndexText is an index, or the key constraint that it backs, as an element of
// CREATE TABLE. The names of indexes stand in quotes: without, some would be read as
// the type of a column called index.
func (s *snapshot) inlineIndexText(t *catalog.Table, ix *catalog.Index) string {
	var text string
	switch {
	case ix.Exclusion:
		text, _ = s.constraintText(t, ix.ConstraintOid, true)
		return "CONSTRAINT " + ast.QuoteIdent(ix.ConstraintName) + " " + text
	case ix.Constraint && ix.Primary:
		text = "CONSTRAINT " + ast.QuoteIdent(ix.ConstraintName) + " PRIMARY KEY"
	case ix.Constraint:
		text = "CONSTRAINT " + ast.QuoteIdent(ix.ConstraintName) + " UNIQUE"
		if ix.NullsNotDistinct {
			text += " NULLS NOT DISTINCT"
		}
	case ix.Method() == catalog.MethodInverted:
		text = "INVERTED INDEX " + ast.Quoted(ix.Name)
	case ix.Unique:
		text = "UNIQUE INDEX " + ast.Quoted(ix.Name)
	default:
		text = "INDEX " + ast.Quoted(ix.Name)
	}
	text += " (" + s.keysText(t, ix, false) + ")"
	if ix.Constraint {
		return text + s.includeText(t, ix) + bucketsText(ix) + optionsText(ix.Options) + deferralText(ix.Deferrable, ix.Deferred)
	}
	text += bucketsText(ix) + s.includeText(t, ix)
	if ix.NullsNotDistinct {
		text += " NULLS NOT DISTINCT"
	}
	text += optionsText(ix.Options)
	if !ix.Total() {
		text += " WHERE " + s.expr(ix.Where, t, types.Bool, false)
	}
	return text
}

// familyTexts are the column families that t states.
func familyTexts(t *catalog.Table) []string {
	var out []string
	for i := range t.Families {
		var names []string
		for _, id := range t.Families[i].Columns {
			if c := &t.Columns[t.ColumnByID(id)]; !c.Hidden {
				names = append(names, ast.QuoteIdent(c.Name))
			}
		}
		if len(names) > 0 {
			out = append(out, "FAMILY "+ast.Quoted(t.Families[i].Name)+" ("+strings.Join(names, ", ")+")")
		}
	}
	return out
}

// internalColumns lists the columns of relations, also those that * leaves out.
func internalColumns(s *snapshot, w *writer) error {
	for _, t := range s.relations() {
		if !w.wants("descriptor_id", t.Oid) {
			continue
		}
		for _, c := range visibleColumns(t) {
			w.oid("descriptor_id", t.Oid)
			w.str("descriptor_name", t.Name)
			w.num("column_id", int64(c.Attnum))
			w.str("column_name", c.Name)
			w.str("column_type", s.declaredType(c))
			w.flag("nullable", !c.NotNull)
			switch {
			case c.Generated != "":
				w.str("generation_expr", s.exprText(c.Generated))
			case c.Default != "":
				w.str("default_expr", s.defaultText(t, c))
			}
			w.flag("hidden", c.NotVisible)
			w.done()
		}
	}
	return nil
}
