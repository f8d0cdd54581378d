package types

import (
	"slices"
	"strings"
)

// Info is the part of a type's pg_type row that a T does not hold.
type Info struct {
	Len       int16 // typlen: bytes, -1 for variable, -2 for a C string
	ByVal     bool  // typbyval
	Kind      byte  // typtype: 'b' base, 'p' pseudo, 'r' range, 'm' multirange, 'e' enum, 'c' composite
	Category  byte  // typcategory
	Preferred bool  // typispreferred
	Align     byte  // typalign
	Storage   byte  // typstorage
	ArrayOid  uint32
}

// registered ties a type to its array type and its pg_type properties, written
// as the columns of Info from Len to Storage.
type registered struct {
	t     *T
	array *T
	info  Info
}

func reg(t, array *T, length int16, byVal bool, props string) registered {
	i := Info{
		Len: length, ByVal: byVal, Kind: props[0], Category: props[1],
		Preferred: props[2] == 't', Align: props[3], Storage: props[4],
	}
	if array != nil {
		i.ArrayOid = array.Oid
	}
	return registered{t, array, i}
}

// registry lists every predeclared type but the arrays, which follow from it.
var registry = []registered{
	reg(Bool, BoolArray, 1, true, "bBtcp"),
	reg(Bytea, ByteaArray, -1, false, "bUfix"),
	reg(Char, CharArray, 1, true, "bZfcp"),
	reg(Name, NameArray, 64, false, "bSfcp"),
	reg(Int8, Int8Array, 8, true, "bNfdp"),
	reg(Int2, Int2Array, 2, true, "bNfsp"),
	reg(Int2Vector, Int2VectorArray, -1, false, "bAfip"),
	reg(Int4, Int4Array, 4, true, "bNfip"),
	reg(Regproc, RegprocArray, 4, true, "bNfip"),
	reg(Text, TextArray, -1, false, "bStix"),
	reg(Oid, OidArray, 4, true, "bNtip"),
	reg(Xid, XidArray, 4, true, "bUfip"),
	reg(OidVector, OidVectorArray, -1, false, "bAfip"),
	reg(PgNodeTree, nil, -1, false, "bZfix"),
	reg(JSON, JSONArray, -1, false, "bUfix"),
	reg(Float4, Float4Array, 4, true, "bNfip"),
	reg(Float8, Float8Array, 8, true, "bNtdp"),
	reg(Unknown, nil, -2, false, "pXfcp"),
	reg(Bpchar, BpcharArray, -1, false, "bSfix"),
	reg(Varchar, VarcharArray, -1, false, "bSfix"),
	reg(Date, DateArray, 4, true, "bDfip"),
	reg(Time, TimeArray, 8, true, "bDfdp"),
	reg(Timestamp, TimestampArray, 8, true, "bDfdp"),
	reg(TimestampTZ, TimestampTZArray, 8, true, "bDtdp"),
	reg(Interval, IntervalArray, 16, false, "bTtdp"),
	reg(TimeTZ, TimeTZArray, 12, false, "bDfdp"),
	reg(Numeric, NumericArray, -1, false, "bNfim"),
	reg(Regclass, RegclassArray, 4, true, "bNfip"),
	reg(Regtype, RegtypeArray, 4, true, "bNfip"),
	reg(Regnamespace, RegnamespaceArray, 4, true, "bNfip"),
	reg(Regprocedure, RegprocedureArray, 4, true, "bNfip"),
	reg(Regoper, RegoperArray, 4, true, "bNfip"),
	reg(Regoperator, RegoperatorArray, 4, true, "bNfip"),
	reg(Regrole, RegroleArray, 4, true, "bNfip"),
	reg(Regcollation, RegcollationArray, 4, true, "bNfip"),
	reg(Record, RecordArray, -1, false, "pPfdx"),
	reg(Any, nil, 4, true, "pPfip"),
	reg(AnyArray, nil, -1, false, "pPfdx"),
	reg(AnyElement, nil, 4, true, "pPfip"),
	reg(AnyNonArray, nil, 4, true, "pPfip"),
	reg(AnyCompatible, nil, 4, true, "pPfip"),
	reg(AnyCompatibleArray, nil, -1, false, "pPfdx"),
	reg(AnyEnum, nil, 4, true, "pPfip"),
	reg(AnyRange, nil, -1, false, "pPfdx"),
	reg(AnyMultirange, nil, -1, false, "pPfdx"),
	reg(AnyCompatibleNonArray, nil, 4, true, "pPfip"),
	reg(AnyCompatibleRange, nil, -1, false, "pPfdx"),
	reg(AnyCompatibleMultirange, nil, -1, false, "pPfdx"),
	reg(Internal, nil, 8, true, "pPfdp"),
	reg(Trigger, nil, 4, true, "pPfip"),
	reg(EventTrigger, nil, 4, true, "pPfip"),
	reg(LanguageHandler, nil, 4, true, "pPfip"),
	reg(FDWHandler, nil, 4, true, "pPfip"),
	reg(TSMHandler, nil, 4, true, "pPfip"),
	reg(IndexAMHandler, nil, 4, true, "pPfip"),
	reg(TableAMHandler, nil, 4, true, "pPfip"),
	reg(DDLCommand, nil, 8, true, "pPfdp"),
	reg(CString, CStringArray, -2, false, "pPfcp"),
	reg(Void, nil, 4, true, "pPfip"),
	reg(UUID, UUIDArray, 16, false, "bUfcp"),
	reg(JSONB, JSONBArray, -1, false, "bUfix"),
	reg(JSONPath, JSONPathArray, -1, false, "bUfix"),
	reg(Inet, InetArray, -1, false, "bItim"),
	reg(CIDR, CIDRArray, -1, false, "bIfim"),
	reg(MACAddr, MACAddrArray, 6, false, "bUfip"),
	reg(MACAddr8, MACAddr8Array, 8, false, "bUfip"),
	reg(Bit, BitArray, -1, false, "bVfix"),
	reg(Varbit, VarbitArray, -1, false, "bVtix"),
	reg(TSVector, TSVectorArray, -1, false, "bUfix"),
	reg(TSQuery, TSQueryArray, -1, false, "bUfip"),
	reg(Regconfig, RegconfigArray, 4, true, "bNfip"),
	reg(Regdictionary, RegdictionaryArray, 4, true, "bNfip"),
	reg(Money, MoneyArray, 8, true, "bNfdp"),
	reg(TID, TIDArray, 6, false, "bUfsp"),
	reg(CID, CIDArray, 4, true, "bUfip"),
	reg(Xid8, Xid8Array, 8, true, "bUfdp"),
	reg(PgLSN, PgLSNArray, 8, true, "bUfdp"),
	reg(ACLItem, ACLItemArray, 12, false, "bUfip"),
	reg(Refcursor, RefcursorArray, -1, false, "bUfix"),
	reg(PgSnapshot, PgSnapshotArray, -1, false, "bUfdx"),
	reg(TxidSnapshot, TxidSnapshotArray, -1, false, "bUfdx"),
	reg(Point, PointArray, 16, false, "bGfdp"),
	reg(LSeg, LSegArray, 32, false, "bGfdp"),
	reg(Path, PathArray, -1, false, "bGfdx"),
	reg(Box, BoxArray, 32, false, "bGfdp"),
	reg(Polygon, PolygonArray, -1, false, "bGfdx"),
	reg(Line, LineArray, 24, false, "bGfdp"),
	reg(Circle, CircleArray, 24, false, "bGfdp"),
	reg(Int4Range, Int4RangeArray, -1, false, "rRfix"),
	reg(NumRange, NumRangeArray, -1, false, "rRfix"),
	reg(TSRange, TSRangeArray, -1, false, "rRfdx"),
	reg(TSTZRange, TSTZRangeArray, -1, false, "rRfdx"),
	reg(DateRange, DateRangeArray, -1, false, "rRfix"),
	reg(Int8Range, Int8RangeArray, -1, false, "rRfdx"),
	reg(Int4Multirange, Int4MultirangeArray, -1, false, "mRfix"),
	reg(NumMultirange, NumMultirangeArray, -1, false, "mRfix"),
	reg(TSMultirange, TSMultirangeArray, -1, false, "mRfdx"),
	reg(TSTZMultirange, TSTZMultirangeArray, -1, false, "mRfdx"),
	reg(DateMultirange, DateMultirangeArray, -1, false, "mRfix"),
	reg(Int8Multirange, Int8MultirangeArray, -1, false, "mRfdx"),
}

// The indexes of the registry: built once, never changed.
var (
	byOid  = indexByOid()
	byName = indexByName()
)

func indexByOid() map[uint32]registered {
	m := make(map[uint32]registered, 2*len(registry))
	all := slices.Clone(registry)
	for _, x := range extensionTypes {
		all = append(all, x.registered)
	}
	for _, r := range all {
		m[r.t.Oid] = r
		if r.array == nil {
			continue
		}
		align := byte('i')
		if r.info.Align == 'd' {
			align = 'd'
		}
		kind, category := byte('b'), byte('A')
		if r.t == Record {
			kind, category = 'p', 'P'
		}
		m[r.array.Oid] = registered{t: r.array, info: Info{
			Len: -1, Kind: kind, Category: category, Align: align, Storage: 'x',
		}}
	}
	return m
}

// aliases are the spellings that are not a type's Name or SQLName.
var aliases = map[string]*T{
	"int": Int4, "integer": Int4, "bigint": Int8, "smallint": Int2,
	"int64": Int8, "int32": Int4, "int16": Int2,
	"float": Float8, "double": Float8, "real": Float4,
	"decimal": Numeric, "dec": Numeric,
	"char": Bpchar, "character": Bpchar, "nchar": Bpchar,
	"national character": Bpchar, "national char": Bpchar,
	"char varying": Varchar, "national character varying": Varchar,
	"national char varying": Varchar, "nchar varying": Varchar,
	"string": Text, "bytes": Bytea, "blob": Bytea,
	"bool": Bool, "boolean": Bool, `"char"`: Char,
}

// DialectName returns PostgreSQL's name of a type that only the dialects call alias; sized
// says that a length follows.
func DialectName(alias string, sized bool) (string, bool) {
	switch alias {
	case "string":
		if sized {
			return Varchar.Name, true
		}
		return Text.Name, true
	case "bytes", "blob", "int64", "int32", "int16":
		return aliases[alias].Name, true
	}
	return "", false
}

func indexByName() map[string]*T {
	m := make(map[string]*T, 8*len(registry))
	for _, r := range registry {
		for _, n := range []string{r.t.SQLName, r.t.Name} {
			addName(m, n, r.t, r.array)
		}
		if r.array != nil {
			m[r.array.Name] = r.array
		}
	}
	for n, t := range aliases {
		a, _ := ArrayOf(t)
		addName(m, n, t, a)
	}
	return m
}

func addName(m map[string]*T, name string, t, array *T) {
	m[name] = t
	if array != nil {
		m[name+"[]"] = array
	}
}

// ByOid returns the predeclared type with the given oid.
func ByOid(oid uint32) (*T, bool) {
	r, ok := byOid[oid]
	return r.t, ok
}

// AllNames yields the names that ByName knows, but those of arrays.
func AllNames(yield func(string) bool) {
	for name := range byName {
		if !strings.HasSuffix(name, "[]") && !strings.HasPrefix(name, "_") && !yield(name) {
			return
		}
	}
}

// ByName returns the type a name denotes in SQL, without a modifier: a
// pg_type name, a standard spelling ("character varying", "integer[]") or a
// dialect's ("string", "bytes", "int64"). It ignores case. As in SQL, char is
// character and "char" (with the quotes) the one-byte catalog type.
func ByName(name string) (*T, bool) {
	if t, ok := byName[name]; ok {
		return t, true
	}
	t, ok := byName[strings.ToLower(name)]
	return t, ok
}

// ArrayOf returns the type of arrays of t; a modifier of t carries over. An
// array is its own array type, as dimensions are not part of a type.
func ArrayOf(t *T) (*T, bool) {
	if d := t.domain; d != nil && d.IsDomain() {
		a, ok := ArrayOf(t.WithDomain(nil))
		if !ok || t.Elem != nil { // there are no arrays of a domain over an array
			return a, ok
		}
		of, _ := ArrayOf(d)
		return a.WithDomain(of), true
	}
	if t.Def != nil {
		return t.Def.arrayOf(t), true
	}
	if t.Elem != nil && t.Elem.Def != nil {
		return t, true
	}
	r, ok := byOid[t.Oid]
	switch {
	case !ok:
		return nil, false
	case r.array != nil:
		return r.array.WithTypmod(t.Typmod), true
	case t.Elem != nil:
		return t, true
	}
	return nil, false
}

// All returns every predeclared type, arrays included, but those of extensions.
func All() []*T {
	ts := make([]*T, 0, 2*len(registry))
	for _, r := range registry {
		ts = append(ts, r.t)
		if r.array != nil {
			ts = append(ts, r.array)
		}
	}
	return ts
}

// InfoOf returns t's pg_type properties.
func InfoOf(t *T) Info {
	if r, ok := byOid[t.Oid]; ok {
		return r.info
	}
	return userInfo(t)
}

// Category returns pg_type.typcategory: 'N' numeric, 'S' string, 'D' date and
// time, and so on.
func (t *T) Category() byte { return InfoOf(t).Category }

// Delimiter returns pg_type.typdelim: what stands between the values of t in the text of an array, or
// between the elements of t if it is an array.
func (t *T) Delimiter() byte {
	if t.Elem != nil {
		t = t.Elem
	}
	if t.BaseType().Is(Box) {
		return ';'
	}
	return ','
}

// Preferred returns pg_type.typispreferred.
func (t *T) Preferred() bool { return InfoOf(t).Preferred }

// Len returns pg_type.typlen.
func (t *T) Len() int16 { return InfoOf(t).Len }

// Pseudo returns the pseudo-type that keeps t from being the type of a column: t itself or the
// type of its elements, nil if there is none.
func (t *T) Pseudo() *T {
	switch {
	case InfoOf(t).Kind == 'p':
		return t
	case t.Elem != nil:
		return t.Elem.Pseudo()
	}
	return nil
}

// IsString reports whether t is one of the string types.
func (t *T) IsString() bool { return t.Family == StringFamily }

// IsInteger reports whether t is one of the integer types, and no other whose values are
// kept as integers.
func (t *T) IsInteger() bool { return t.Oid == Int4.Oid || t.Oid == Int8.Oid || t.Oid == Int2.Oid }

// IsReg reports whether t is an object identifier alias (regclass and so on).
func (t *T) IsReg() bool {
	switch t.Oid {
	case Regproc.Oid, Regclass.Oid, Regtype.Oid, Regnamespace.Oid, Regconfig.Oid, Regprocedure.Oid, Regoper.Oid, Regoperator.Oid,
		Regrole.Oid, Regcollation.Oid, Regdictionary.Oid:
		return true
	}
	return false
}
