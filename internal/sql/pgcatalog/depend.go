package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The letters of pg_depend: what depends goes with the other object only if CASCADE says so,
// goes with it unasked, or is a part of it.
const (
	dependNormal    = "n"
	dependAuto      = "a"
	dependInternal  = "i"
	dependExtension = "e"
)

// depends writes rows of pg_depend.
type depends struct {
	s *snapshot
	w *writer
}

// pgDepend lists what the objects of the database depend on, as PostgreSQL does: in what
// order pg_dump writes them, what DROP takes with it, what the views of information_schema
// say of uses. Of the system's objects only extensions have rows, the others are never
// dropped.
func pgDepend(s *snapshot, w *writer) error {
	d := depends{s, w}
	d.extensions()
	for _, x := range s.extensions() {
		d.members(x)
	}
	for _, t := range s.collations() {
		d.inSchema(address{oidPgCollation, t.Oid, 0}, t)
	}
	for _, g := range s.db.EventTriggers {
		if f := s.routineByID(g.Function); f != nil {
			d.row(address{oidPgEvent, g.Oid, 0}, address{oidPgProc, f.Oid, 0}, dependNormal)
		}
	}
	for _, t := range s.operators() {
		d.operator(t)
	}
	for _, t := range s.types() {
		d.userType(t)
	}
	for _, t := range s.tables() {
		if w.ended() {
			break
		}
		d.relation(t)
	}
	return nil
}

// row writes that an object depends on another.
func (d depends) row(obj, on address, kind string) {
	w := d.w
	if !w.wants("objid", obj.oid) || !w.wants("refobjid", on.oid) {
		return
	}
	w.oid("classid", obj.class)
	w.oid("objid", obj.oid)
	w.num("objsubid", obj.sub)
	w.oid("refclassid", on.class)
	w.oid("refobjid", on.oid)
	w.num("refobjsubid", on.sub)
	w.str("deptype", kind)
	w.done()
}

// rows writes that an object depends on several: on what is of the relation self, if that is
// not 0, by the letter own.
func (d depends) rows(obj address, on []address, self uint32, own string) {
	for _, a := range on {
		if kind := dependNormal; a.class == oidPgClass && a.oid == self {
			d.row(obj, a, own)
		} else {
			d.row(obj, a, kind)
		}
	}
}

// wants reports whether rows of what an object depends on are needed: finding out what its
// text refers to takes time.
func (d depends) wants(obj address) bool { return d.w.wants("objid", obj.oid) }

// extensions writes that the schema lichen_internal belongs to the extension that every database
// has, so that pg_dump leaves it out.
func (d depends) extensions() {
	own := address{oidPgExtension, catalog.ExtensionByName("plpgsql").Oid, 0}
	for _, v := range d.s.c.h.Coll.VirtualSchemas() {
		if v.Schema.Oid != oidLichenInternal {
			continue
		}
		d.row(address{oidPgNamespace, oidLichenInternal, 0}, own, dependExtension)
		for _, t := range v.Tables {
			d.row(address{oidPgClass, t.Oid, 0}, own, dependExtension)
		}
	}
}

// inSchema writes that an object depends on the schema of the descriptor t.
func (d depends) inSchema(obj address, t *catalog.Table) {
	if oid, _ := d.s.schemaOf(t); oid != 0 {
		d.row(obj, address{oidPgNamespace, oid, 0}, dependNormal)
	}
}

// onType writes that an object is of a type, and of its collation.
func (d depends) onType(obj address, t *types.T) {
	if isUserType(t) || t.Extension() != "" {
		d.row(obj, address{oidPgType, t.Oid, 0}, dependNormal)
	}
	d.onCollation(obj, t.Collation())
}

func (d depends) onCollation(obj address, c *types.Collation) {
	if c != nil && !c.BuiltIn() {
		d.row(obj, address{oidPgCollation, c.Oid, 0}, dependNormal)
	}
}

// userType writes what a user-defined type depends on.
func (d depends) userType(t *catalog.Table) {
	typ, def := address{oidPgType, t.Oid, 0}, t.UserType.Def
	d.inSchema(typ, t)
	d.arrayOf(t.Oid, def.ArrayOid)
	for _, c := range def.Casts {
		d.cast(c)
	}
	switch def.Kind {
	case types.DefComposite:
		d.row(address{oidPgClass, t.Oid, 0}, typ, dependInternal)
		for _, c := range compositeRelation(t).Columns {
			d.onType(address{oidPgClass, t.Oid, int64(c.Attnum)}, c.ValueType().Shown())
		}
	case types.DefDomain:
		d.domain(t)
	case types.DefRange:
		d.onType(typ, def.Base)
	case types.DefMultirange:
		d.row(typ, address{oidPgType, def.Base.Oid, 0}, dependInternal)
	}
}

// cast writes what a cast that a user has made depends on.
func (d depends) cast(c types.CastDef) {
	obj := address{oidPgCast, c.Oid, 0}
	for _, oid := range [...]uint32{c.From, c.To} {
		if oid >= catalog.FirstUserOid {
			d.row(obj, address{oidPgType, oid, 0}, dependNormal)
		}
	}
	if c.Function != nil && c.Function.ID != 0 {
		d.row(obj, address{oidPgProc, c.Function.Oid, 0}, dependNormal)
	}
}

// arrayOf writes that the type of arrays belongs to that of their elements.
func (d depends) arrayOf(elem, array uint32) {
	if array != 0 && array != types.RecordArray.Oid {
		d.row(address{oidPgType, array, 0}, address{oidPgType, elem, 0}, dependInternal)
	}
}

func (d depends) domain(t *catalog.Table) {
	typ, def := address{oidPgType, t.Oid, 0}, t.UserType.Def
	d.onType(typ, def.Base)
	if d.wants(typ) && def.Default != "" {
		on := d.s.exprReferences(def.Default, nil, nil, def.Base)
		if isUserType(def.Base) { // it is converted to that
			on = withAddress(on, address{oidPgType, def.Base.Oid, 0})
		}
		d.rows(typ, on, 0, "")
	}
	for i := range def.Checks {
		check := address{oidPgConstraint, def.Checks[i].Oid, 0}
		d.row(check, typ, dependAuto)
		if d.wants(check) {
			d.rows(check, d.s.exprReferences(def.Checks[i].Expr, nil, valueType(t.UserType), types.Bool), 0, "")
		}
	}
}

func withAddress(list []address, a address) []address {
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// relation writes what a relation and its parts depend on.
func (d depends) relation(t *catalog.Table) {
	rel := address{oidPgClass, t.Oid, 0}
	d.inSchema(rel, t)
	if x := d.s.db.ExtensionNamed(t.Extension); x != nil {
		d.row(rel, address{oidPgExtension, x.Oid, 0}, dependExtension)
	}
	if t.HasRows() {
		d.row(address{oidPgType, t.Oid, 0}, rel, dependInternal)
		d.arrayOf(t.Oid, t.RowArrayOid)
	}
	if t.View != nil {
		d.rule(t)
	}
	if t.Kind == catalog.KindSequence {
		d.sequence(t)
		return
	}
	d.extended(t)
	for _, c := range visibleColumns(t) {
		d.onType(address{oidPgClass, t.Oid, int64(c.Attnum)}, c.ValueType().Shown().WithCollation(c.Type.Collation()))
		d.columnDefault(t, c)
	}
	for _, ix := range visibleIndexes(t) {
		d.index(t, ix)
	}
	for i := range t.Checks {
		d.check(t, &t.Checks[i])
	}
	for i := range t.ForeignKeys {
		d.foreignKey(t, &t.ForeignKeys[i])
	}
	d.policies(t)
	d.triggers(t)
}

// rule writes what the rule of a view depends on, which is what its query refers to.
func (d depends) rule(t *catalog.Table) {
	rule, rel := address{oidPgRewrite, ruleOid(t), 0}, address{oidPgClass, t.Oid, 0}
	d.row(rule, rel, dependInternal)
	d.row(rule, rel, dependNormal)
	if d.wants(rule) {
		d.rows(rule, d.s.viewReferences(t.View), 0, "")
	}
}

// sequence writes to which column a sequence belongs.
func (d depends) sequence(t *catalog.Table) {
	o := d.s.tableByID(t.Sequence.OwnerTable)
	if o == nil {
		return
	}
	kind := dependAuto
	if i := o.ColumnByID(t.Sequence.OwnerColumn); i >= 0 && o.Columns[i].Identity != 0 {
		kind = dependInternal
	}
	d.row(address{oidPgClass, t.Oid, 0}, columnAddress(o, t.Sequence.OwnerColumn), kind)
}

func columnAddress(t *catalog.Table, id catalog.ColumnID) address {
	return address{oidPgClass, t.Oid, int64(attnum(t, id))}
}

func (d depends) columnDefault(t *catalog.Table, c *catalog.Column) {
	if !hasDefault(c) {
		return
	}
	obj, kind := address{oidPgAttrdef, attrdefOid(t, c), 0}, dependAuto
	text, of := c.Default, (*catalog.Table)(nil)
	if c.Generated != "" {
		text, of, kind = c.Generated, t, dependInternal
	}
	d.row(obj, columnAddress(t, c.ID), kind)
	if !d.wants(obj) {
		return
	}
	on := d.s.exprReferences(text, of, nil, c.Type)
	if c.Domain != nil {
		on = withAddress(on, address{oidPgType, c.Domain.Oid, 0})
	}
	d.rows(obj, on, 0, "")
}

// index writes what an index depends on, and the constraint that it backs.
func (d depends) index(t *catalog.Table, ix *catalog.Index) {
	obj, key := address{oidPgClass, ix.Oid, 0}, keyAddresses(t, ix)
	if ix.Constraint {
		con := address{oidPgConstraint, ix.ConstraintOid, 0}
		d.row(obj, con, dependInternal)
		d.rows(con, key, t.Oid, dependAuto)
	} else {
		d.rows(obj, key, t.Oid, dependAuto)
	}
	for _, k := range ix.Columns {
		d.onCollation(obj, k.Collate)
	}
	if !d.wants(obj) {
		return
	}
	for _, text := range indexTexts(t, ix) {
		on := slices.DeleteFunc(d.s.exprReferences(text, t, nil, nil), func(a address) bool { return slices.Contains(key, a) })
		d.rows(obj, on, t.Oid, dependAuto)
	}
}

// keyAddresses are the columns of t that an index has, or t if it has expressions only.
func keyAddresses(t *catalog.Table, ix *catalog.Index) []address {
	var out []address
	for _, id := range indexColumns(ix) {
		if a := columnAddress(t, id); a.sub != 0 {
			out = withAddress(out, a)
		}
	}
	return orRelation(t, out)
}

// orRelation is a list of columns of t, or t itself if there are none.
func orRelation(t *catalog.Table, columns []address) []address {
	if len(columns) == 0 {
		return []address{{oidPgClass, t.Oid, 0}}
	}
	return columns
}

// indexTexts are the expressions in the key of an index, and its predicate.
func indexTexts(t *catalog.Table, ix *catalog.Index) []string {
	var out []string
	for _, id := range indexColumns(ix) {
		if c := &t.Columns[t.ColumnByID(id)]; c.IndexExpression() {
			out = append(out, c.Generated)
		}
	}
	if !ix.Total() {
		out = append(out, ix.Where)
	}
	return out
}

func (d depends) check(t *catalog.Table, k *catalog.Check) {
	obj := address{oidPgConstraint, k.Oid, 0}
	var own []address
	for _, id := range k.Columns {
		own = append(own, columnAddress(t, id))
	}
	d.rows(obj, orRelation(t, own), t.Oid, dependAuto)
	if d.wants(obj) {
		d.rows(obj, d.s.exprReferences(k.Expr, t, nil, types.Bool), 0, "")
	}
}

func (d depends) foreignKey(t *catalog.Table, k *catalog.ForeignKey) {
	ref := d.s.tableByID(k.Table)
	if ref == nil {
		return
	}
	obj := address{oidPgConstraint, k.Oid, 0}
	for _, id := range k.Columns {
		d.row(obj, columnAddress(t, id), dependAuto)
	}
	for _, id := range k.RefColumns {
		d.row(obj, columnAddress(ref, id), dependNormal)
	}
	d.row(obj, address{oidPgClass, k.RefIndex, 0}, dependNormal)
}

// pgShdepend lists what depends on tablespaces. Everything belongs to roles that are never
// dropped.
func pgShdepend(s *snapshot, w *writer) error {
	row := func(oid uint32, space string) {
		if space == "" {
			return
		}
		w.oid("dbid", s.db.Oid)
		w.oid("classid", oidPgClass)
		w.oid("objid", oid)
		w.num("objsubid", 0)
		w.oid("refclassid", oidPgTablespace)
		w.oid("refobjid", s.tablespaceOid(space))
		w.str("deptype", "t")
		w.done()
	}
	for _, t := range s.tables() {
		row(t.Oid, t.Tablespace)
		for _, ix := range visibleIndexes(t) {
			row(ix.Oid, ix.Tablespace)
		}
	}
	return nil
}
