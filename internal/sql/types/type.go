package types

// Family groups types that share a representation in Datum.
type Family uint8

// The families. NullFamily, the zero value, marks a NULL datum.
const (
	NullFamily        Family = iota
	BoolFamily               // n: 0 or 1
	IntFamily                // n: the value (int2, int4, int8, oid, reg*, money in cents; see system.go for others)
	FloatFamily              // n: IEEE 754 bits of the float64 (float4 is rounded to float32 first)
	DecimalFamily            // see decimal.go
	StringFamily             // s: text (text, varchar, char, name, unknown literals)
	BytesFamily              // s: bytes
	DateFamily               // n: days since 2000-01-01; ±infinity are the int32 extremes
	TimeFamily               // n: microseconds since midnight
	TimeTZFamily             // n: microseconds since midnight; m: zone in seconds west of UTC
	TimestampFamily          // n: microseconds since 2000-01-01; ±infinity are the int64 extremes
	TimestampTZFamily        // n: as TimestampFamily, in UTC
	IntervalFamily           // n: microseconds; m: months; days in h or s (see NewInterval)
	UUIDFamily               // s: 16 bytes
	JSONFamily               // s: text for json; for jsonb the normalised text
	ArrayFamily              // s: encoded elements, see NewArray
	RecordFamily             // s: encoded fields, see NewRecord
	VoidFamily               // no value
	AnyFamily                // pseudo-types in signatures only (any, anyelement, anyarray)
	EnumFamily               // s: rank of the label, whose bytes order as the labels do
	InetFamily               // s: see inet.go (inet, cidr)
	MACFamily                // s: 6 or 8 bytes (macaddr, macaddr8)
	BitFamily                // s: bits, zero-padded to bytes; n: how many bits
	RangeFamily              // s: encoded bounds, see range.go
	MultirangeFamily         // s: encoded ranges, see multirange.go
	TSVectorFamily           // s: text of a tsvector in its normal form
	TSQueryFamily            // s: text of a tsquery in its normal form
	JSONPathFamily           // s: text of a jsonpath as it prints
	OpaqueFamily             // s: what has no order: refcursor, pg_snapshot, aclitem, see system.go
	GeometryFamily           // s: a shape and its coordinates, see geometry.go (point, box, ...)
	CitextFamily             // s: text that is compared in lower case, see citext.go
	HstoreFamily             // s: keys with values, see package hstore
	LabelFamily              // s: labels with dots between, whose bytes order as they do, see package ltree
)

// T is a SQL type. Types are compared by Oid (and Typmod where the modifier
// matters); the predeclared ones are shared and must not be changed.
type T struct {
	Family Family
	Oid    uint32 // pg_type.oid
	// Typmod is pg_attribute.atttypmod: -1 for none; length+4 for varchar and
	// char; ((precision<<16)|scale)+4 for numeric; digits for time types.
	Typmod int32
	Elem   *T     // element type of an array, else nil
	Sub    *T     // subtype of a range, range type of a multirange, else nil
	Def    *Def   // of a user-defined type or a record whose fields are known, else nil
	Name   string // pg_type.typname: "int4", "text", "_int4", ...
	// SQLName is what format_type prints without a modifier: "integer",
	// "timestamp with time zone", "integer[]".
	SQLName string
	// collation is set where values have another one than the type says, see Collation.
	collation *Collation
	// domain is set where values are known to be of a domain over this type, see Domain.
	domain *T
}

// WithTypmod returns t with another modifier.
func (t *T) WithTypmod(mod int32) *T {
	if t.Typmod == mod {
		return t
	}
	c := *t
	c.Typmod = mod
	return &c
}

// Is reports whether t and u are the same type, modifiers aside.
func (t *T) Is(u *T) bool { return t.Oid == u.Oid }

func scalar(f Family, oid uint32, name, sqlName string) *T {
	return &T{Family: f, Oid: oid, Typmod: -1, Name: name, SQLName: sqlName}
}

func arrayOf(e *T, oid uint32) *T {
	return &T{Family: ArrayFamily, Oid: oid, Typmod: -1, Elem: e, Name: "_" + e.Name, SQLName: e.SQLName + "[]"}
}

func rangeOf(sub *T, oid uint32, name string) *T {
	t := scalar(RangeFamily, oid, name, name)
	t.Sub = sub
	return t
}

func multirangeOf(r *T, oid uint32, name string) *T {
	t := scalar(MultirangeFamily, oid, name, name)
	t.Sub = r
	return t
}

// The predeclared types, with PostgreSQL's oids.
var (
	Bool          = scalar(BoolFamily, 16, "bool", "boolean")
	Bytea         = scalar(BytesFamily, 17, "bytea", "bytea")
	Char          = scalar(StringFamily, 18, "char", "\"char\"") // one byte, catalogs only
	Name          = scalar(StringFamily, 19, "name", "name")
	Int8          = scalar(IntFamily, 20, "int8", "bigint")
	Int2          = scalar(IntFamily, 21, "int2", "smallint")
	Int4          = scalar(IntFamily, 23, "int4", "integer")
	Regproc       = scalar(IntFamily, 24, "regproc", "regproc")
	Text          = scalar(StringFamily, 25, "text", "text")
	Oid           = scalar(IntFamily, 26, "oid", "oid")
	Xid           = scalar(IntFamily, 28, "xid", "xid")
	PgNodeTree    = scalar(StringFamily, 194, "pg_node_tree", "pg_node_tree") // an expression in the catalogs
	JSON          = scalar(JSONFamily, 114, "json", "json")
	Float4        = scalar(FloatFamily, 700, "float4", "real")
	Float8        = scalar(FloatFamily, 701, "float8", "double precision")
	Unknown       = scalar(StringFamily, 705, "unknown", "unknown") // untyped literal
	Bpchar        = scalar(StringFamily, 1042, "bpchar", "character")
	Varchar       = scalar(StringFamily, 1043, "varchar", "character varying")
	Date          = scalar(DateFamily, 1082, "date", "date")
	Time          = scalar(TimeFamily, 1083, "time", "time without time zone")
	Timestamp     = scalar(TimestampFamily, 1114, "timestamp", "timestamp without time zone")
	TimestampTZ   = scalar(TimestampTZFamily, 1184, "timestamptz", "timestamp with time zone")
	Interval      = scalar(IntervalFamily, 1186, "interval", "interval")
	TimeTZ        = scalar(TimeTZFamily, 1266, "timetz", "time with time zone")
	Numeric       = scalar(DecimalFamily, 1700, "numeric", "numeric")
	Regclass      = scalar(IntFamily, 2205, "regclass", "regclass")
	Regtype       = scalar(IntFamily, 2206, "regtype", "regtype")
	Regprocedure  = scalar(IntFamily, 2202, "regprocedure", "regprocedure")
	Regoper       = scalar(IntFamily, 2203, "regoper", "regoper")
	Regoperator   = scalar(IntFamily, 2204, "regoperator", "regoperator")
	Regrole       = scalar(IntFamily, 4096, "regrole", "regrole")
	Regcollation  = scalar(IntFamily, 4191, "regcollation", "regcollation")
	Regnamespace  = scalar(IntFamily, 4089, "regnamespace", "regnamespace")
	Record        = scalar(RecordFamily, 2249, "record", "record")
	Void          = scalar(VoidFamily, 2278, "void", "void")
	UUID          = scalar(UUIDFamily, 2950, "uuid", "uuid")
	JSONB         = scalar(JSONFamily, 3802, "jsonb", "jsonb")
	JSONPath      = scalar(JSONPathFamily, 4072, "jsonpath", "jsonpath")
	Inet          = scalar(InetFamily, 869, "inet", "inet")
	CIDR          = scalar(InetFamily, 650, "cidr", "cidr")
	MACAddr       = scalar(MACFamily, 829, "macaddr", "macaddr")
	MACAddr8      = scalar(MACFamily, 774, "macaddr8", "macaddr8")
	Bit           = scalar(BitFamily, 1560, "bit", "bit")
	Varbit        = scalar(BitFamily, 1562, "varbit", "bit varying")
	TSVector      = scalar(TSVectorFamily, 3614, "tsvector", "tsvector")
	TSQuery       = scalar(TSQueryFamily, 3615, "tsquery", "tsquery")
	Regconfig     = scalar(IntFamily, 3734, "regconfig", "regconfig")
	Regdictionary = scalar(IntFamily, 3769, "regdictionary", "regdictionary")
	Money         = scalar(IntFamily, 790, "money", "money")
	TID           = scalar(IntFamily, 27, "tid", "tid")
	CID           = scalar(IntFamily, 29, "cid", "cid")
	Xid8          = scalar(IntFamily, 5069, "xid8", "xid8")
	PgLSN         = scalar(IntFamily, 3220, "pg_lsn", "pg_lsn")
	ACLItem       = scalar(OpaqueFamily, 1033, "aclitem", "aclitem")
	Refcursor     = scalar(OpaqueFamily, 1790, "refcursor", "refcursor")
	PgSnapshot    = scalar(OpaqueFamily, 5038, "pg_snapshot", "pg_snapshot")
	TxidSnapshot  = scalar(OpaqueFamily, 2970, "txid_snapshot", "txid_snapshot")
	Point         = scalar(GeometryFamily, 600, "point", "point")
	LSeg          = scalar(GeometryFamily, 601, "lseg", "lseg")
	Path          = scalar(GeometryFamily, 602, "path", "path")
	Box           = scalar(GeometryFamily, 603, "box", "box")
	Polygon       = scalar(GeometryFamily, 604, "polygon", "polygon")
	Line          = scalar(GeometryFamily, 628, "line", "line")
	Circle        = scalar(GeometryFamily, 718, "circle", "circle")
	Int4Range     = rangeOf(Int4, 3904, "int4range")
	NumRange      = rangeOf(Numeric, 3906, "numrange")
	TSRange       = rangeOf(Timestamp, 3908, "tsrange")
	TSTZRange     = rangeOf(TimestampTZ, 3910, "tstzrange")
	DateRange     = rangeOf(Date, 3912, "daterange")
	Int8Range     = rangeOf(Int8, 3926, "int8range")

	Int4Multirange = multirangeOf(Int4Range, 4451, "int4multirange")
	NumMultirange  = multirangeOf(NumRange, 4532, "nummultirange")
	TSMultirange   = multirangeOf(TSRange, 4533, "tsmultirange")
	TSTZMultirange = multirangeOf(TSTZRange, 4534, "tstzmultirange")
	DateMultirange = multirangeOf(DateRange, 4535, "datemultirange")
	Int8Multirange = multirangeOf(Int8Range, 4536, "int8multirange")

	Int2Vector = &T{Family: ArrayFamily, Oid: 22, Typmod: -1, Elem: Int2, Name: "int2vector", SQLName: "int2vector"}
	OidVector  = &T{Family: ArrayFamily, Oid: 30, Typmod: -1, Elem: Oid, Name: "oidvector", SQLName: "oidvector"}

	// Pseudo-types, in function signatures only.
	Any        = scalar(AnyFamily, 2276, "any", "\"any\"")
	AnyArray   = scalar(AnyFamily, 2277, "anyarray", "anyarray")
	AnyElement = scalar(AnyFamily, 2283, "anyelement", "anyelement")

	AnyNonArray        = scalar(AnyFamily, 2776, "anynonarray", "anynonarray")
	AnyCompatible      = scalar(AnyFamily, 5077, "anycompatible", "anycompatible")
	AnyCompatibleArray = scalar(AnyFamily, 5078, "anycompatiblearray", "anycompatiblearray")
	AnyEnum            = scalar(AnyFamily, 3500, "anyenum", "anyenum")
	AnyRange           = scalar(AnyFamily, 3831, "anyrange", "anyrange")
	AnyMultirange      = scalar(AnyFamily, 4537, "anymultirange", "anymultirange")

	AnyCompatibleNonArray   = scalar(AnyFamily, 5079, "anycompatiblenonarray", "anycompatiblenonarray")
	AnyCompatibleRange      = scalar(AnyFamily, 5080, "anycompatiblerange", "anycompatiblerange")
	AnyCompatibleMultirange = scalar(AnyFamily, 4538, "anycompatiblemultirange", "anycompatiblemultirange")

	// Pseudo-types that no function here takes or returns, but pg_proc lists.
	Internal        = scalar(AnyFamily, 2281, "internal", "internal")
	Trigger         = scalar(AnyFamily, 2279, "trigger", "trigger")
	EventTrigger    = scalar(AnyFamily, 3838, "event_trigger", "event_trigger")
	LanguageHandler = scalar(AnyFamily, 2280, "language_handler", "language_handler")
	FDWHandler      = scalar(AnyFamily, 3115, "fdw_handler", "fdw_handler")
	TSMHandler      = scalar(AnyFamily, 3310, "tsm_handler", "tsm_handler")
	IndexAMHandler  = scalar(AnyFamily, 325, "index_am_handler", "index_am_handler")
	TableAMHandler  = scalar(AnyFamily, 269, "table_am_handler", "table_am_handler")
	DDLCommand      = scalar(AnyFamily, 32, "pg_ddl_command", "pg_ddl_command")

	// CString is a pseudo-type with values: what input functions read and output functions return.
	CString = scalar(OpaqueFamily, 2275, "cstring", "cstring")

	BoolArray         = arrayOf(Bool, 1000)
	ByteaArray        = arrayOf(Bytea, 1001)
	CharArray         = arrayOf(Char, 1002)
	NameArray         = arrayOf(Name, 1003)
	Int2Array         = arrayOf(Int2, 1005)
	Int4Array         = arrayOf(Int4, 1007)
	RegprocArray      = arrayOf(Regproc, 1008)
	TextArray         = arrayOf(Text, 1009)
	BpcharArray       = arrayOf(Bpchar, 1014)
	VarcharArray      = arrayOf(Varchar, 1015)
	Int8Array         = arrayOf(Int8, 1016)
	Float4Array       = arrayOf(Float4, 1021)
	Float8Array       = arrayOf(Float8, 1022)
	OidArray          = arrayOf(Oid, 1028)
	TimestampArray    = arrayOf(Timestamp, 1115)
	DateArray         = arrayOf(Date, 1182)
	TimeArray         = arrayOf(Time, 1183)
	TimestampTZArray  = arrayOf(TimestampTZ, 1185)
	IntervalArray     = arrayOf(Interval, 1187)
	NumericArray      = arrayOf(Numeric, 1231)
	TimeTZArray       = arrayOf(TimeTZ, 1270)
	UUIDArray         = arrayOf(UUID, 2951)
	JSONArray         = arrayOf(JSON, 199)
	JSONBArray        = arrayOf(JSONB, 3807)
	RegclassArray     = arrayOf(Regclass, 2210)
	RegprocedureArray = arrayOf(Regprocedure, 2207)
	RegoperArray      = arrayOf(Regoper, 2208)
	RegoperatorArray  = arrayOf(Regoperator, 2209)
	RegroleArray      = arrayOf(Regrole, 4097)
	RegcollationArray = arrayOf(Regcollation, 4192)
	RegtypeArray      = arrayOf(Regtype, 2211)

	JSONPathArray       = arrayOf(JSONPath, 4073)
	InetArray           = arrayOf(Inet, 1041)
	CIDRArray           = arrayOf(CIDR, 651)
	MACAddrArray        = arrayOf(MACAddr, 1040)
	MACAddr8Array       = arrayOf(MACAddr8, 775)
	BitArray            = arrayOf(Bit, 1561)
	VarbitArray         = arrayOf(Varbit, 1563)
	TSVectorArray       = arrayOf(TSVector, 3643)
	TSQueryArray        = arrayOf(TSQuery, 3645)
	RegconfigArray      = arrayOf(Regconfig, 3735)
	Int4RangeArray      = arrayOf(Int4Range, 3905)
	NumRangeArray       = arrayOf(NumRange, 3907)
	TSRangeArray        = arrayOf(TSRange, 3909)
	TSTZRangeArray      = arrayOf(TSTZRange, 3911)
	DateRangeArray      = arrayOf(DateRange, 3913)
	Int8RangeArray      = arrayOf(Int8Range, 3927)
	Int4MultirangeArray = arrayOf(Int4Multirange, 6150)
	NumMultirangeArray  = arrayOf(NumMultirange, 6151)
	TSMultirangeArray   = arrayOf(TSMultirange, 6152)
	TSTZMultirangeArray = arrayOf(TSTZMultirange, 6153)
	DateMultirangeArray = arrayOf(DateMultirange, 6155)
	Int8MultirangeArray = arrayOf(Int8Multirange, 6157)

	Int2VectorArray   = arrayOf(Int2Vector, 1006)
	OidVectorArray    = arrayOf(OidVector, 1013)
	XidArray          = arrayOf(Xid, 1011)
	RegnamespaceArray = arrayOf(Regnamespace, 4090)
	RecordArray       = arrayOf(Record, 2287)

	PointArray   = arrayOf(Point, 1017)
	LSegArray    = arrayOf(LSeg, 1018)
	PathArray    = arrayOf(Path, 1019)
	BoxArray     = arrayOf(Box, 1020)
	PolygonArray = arrayOf(Polygon, 1027)
	LineArray    = arrayOf(Line, 629)
	CircleArray  = arrayOf(Circle, 719)

	RegdictionaryArray = arrayOf(Regdictionary, 3770)
	MoneyArray         = arrayOf(Money, 791)
	TIDArray           = arrayOf(TID, 1010)
	CIDArray           = arrayOf(CID, 1012)
	Xid8Array          = arrayOf(Xid8, 271)
	PgLSNArray         = arrayOf(PgLSN, 3221)
	ACLItemArray       = arrayOf(ACLItem, 1034)
	RefcursorArray     = arrayOf(Refcursor, 2201)
	PgSnapshotArray    = arrayOf(PgSnapshot, 5039)
	TxidSnapshotArray  = arrayOf(TxidSnapshot, 2949)
	CStringArray       = arrayOf(CString, 1263)
)
