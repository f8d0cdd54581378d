package pgcatalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// builtInTypes lists the types that are no part of any database.
func builtInTypes(s *snapshot, w *writer) error {
	for _, t := range types.All() {
		s.typeRow(w, t, oidPgCatalog)
	}
	return nil
}

// pgType lists the types of the database.
func pgType(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		x.types(s, w)
	}
	for _, d := range s.types() {
		schema, _ := s.schemaOf(d)
		if w.wants("oid", d.Oid) {
			s.typeRow(w, d.UserType, schema)
		}
		if a, ok := types.ArrayOf(d.UserType); ok && w.wants("oid", a.Oid) {
			s.typeRow(w, a, schema)
		}
	}
	return s.rowTypes(w)
}

// rowTypes lists the types of relations' rows, and of arrays of them.
func (s *snapshot) rowTypes(w *writer) error {
	rows, arrays := w.wantsText("typtype", "c"), w.wantsText("typtype", "b")
	if !rows && !arrays {
		return nil
	}
	for _, t := range s.relations() {
		if t.Kind == catalog.KindSequence {
			continue
		}
		schema, _ := s.schemaOf(t)
		row := catalog.RowType(t)
		if rows && w.wants("oid", t.Oid) {
			s.typeRow(w, row, schema)
		}
		if !arrays {
			continue
		}
		if a, ok := types.ArrayOf(row); ok && row.HasArrays() && w.wants("oid", a.Oid) {
			s.typeRow(w, a, schema)
		}
	}
	return nil
}

// typeSchema names the schema of a type: that of its elements for an array.
func (s *snapshot) typeSchema(t *types.T) string {
	if t.Elem != nil && t.Def == nil {
		t = t.Elem
	}
	if t.Def != nil {
		if d := s.ownerOf(t.Oid); d != nil {
			return s.schemaName(d)
		}
	}
	if x := t.Extension(); x != "" {
		if in, _ := s.c.h.Coll.PeekExtensionSchema(s.ctx, x); in != nil {
			return in.Name
		}
	}
	return namePgCatalog
}

// typname is the name of a type, which for arrays of user-defined ones depends on what else
// there is.
func (s *snapshot) typname(t *types.T) string {
	if t.Def == nil && t.Elem != nil && t.Elem.Def != nil {
		if d := s.ownerOf(t.Oid); d != nil {
			return s.arrayName(d)
		}
	}
	return t.Name
}

// arrayName is the name of the arrays of a type: its own behind as many underscores as it
// takes to be no other type's, nor the arrays' of an older one.
func (s *snapshot) arrayName(d *catalog.Table) string {
	name := "_" + d.Name
	schema := s.schemaByID(d.Schema)
	for schema != nil && (s.typeIn(schema, name) != nil || s.namesOlderArrays(schema, d, name)) {
		name = "_" + name
	}
	return name
}

// namesOlderArrays reports whether the arrays of a type that is older than d have a name.
func (s *snapshot) namesOlderArrays(schema *catalog.Schema, d *catalog.Table, name string) bool {
	for elem := name; strings.HasPrefix(elem, "_"); {
		elem = elem[1:]
		if o := s.typeIn(schema, elem); o != nil && o.Oid < d.Oid && s.arrayName(o) == name {
			return true
		}
	}
	return false
}

// typeIn returns the type, or the relation that is one, of a name in a schema.
func (s *snapshot) typeIn(schema *catalog.Schema, name string) *catalog.Table {
	if schema.ID.IsVirtual() {
		return s.c.h.Coll.BuiltInNamed(schema.ID, name)
	}
	return s.c.h.Coll.PeekTypeNamed(s.ctx, schema.ID, name)
}

// pgEnum lists the labels of enums.
func pgEnum(s *snapshot, w *writer) error {
	for _, d := range s.types() {
		if !w.wants("enumtypid", d.Oid) {
			continue
		}
		labels := slices.Clone(d.UserType.Def.Labels)
		slices.SortFunc(labels, func(a, b types.EnumLabel) int { return cmp.Compare(a.Oid, b.Oid) }) // as they were added
		for _, l := range labels {
			w.oid("oid", l.Oid)
			w.oid("enumtypid", d.Oid)
			w.float("enumsortorder", float64(l.Order))
			w.str("enumlabel", l.Name)
			w.done()
		}
	}
	return nil
}

// rangeFunctions are the functions of a range type for its canonical form and for
// differences, by oid.
var rangeFunctions = map[uint32][2]uint32{
	types.Int4Range.Oid: {3914, 3922}, types.Int8Range.Oid: {3928, 3923}, types.DateRange.Oid: {3915, 3925},
	types.NumRange.Oid: {0, 3924}, types.TSRange.Oid: {0, 3929}, types.TSTZRange.Oid: {0, 3930},
}

// rangeFunctionNames are the names of rangeFunctions and of others that serve them.
var rangeFunctionNames = map[uint32]string{
	219: "float8mi", 3914: "int4range_canonical", 3915: "daterange_canonical", 3928: "int8range_canonical",
	3922: "int4range_subdiff", 3923: "int8range_subdiff", 3924: "numrange_subdiff", 3925: "daterange_subdiff",
	3929: "tsrange_subdiff", 3930: "tstzrange_subdiff",
}

// pgRange lists the range types.
func pgRange(s *snapshot, w *writer) error {
	list := types.All()
	for _, d := range s.types() {
		list = append(list, d.UserType)
	}
	for _, t := range list {
		if t.Family != types.RangeFamily || t.Def != nil && t.Def.Kind == types.DefDomain {
			continue
		}
		multi, _ := types.MultirangeOf(t)
		fns, collation := rangeFunctions[t.Oid], collationOf(t.Sub)
		if t.Def != nil {
			for oid, name := range rangeFunctionNames {
				if name == t.Def.SubDiff {
					fns[1] = oid
				}
			}
		}
		w.oid("rngtypid", t.Oid)
		w.oid("rngsubtype", t.Sub.Oid)
		w.oid("rngmultitypid", multi.Oid)
		w.oid("rngcollation", collation)
		w.oid("rngsubopc", opclassOf(t.Sub))
		w.oid("rngcanonical", fns[0])
		w.oid("rngsubdiff", fns[1])
		w.done()
	}
	return nil
}

// typeOwner returns who owns a type, and who may use it.
func (s *snapshot) typeOwner(t *types.T) (uint32, privilege.ACL) {
	if name := t.Extension(); name != "" {
		if x := s.db.ExtensionNamed(name); x != nil {
			return uint32(x.Owner), nil
		}
	}
	if t.Oid < catalog.FirstUserOid {
		return oidRoot, nil
	}
	d, ok := s.c.h.Coll.PeekOwner(t.Oid).(*catalog.Table)
	switch {
	case !ok:
		return oidRoot, nil
	case d.Kind != catalog.KindType || d.Oid != t.Oid: // of a relation's rows, or an array
		return uint32(d.Owner), nil
	}
	return uint32(d.Owner), d.ACL
}

func (s *snapshot) typeRow(w *writer, t *types.T, schema uint32) {
	info, sup := types.InfoOf(t), supportOf(t)
	w.oid("oid", t.Oid)
	w.str("typname", s.typname(t))
	w.oid("typnamespace", schema)
	owner, acl := s.typeOwner(t)
	w.oid("typowner", owner)
	w.acl("typacl", acl)
	w.num("typlen", int64(info.Len))
	w.flag("typbyval", info.ByVal)
	w.str("typtype", string(info.Kind))
	w.str("typcategory", string(info.Category))
	w.flag("typispreferred", info.Preferred)
	w.flag("typisdefined", true)
	w.str("typdelim", string(t.Delimiter()))
	if w.oid("typrelid", 0); t.Def != nil && t.Def.Kind == types.DefComposite {
		w.oid("typrelid", t.Oid)
	}
	w.oid("typsubscript", subscriptOf(t))
	w.oid("typelem", 0)
	switch {
	case t.Is(types.Name): // a name can be subscripted
		w.oid("typelem", types.Char.Oid)
	case t.Def == nil && t.Subscripted() != nil:
		w.oid("typelem", t.Subscripted().Oid)
	}
	if w.oid("typarray", 0); t.Def == nil || t.HasArrays() {
		w.oid("typarray", info.ArrayOid)
	}
	w.oid("typinput", sup.in)
	w.oid("typoutput", sup.out)
	w.oid("typreceive", sup.recv)
	w.oid("typsend", sup.send)
	mod := typmodFunctions(t)
	w.oid("typmodin", mod[0])
	w.oid("typmodout", mod[1])
	w.oid("typanalyze", 0)
	w.oid("typbasetype", 0)
	w.str("typalign", string(info.Align))
	w.str("typstorage", string(info.Storage))
	w.flag("typnotnull", t.Def != nil && t.Def.NotNull)
	w.num("typtypmod", -1)
	if t.Def != nil && t.Def.Kind == types.DefDomain {
		w.oid("typbasetype", t.Def.Base.Oid)
		w.num("typtypmod", int64(t.Def.Base.Typmod))
		if t.Def.Default != "" {
			text := s.domainDefault(t.Def)
			w.text("typdefaultbin", text)
			w.text("typdefault", text)
		}
	}
	w.num("typndims", 0)
	collation := collationOf(t)
	if t.Is(types.Citext) || t.Is(types.CitextArray) {
		collation = types.DefaultCollation.Oid
	}
	w.oid("typcollation", collation)
	w.done()
}

// typmodFunctions are the functions that read and print a type's modifier, 0 if it has none;
// arrays have those of their elements.
func typmodFunctions(t *types.T) [2]uint32 {
	if t.Def != nil {
		return [2]uint32{}
	}
	if t.Elem != nil {
		t = t.Elem
	}
	switch t.Oid {
	case types.Bpchar.Oid:
		return [2]uint32{2913, 2914}
	case types.Varchar.Oid:
		return [2]uint32{2915, 2916}
	case types.Numeric.Oid:
		return [2]uint32{2917, 2918}
	case types.Bit.Oid:
		return [2]uint32{2919, 2920}
	case types.Varbit.Oid:
		return [2]uint32{2902, 2921}
	case types.Interval.Oid:
		return [2]uint32{2903, 2904}
	case types.Timestamp.Oid:
		return [2]uint32{2905, 2906}
	case types.TimestampTZ.Oid:
		return [2]uint32{2907, 2908}
	case types.Time.Oid:
		return [2]uint32{2909, 2910}
	case types.TimeTZ.Oid:
		return [2]uint32{2911, 2912}
	}
	return [2]uint32{}
}

// subscriptOf returns the function for subscripts of a type, 0 if it has none.
func subscriptOf(t *types.T) uint32 {
	switch {
	case t.Is(types.JSONB):
		return 6098
	case t.Is(types.Name), t.Def == nil && t.Family == types.GeometryFamily && t.Subscripted() != nil:
		return 6180
	case t.Elem != nil && (t.Def == nil || t.Def.Kind != types.DefDomain):
		return 6179
	}
	return 0
}

// otherClasses are the btree operator classes that an index may ask for besides the default ones.
var otherClasses = [...]struct {
	oid, family, input uint32
	name               string
}{
	{4217, 2095, types.Text.Oid, "text_pattern_ops"},
	{4218, 2095, types.Text.Oid, "varchar_pattern_ops"},
	{4219, 2097, types.Bpchar.Oid, "bpchar_pattern_ops"},
	{10009, 1974, types.Inet.Oid, "cidr_ops"},
	{10044, 1994, types.Text.Oid, "varchar_ops"},
}

// pgOpclass lists the operator classes of btree, hash and inverted indexes.
func pgOpclass(_ *snapshot, w *writer) error {
	var all []*typeSupport
	for _, s := range typeSupports() {
		if s.opclass != 0 {
			all = append(all, s)
		}
	}
	for kind, pseudo := range map[types.DefKind]uint32{types.DefEnum: 3500, types.DefRange: 3831, types.DefMultirange: 4537} {
		s := userSupport[kind]
		s.typ = pseudo
		all = append(all, &s)
	}
	slices.SortFunc(all, func(a, b *typeSupport) int { return int(a.opclass) - int(b.opclass) })
	for _, s := range all {
		opclassRow(w, s, oidBtree, oidPgCatalog)
		if h, ok := hashClasses[s.opclassName]; ok {
			opclassRow(w, &typeSupport{opclass: h.oid, opfamily: h.family, typ: s.typ, opclassName: s.opclassName}, oidHash, oidPgCatalog)
		}
	}
	for _, c := range otherClasses {
		opclassRow(w, &typeSupport{opclass: c.oid, opfamily: c.family, typ: c.input, opclassName: c.name}, oidBtree, oidPgCatalog)
	}
	for _, c := range inverted.Classes() {
		if catalog.ExtensionOfClass(c.Name) == "" {
			invertedClassRow(w, c, oidPgCatalog)
		}
	}
	return nil
}

// invertedClassRow writes an operator class of inverted indexes.
func invertedClassRow(w *writer, c *inverted.Class, schema uint32) {
	w.oid("oid", c.Oid)
	w.oid("opcmethod", oidGIN)
	w.str("opcname", c.Name)
	w.oid("opcnamespace", schema)
	w.oid("opcowner", oidRoot)
	w.oid("opcfamily", c.Family)
	w.oid("opcintype", c.Input.Oid)
	w.flag("opcdefault", c.Default)
	w.oid("opckeytype", c.Key.Oid)
	w.done()
}

// opclassRow writes an operator class of btree or hash indexes: the default one of the type, or one of otherClasses.
func opclassRow(w *writer, s *typeSupport, method, schema uint32) {
	isDefault := true
	for _, c := range otherClasses {
		isDefault = isDefault && c.oid != s.opclass
	}
	w.oid("oid", s.opclass)
	w.oid("opcmethod", method)
	w.str("opcname", s.opclassName)
	w.oid("opcnamespace", schema)
	w.oid("opcowner", oidRoot)
	w.oid("opcfamily", s.opfamily)
	w.oid("opcintype", s.typ)
	w.flag("opcdefault", isDefault)
	w.oid("opckeytype", 0)
	w.done()
}

// pgAm lists the access methods.
func pgAm(_ *snapshot, w *writer) error {
	for _, a := range []struct {
		oid        uint32
		name, kind string
	}{{oidHeap, "heap", "t"}, {oidBtree, "btree", "i"}, {oidHash, "hash", "i"}, {oidGIN, "gin", "i"}} {
		w.oid("oid", a.oid)
		w.str("amname", a.name)
		w.oid("amhandler", 0)
		w.str("amtype", a.kind)
		w.done()
	}
	return nil
}

// opfamilyNames are the btree operator families of types.txt.
func opfamilyNames() map[uint32]string {
	return map[uint32]string{
		3522: "enum_ops", 3901: "range_ops", 4199: "multirange_ops",
		397: "array_ops", 424: "bool_ops", 426: "bpchar_ops", 428: "bytea_ops", 429: "char_ops", 434: "datetime_ops",
		1970: "float_ops", 1976: "integer_ops", 1982: "interval_ops", 1988: "numeric_ops", 1989: "oid_ops",
		1991: "oidvector_ops", 1994: "text_ops", 1996: "time_ops", 2000: "timetz_ops", 2968: "uuid_ops",
		2994: "record_ops", 4033: "jsonb_ops", 1974: "network_ops", 1984: "macaddr_ops", 3371: "macaddr8_ops",
		2095: "text_pattern_ops", 2097: "bpchar_pattern_ops",
		423: "bit_ops", 2002: "varbit_ops", 2099: "money_ops", 2789: "tid_ops", 3253: "pg_lsn_ops", 5067: "xid8_ops",
	}
}

// pgOpfamily lists the operator families.
func pgOpfamily(_ *snapshot, w *writer) error {
	names := opfamilyNames()
	ids := make([]uint32, 0, len(names))
	for oid := range names {
		ids = append(ids, oid)
	}
	slices.Sort(ids)
	for _, oid := range ids {
		opfamilyRow(w, oid, oidBtree, names[oid], oidPgCatalog)
	}
	hashFamilies(w)
	for _, c := range inverted.Classes() {
		if catalog.ExtensionOfClass(c.Name) == "" {
			opfamilyRow(w, c.Family, oidGIN, c.Name, oidPgCatalog)
		}
	}
	return nil
}

func opfamilyRow(w *writer, oid, method uint32, name string, schema uint32) {
	w.oid("oid", oid)
	w.oid("opfmethod", method)
	w.str("opfname", name)
	w.oid("opfnamespace", schema)
	w.oid("opfowner", oidRoot)
	w.done()
}
