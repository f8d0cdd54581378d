package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/collation"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// collationOf returns the oid of the collation of a type's values, 0 for none.
func collationOf(t *types.T) uint32 {
	if c := t.Collation(); c != nil {
		return c.Oid
	}
	return 0
}

// builtInCollations lists the collations that are no part of any database.
func builtInCollations(_ *snapshot, w *writer) error {
	for _, c := range types.Collations() {
		w.oid("oid", c.Oid)
		w.str("collname", c.Name)
		w.oid("collnamespace", oidPgCatalog)
		w.oid("collowner", oidRoot)
		w.flag("collisdeterministic", true)
		w.num("collencoding", builtInEncoding(c))
		provider := string(catalog.ProviderLibc)
		switch locale, libc := libcLocales[c.Name]; {
		case c == types.DefaultCollation:
			provider = "d"
		case libc:
			w.text("collcollate", locale)
			w.text("collctype", locale)
		default:
			provider = string(catalog.ProviderICU)
			w.text("colliculocale", c.Locale)
			w.text("collversion", collation.Version)
		}
		w.str("collprovider", provider)
		w.done()
	}
	return nil
}

// pgCollation lists the collations of the database.
func pgCollation(s *snapshot, w *writer) error {
	for _, t := range s.collations() {
		s.userCollation(t, w)
	}
	return nil
}

// libcLocales are the locales of the built-in collations of libc.
var libcLocales = map[string]string{"C": "C", "POSIX": "POSIX", "ucs_basic": "C", "C.utf8": "C.utf8"}

// builtInEncoding is the encoding that a collation is for, -1 for any.
func builtInEncoding(c *types.Collation) int64 {
	if c.Name == "ucs_basic" || c.Name == "C.utf8" {
		return utf8Encoding
	}
	return -1
}

func (s *snapshot) userCollation(t *catalog.Table, w *writer) {
	d := t.Collation
	schema, _ := s.schemaOf(t)
	w.oid("oid", t.Oid)
	w.str("collname", t.Name)
	w.oid("collnamespace", schema)
	w.oid("collowner", uint32(t.Owner))
	w.str("collprovider", string(d.Provider))
	w.flag("collisdeterministic", !d.Nondeterministic)
	w.num("collencoding", d.Encoding())
	if d.Provider == catalog.ProviderICU {
		w.text("colliculocale", d.Locale)
	} else {
		w.text("collcollate", d.Collate)
		w.text("collctype", d.Ctype)
	}
	if d.Version != "" {
		w.text("collversion", d.Version)
	}
	w.done()
}

// eachCollation calls f with the schema and name of every collation but the default one.
func (s *snapshot) eachCollation(f func(schema, name string)) {
	for _, c := range types.Collations() {
		if c != types.DefaultCollation {
			f(namePgCatalog, c.Name)
		}
	}
	for _, t := range s.collations() {
		f(s.schemaName(t), t.Name)
	}
}

// isCollations is information_schema.collations.
func isCollations(s *snapshot, w *writer) error {
	list := func(schema, name string) {
		s.named(w, "collation", schema, name)
		w.str("pad_attribute", "NO PAD")
		w.done()
	}
	list(namePgCatalog, types.DefaultCollation.Name)
	s.eachCollation(list)
	return nil
}

// isCollationSets is information_schema.collation_character_set_applicability.
func isCollationSets(s *snapshot, w *writer) error {
	s.eachCollation(func(schema, name string) {
		s.named(w, "collation", schema, name)
		w.str("character_set_name", "UTF8")
		w.done()
	})
	return nil
}

// collationColumns sets the columns of information_schema that name the collation of a type,
// where it is not the default one.
func (s *snapshot) collationColumns(w *writer, t *types.T) {
	c := t.Collation()
	if c == nil || c.Oid == 0 || c == types.DefaultCollation {
		return
	}
	schema, name := namePgCatalog, c.Name
	if !c.BuiltIn() {
		if d := s.ownerOf(c.Oid); d != nil {
			schema, name = s.schemaName(d), d.Name
		}
	}
	s.named(w, "collation", schema, name)
}

// collationName is how SQL refers to a collation, with its schema where the search path does
// not lead to it.
func (c *Catalog) collationName(l *types.Collation) string {
	if name, ok := c.collationByOid(l.Oid); ok {
		return name
	}
	return ast.QuoteIdent(l.Name)
}

func (c *Catalog) collationByOid(oid uint32) (string, bool) {
	if l := types.CollationByOid(oid); l != nil {
		return ast.QuoteIdent(l.Name), true
	}
	t := c.h.Coll.PeekByOid(c.ctx(), oid)
	if t == nil || t.Kind != catalog.KindCollation {
		return "", false
	}
	if c.collationVisible(t) {
		return ast.QuoteIdent(t.Name), true
	}
	schema := ""
	if d, err := c.h.Coll.Peek(c.ctx(), t.Schema); err == nil && d != nil {
		schema = ast.QuoteIdent(d.Ident().Name) + "."
	}
	return schema + ast.QuoteIdent(t.Name), true
}

// collationVisible reports whether the search path leads to a user-defined collation.
func (c *Catalog) collationVisible(t *catalog.Table) bool {
	found, err := c.h.Coll.FindCollation(c.ctx(), "", t.Name)
	return err == nil && found != nil && found.ID == t.ID
}

// collationOid finds a collation by the parts of its name.
func (c *Catalog) collationOid(parts []string) (uint32, error) {
	schema, name := "", parts[len(parts)-1]
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	t, err := c.h.Coll.FindCollation(c.ctx(), schema, name)
	switch {
	case pgerr.CodeOf(err) == pgerr.InvalidSchemaName:
	case err != nil:
		return 0, err
	case t != nil:
		return t.Oid, nil
	}
	if l := types.CollationByName(name); l != nil && (schema == "" || schema == namePgCatalog) {
		return l.Oid, nil
	}
	return 0, types.UndefinedCollation(strings.Join(parts, "."))
}

// collateText is the COLLATE clause of a column, "" where it has the collation of its type.
func (s *snapshot) collateText(c *catalog.Column) string {
	own, usual := c.Type.Collation(), c.Type.WithCollation(nil).Collation()
	if c.Domain != nil {
		usual = c.Domain.Collation()
	}
	if own == nil || own.Oid == usual.Oid {
		return ""
	}
	return " COLLATE " + s.c.collationName(own)
}
