package pgcatalog

import (
	_ "embed" // for tables.txt and types.txt
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// tablesText lists the relations: schema.name, oid, kind (r, v, or s for a shared table) and the
// columns as name:type, with ! after the type of those that are never NULL.
//
//go:embed tables.txt
var tablesText string

// The oids of the built-in schemas.
const (
	oidPgCatalog         = 11
	oidInformationSchema = 13200
	oidLichenInternal    = 14100
)

// The names of the built-in schemas.
const (
	namePgCatalog         = "pg_catalog"
	nameInformationSchema = "information_schema"
	nameLichenInternal    = "lichen_internal"
)

func virtualID(oid uint32) catalog.ID { return catalog.VirtualBase + catalog.ID(oid) }

// builtIn is what tables.txt describes.
type builtIn struct {
	schemas []catalog.VirtualSchema
	// isShared tells the relations that all databases share.
	isShared map[uint32]bool
	// ords maps the column names of each relation to their positions.
	ords map[catalog.ID]map[string]int
}

var builtIns = sync.OnceValue(parseTables)

// Schemas returns the built-in schemas with their relations.
func Schemas() []catalog.VirtualSchema { return builtIns().schemas }

func parseTables() *builtIn {
	b := &builtIn{isShared: map[uint32]bool{}, ords: map[catalog.ID]map[string]int{}}
	schema := func(name string, oid uint32) *catalog.VirtualSchema {
		b.schemas = append(b.schemas, catalog.VirtualSchema{Schema: &catalog.Schema{
			ID: virtualID(oid), Oid: oid, Version: 1, Name: name, Owner: catalog.RootOid,
		}})
		return &b.schemas[len(b.schemas)-1]
	}
	schema(namePgCatalog, oidPgCatalog)
	schema(nameInformationSchema, oidInformationSchema)
	schema(nameLichenInternal, oidLichenInternal)
	for _, line := range strings.Split(strings.TrimSpace(tablesText), "\n") {
		f := strings.Fields(line)
		in, name, _ := strings.Cut(f[0], ".")
		i := slices.IndexFunc(b.schemas, func(v catalog.VirtualSchema) bool { return v.Schema.Name == in })
		must.True(i >= 0, "tables.txt: unknown schema %s", in)
		s := &b.schemas[i]
		t := b.table(s.Schema.ID, name, f)
		s.Tables = append(s.Tables, t)
	}
	return b
}

func (b *builtIn) table(schema catalog.ID, name string, f []string) *catalog.Table {
	oids := [2]uint32{}
	for i, text := range strings.Split(f[1], "/") {
		n, err := strconv.ParseUint(text, 10, 32)
		must.True(err == nil, "tables.txt: bad oid of %s", name)
		oids[i] = uint32(n)
	}
	t := &catalog.Table{
		ID: virtualID(oids[0]), Oid: oids[0], RowArrayOid: oids[1], Version: 1, Schema: schema, Name: name, Owner: catalog.RootOid,
		Kind: catalog.KindVirtual, NextColumnID: catalog.ColumnID(len(f) - 2), NextAttnum: int16(len(f) - 2),
	}
	t.ACL = privilege.Table.Default(catalog.RootOid)
	if may := publicMay(t); may != "" {
		t.ACL = append(t.ACL, privilege.Item{Grantor: catalog.RootOid, Privileges: privilege.Bits(types.ACLBits(may))})
	}
	t.BuiltInView, b.isShared[t.Oid] = f[2] == "v", f[2] == "s"
	ords := map[string]int{}
	for i, c := range f[3:] {
		col, typ, _ := strings.Cut(c, ":")
		typ, notNull := strings.CutSuffix(typ, "!")
		ty, ok := typeNamed(typ)
		must.True(ok, "tables.txt: unknown type %s of %s.%s", typ, name, col)
		t.Columns = append(t.Columns, catalog.Column{
			ID: catalog.ColumnID(i + 1), Attnum: int16(i + 1), Name: col, Type: ty, NotNull: notNull,
		})
		ords[col] = i
	}
	t.Indexes = virtualIndexes(t, f[0], ords)
	b.ords[t.ID] = ords
	return t
}

func typeNamed(name string) (*types.T, bool) {
	switch name {
	case "char":
		return types.Char, true
	case "_char":
		return types.CharArray, true
	}
	return types.ByName(name)
}

// typesText lists, per type: oid, name, then oid and name of its input, output,
// receive and send functions, then oid, name and family of its default btree
// operator class (0 and - for none).
//
//go:embed types.txt
var typesText string

// typeSupport is a line of types.txt.
type typeSupport struct {
	in, out, recv, send     uint32
	names                   [4]string
	opclass, opfamily       uint32
	opclassName, opTypeName string
	typ                     uint32
}

var typeSupports = sync.OnceValue(func() map[uint32]*typeSupport {
	m := map[uint32]*typeSupport{}
	for _, line := range strings.Split(strings.TrimSpace(typesText), "\n") {
		f := strings.Fields(line)
		num := func(i int) uint32 {
			n, err := strconv.ParseUint(f[i], 10, 32)
			must.True(err == nil, "types.txt: bad number in %q", line)
			return uint32(n)
		}
		s := &typeSupport{
			typ: num(0), opTypeName: f[1], in: num(2), out: num(4), recv: num(6), send: num(8),
			names:   [4]string{f[3], f[5], f[7], f[9]},
			opclass: num(10), opclassName: f[11], opfamily: num(12),
		}
		m[s.typ] = s
	}
	return m
})

// The functions of arrays.
const (
	oidArrayIn   = 750
	oidArrayOut  = 751
	oidArrayRecv = 2400
	oidArraySend = 2401
)

// supportOf returns the functions and operator class of a type; the zero value
// for types that have none.
func supportOf(t *types.T) typeSupport {
	if s := typeSupports()[t.Oid]; s != nil {
		return *s
	}
	if s, ok := extensionSupport[t.Oid]; ok {
		return s
	}
	if t.Elem != nil && t.Def == nil {
		return typeSupport{
			in: oidArrayIn, out: oidArrayOut, recv: oidArrayRecv, send: oidArraySend, opclass: 10000, opfamily: 397,
			opclassName: "array_ops", typ: t.Oid,
		}
	}
	if t.Def == nil {
		return typeSupport{}
	}
	if t.Def.Kind == types.DefDomain {
		s := supportOf(t.Def.Base)
		s.in, s.recv = oidDomainIn, oidDomainRecv
		return s
	}
	return userSupport[t.Def.Kind]
}

// The functions of domains; what they have besides is their base type's.
const (
	oidDomainIn   = 2597
	oidDomainRecv = 2598
)

// userSupport has the functions and operator classes of user-defined types, which
// are those of pseudo-types.
var userSupport = map[types.DefKind]typeSupport{
	types.DefEnum: {
		in: 3506, out: 3507, recv: 3532, send: 3533, names: [4]string{"enum_in", "enum_out", "enum_recv", "enum_send"},
		opclass: 10069, opfamily: 3522, opclassName: "enum_ops",
	},
	types.DefComposite: {
		in: 2290, out: 2291, recv: 2402, send: 2403, names: [4]string{"record_in", "record_out", "record_recv", "record_send"},
		opclass: 10034, opfamily: 2994, opclassName: "record_ops",
	},
	types.DefRange: {
		in: 3834, out: 3835, recv: 3836, send: 3837, names: [4]string{"range_in", "range_out", "range_recv", "range_send"},
		opclass: 10076, opfamily: 3901, opclassName: "range_ops",
	},
	types.DefMultirange: {
		in: 4231, out: 4232, recv: 4233, send: 4234, names: [4]string{"multirange_in", "multirange_out", "multirange_recv", "multirange_send"},
		opclass: 10080, opfamily: 4199, opclassName: "multirange_ops",
	},
}

// opclassOf and opclassNameOf return the default operator class of a column's type.
func opclassOf(t *types.T) uint32 { return classSupport(t).opclass }

func opclassNameOf(t *types.T) string { return classSupport(t).opclassName }

// classSupport returns what has the operator class of a type: some have none of their own.
func classSupport(t *types.T) typeSupport {
	switch {
	case t.Is(types.Varchar):
		t = types.Text
	case t.Is(types.CIDR):
		t = types.Inet
	case t.IsReg():
		t = types.Oid
	case t.Family == types.RangeFamily:
		return userSupport[types.DefRange]
	case t.Family == types.MultirangeFamily:
		return userSupport[types.DefMultirange]
	}
	return supportOf(t)
}
