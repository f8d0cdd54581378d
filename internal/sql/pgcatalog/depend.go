package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pgDepend lists what clients look for: sequences that belong to columns,
// defaults that use sequences, indexes that belong to constraints, and what types and
// views are made of, which is the order in which pg_dump writes them.
func pgDepend(s *snapshot, w *writer) error {
	row := func(class, obj uint32, sub int64, refClass, ref uint32, refSub int64, kind string) {
		if !w.wants("objid", obj) || !w.wants("refobjid", ref) {
			return
		}
		w.oid("classid", class)
		w.oid("objid", obj)
		w.num("objsubid", sub)
		w.oid("refclassid", refClass)
		w.oid("refobjid", ref)
		w.num("refobjsubid", refSub)
		w.str("deptype", kind)
		w.done()
	}
	for _, v := range s.c.h.Coll.VirtualSchemas() {
		if v.Schema.Oid != oidLichenInternal {
			continue
		}
		row(oidPgNamespace, oidLichenInternal, 0, oidPgExtension, oidLichenExtension, 0, "e")
		for _, t := range v.Tables {
			row(oidPgClass, t.Oid, 0, oidPgExtension, oidLichenExtension, 0, "e")
		}
	}
	for _, d := range s.types() {
		s.typeDepends(d, row)
	}
	for _, t := range s.tables() {
		s.tableDepends(t, row)
	}
	return nil
}

// dependRow takes a row of pg_depend.
type dependRow func(class, obj uint32, sub int64, refClass, ref uint32, refSub int64, kind string)

// tableDepends lists what a relation, its defaults and its indexes depend on.
func (s *snapshot) tableDepends(t *catalog.Table, row dependRow) {
	if t.View != nil {
		for _, id := range t.View.Uses {
			if o := s.tableByID(id); o != nil { // directly, without a rule between
				row(oidPgClass, t.Oid, 0, oidPgClass, o.Oid, 0, "n")
			}
		}
	}
	if t.Kind == catalog.KindSequence && t.Sequence.OwnerTable != 0 {
		if o := s.tableByID(t.Sequence.OwnerTable); o != nil {
			kind := "a"
			if ord := o.ColumnByID(t.Sequence.OwnerColumn); ord >= 0 && o.Columns[ord].Identity != 0 {
				kind = "i"
			}
			row(oidPgClass, t.Oid, 0, oidPgClass, o.Oid, int64(attnum(o, t.Sequence.OwnerColumn)), kind)
		}
	}
	s.columnDepends(t, row)
	indexDepends(t, row)
}

func (s *snapshot) columnDepends(t *catalog.Table, row dependRow) {
	for _, c := range visibleColumns(t) {
		for _, oid := range madeOf(c.Type).collations {
			row(oidPgClass, t.Oid, int64(c.Attnum), oidPgCollation, oid, 0, "n")
		}
		if !hasDefault(c) {
			continue
		}
		kind := "a"
		if c.Generated != "" {
			kind = "i"
		}
		row(oidPgAttrdef, attrdefOid(t, c), 0, oidPgClass, t.Oid, int64(c.Attnum), kind)
		for _, oid := range sequencesIn(c.Default) {
			row(oidPgAttrdef, attrdefOid(t, c), 0, oidPgClass, oid, 0, "n")
		}
	}
}

func indexDepends(t *catalog.Table, row dependRow) {
	for _, ix := range visibleIndexes(t) {
		for _, k := range ix.Columns {
			if k.Collate != nil && !k.Collate.BuiltIn() {
				row(oidPgClass, ix.Oid, 0, oidPgCollation, k.Collate.Oid, 0, "n")
			}
		}
		if ix.Constraint {
			row(oidPgClass, ix.Oid, 0, oidPgConstraint, ix.ConstraintOid, 0, "i")
			for _, k := range ix.Columns {
				row(oidPgConstraint, ix.ConstraintOid, 0, oidPgClass, t.Oid, int64(attnum(t, k.Column)), "a")
			}
			continue
		}
		for _, id := range readByIndex(t, ix) {
			row(oidPgClass, ix.Oid, 0, oidPgClass, t.Oid, int64(attnum(t, id)), "a")
		}
	}
}

// readByIndex lists the columns of a table that an index has, or that its expressions and its
// predicate read, each once.
func readByIndex(t *catalog.Table, ix *catalog.Index) []catalog.ColumnID {
	var out []catalog.ColumnID
	add := func(ids ...catalog.ColumnID) {
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	for _, id := range indexColumns(ix) {
		if c := &t.Columns[t.ColumnByID(id)]; c.IndexExpression() {
			add(c.BaseColumns...)
		} else {
			add(id)
		}
	}
	add(ix.WhereColumns...)
	if len(out) == 0 { // constants only
		out = append(out, 0)
	}
	return out
}

// typeDepends lists the types and collations that a type is made of.
func (s *snapshot) typeDepends(d *catalog.Table, row dependRow) {
	parts := madeOf(d.UserType)
	for _, oid := range parts.types {
		kind := "n"
		if d.UserType.Def.Kind == types.DefMultirange && d.UserType.Def.Base.Oid == oid {
			kind = "i"
		}
		if oid != d.Oid {
			row(oidPgType, d.Oid, 0, oidPgType, oid, 0, kind)
		}
	}
	for _, oid := range parts.collations {
		row(oidPgType, d.Oid, 0, oidPgCollation, oid, 0, "n")
	}
}

// typeParts are the oids of the user-defined types and collations that a type is made of.
type typeParts struct{ types, collations []uint32 }

func madeOf(t *types.T) (p typeParts) {
	p.add(t)
	return p
}

func (p *typeParts) add(t *types.T) {
	if t == nil {
		return
	}
	if c := t.Declared(); c != nil && !c.BuiltIn() && !slices.Contains(p.collations, c.Oid) {
		p.collations = append(p.collations, c.Oid)
	}
	p.add(t.Domain())
	p.add(t.Elem)
	if t.Def == nil {
		return
	}
	if !slices.Contains(p.types, t.Oid) {
		p.types = append(p.types, t.Oid)
	}
	for _, f := range t.Def.Fields {
		p.add(f.Type)
	}
	p.add(t.Def.Base)
}
