package catalog

import (
	"iter"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog/named"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ID identifies a descriptor (database, schema, table, sequence, view). Ids
// are 64-bit, never reused, and part of every key of a table; PostgreSQL's
// 32-bit oids are assigned separately.
type ID uint64

// ColumnID identifies a column within its table; never reused.
type ColumnID uint32

// IndexID identifies an index within its table; never reused. PrimaryIndexID
// is where the rows live at first; ALTER PRIMARY KEY and TRUNCATE move them to
// a fresh one.
type IndexID uint32

// PrimaryIndexID is the id a table's first primary index gets.
const PrimaryIndexID IndexID = 1

// Database describes a database.
type Database struct {
	ID      ID
	Oid     uint32
	Version uint64
	Name    string
	Owner   Owner
	// ACL is who may do what with it: see privilege.ACL.
	ACL     privilege.ACL `json:",omitzero"`
	Comment string
	// Settings are what sessions in the database begin with.
	Settings []RoleSettings `json:",omitempty"`
	// Extensions are those that CREATE EXTENSION added.
	Extensions []CreatedExtension `json:",omitempty"`
	// ACLs are the lists of what is built in: functions, types, languages.
	ACLs []privilege.SystemACL `json:",omitempty"`
	// EventTriggers fire when statements change what is in the database.
	EventTriggers []EventTrigger `json:",omitempty"`
}

// Schema describes a schema of a database.
type Schema struct {
	ID       ID
	Oid      uint32
	Version  uint64
	Database ID
	Name     string
	Owner    Owner
	// ACL is who may do what with it: see privilege.ACL.
	ACL     privilege.ACL `json:",omitzero"`
	Comment string
	Temp    *TempOwner `json:",omitempty"` // of a session's temporary schema
}

// Kind says what a relation is.
type Kind uint8

// The kinds of relations.
const (
	KindTable Kind = iota + 1
	KindSequence
	KindView
	KindVirtual // rows are computed (pg_catalog, information_schema)
	KindType    // a user-defined type; it has no rows
	KindCollation
	KindRoutine
)

// Table describes a relation. Descriptors are immutable once published: a
// change makes a copy with Version+1.
type Table struct {
	ID       ID
	Oid      uint32
	Version  uint64
	Database ID
	Schema   ID
	Name     string
	Owner    Owner
	// ACL is who may do what with it: see privilege.ACL.
	ACL  privilege.ACL `json:",omitzero"`
	Kind Kind
	// Created is the time at which the relation was made, 0 if that is not known.
	Created int64 `json:",omitempty"` // nanoseconds since 1970
	// Columns in attnum order; dropped columns are removed (their ids stay
	// unused), so attnum is Column.Attnum, not the position.
	Columns []Column
	// Families are the column families in the order of their ids, the first one with id
	// 0; nil if the table states none: then all columns are in that one.
	Families     []Family `json:",omitempty"`
	NextFamilyID FamilyID `json:",omitempty"`
	// Indexes[0] is the primary index for KindTable: the rows themselves.
	Indexes     []Index
	Checks      []Check
	ForeignKeys []ForeignKey `json:",omitempty"`
	// Policies say, while RowSecurity is on, which rows who sees and may write; with ForceRowSecurity they are for the
	// owner too.
	Policies         []Policy `json:",omitempty"`
	RowSecurity      bool     `json:",omitempty"`
	ForceRowSecurity bool     `json:",omitempty"`
	// References are the foreign keys that refer to this table.
	References []Reference `json:",omitempty"`
	// Triggers are in the order in which they were made.
	Triggers []Trigger `json:",omitempty"`
	// Extended are the statistics objects that CREATE STATISTICS has made of the table.
	Extended     []Extended `json:",omitempty"`
	NextColumnID ColumnID
	NextIndexID  IndexID
	NextAttnum   int16
	Sequence     *Sequence     // KindSequence
	View         *View         // KindView
	UserType     *types.T      // KindType
	Collation    *CollationDef `json:",omitempty"` // KindCollation
	Routine      *Routine      `json:",omitempty"` // KindRoutine
	// RowArrayOid is the oid of the type for arrays of the relation's rows; 0 if there is
	// none: of sequences, and of relations as they were stored before there were such types.
	RowArrayOid uint32 `json:",omitempty"`
	Comment     string
	OnCommit    OnCommit `json:",omitempty"` // of a temporary table
	Extension   string   `json:",omitempty"` // the extension that brought it, and that it goes with
	Tablespace  string   `json:",omitempty"` // "" is pg_default
	// Options are the storage parameters as pg_class has them: name=value. They change
	// nothing. Those of a view are in View.
	Options []string `json:",omitempty"`
	// A table without a primary key has a hidden column of row ids. They come
	// from a generator that is part of the table: its default is nextval of
	// RowIDOid, its value lives under the index id RowIDStorage.
	RowIDOid     uint32
	RowIDStorage IndexID
	rowIDSeq     *Table // what RowIDOid stands for
	// Names are what the stored texts name, UserTypes that it is a type, or has columns of types that are not built in; both follow from
	// the rest.
	Names       named.Names `json:"-"`
	UserTypes   bool        `json:"-"`
	BuiltInView bool        `json:"-"` // a built-in relation that users take for a view
}

// Column describes a column.
type Column struct {
	ID      ColumnID
	Attnum  int16
	Name    string
	Type    *types.T // with its typmod; of a domain, the type below it
	Domain  *types.T // the domain, else nil
	NotNull bool
	// Default is the default expression as SQL text, "" for none of its own.
	Default string
	// OnUpdate is the value that a row gets when it is changed without the column being
	// assigned to, as SQL text, "" for none: the column keeps its value.
	OnUpdate string `json:",omitempty"`
	// Hidden columns (the generated row id of a table without primary key) are
	// not part of *, and \d does not show them.
	Hidden bool
	// NotVisible columns are ordinary ones, of which * and statements without a list of
	// columns leave out the name.
	NotVisible bool `json:",omitempty"`
	// OwnsSequence is the sequence a SERIAL or identity column owns, or 0.
	OwnsSequence ID
	Identity     byte // 'a' ALWAYS, 'd' BY DEFAULT, 0 none
	// Generated is the expression that computes the column from others of its row, as
	// SQL text, "" for an ordinary column; BaseColumns are those it reads.
	Generated   string     `json:",omitempty"`
	BaseColumns []ColumnID `json:",omitempty"`
	// Virtual columns are generated ones that rows do not hold: who reads a row computes
	// them. Hidden ones stand for expressions of indexes and are part of those and
	// nothing else; their name is their text.
	Virtual bool `json:",omitempty"`
	// Missing is the encoded value (types.AppendEncoded) of the column in rows that lack it, as they are
	// from before it was added; nil for NULL.
	Missing []byte `json:",omitempty"`
	// ACL is what is granted on the column besides what is granted on the table.
	ACL     privilege.ACL `json:",omitempty"`
	Comment string
}

// ValueType is the type of the column's values as expressions have it.
func (c *Column) ValueType() *types.T { return c.Type.WithDomain(c.Domain) }

// DefaultText is the expression of the column's default, its own or its domain's; ""
// for none.
func (c *Column) DefaultText() string {
	if c.Default == "" && c.Generated == "" && c.Domain != nil && c.Domain.IsDomain() {
		return c.Domain.Def.Default
	}
	return c.Default
}

// IndexExpression reports whether the column stands for an expression of indexes.
func (c *Column) IndexExpression() bool { return c.Virtual && c.Hidden }

// Computed reports whether the column is computed when it is read.
func (c *Column) Computed() bool { return c.Virtual && !c.Hidden }

// InStar reports whether the column is part of *.
func (c *Column) InStar() bool { return !c.Hidden && !c.NotVisible }

// IndexColumn is one key column of an index.
type IndexColumn struct {
	Column ColumnID
	Desc   bool
	// NullsFirst as in PostgreSQL: default false for ASC, true for DESC.
	NullsFirst bool
	// OpClass is the name that was written, and changes nothing: all classes that a type
	// has order alike.
	OpClass string `json:",omitempty"`
	// Collate is the collation that was written, nil for the column's.
	Collate *types.Collation `json:",omitempty"`
	// SortKey says that Column is an expression that the index was not asked for: the sort
	// keys, under a language's collation, of the column that the expression reads.
	SortKey bool `json:",omitempty"`
}

// Index describes an index; Indexes[0] of a table is its primary index.
type Index struct {
	ID   IndexID
	Oid  uint32
	Name string
	// Unique indexes have one row for each key, at any moment: see Deferrable.
	Unique bool
	// Primary is set of Indexes[0], and of the index of a deferrable primary key.
	Primary bool
	// Constraint says that the index backs a PRIMARY KEY or UNIQUE constraint
	// (ConstraintOid, ConstraintName); a table without a primary key has a
	// primary index on its hidden row id and no constraint.
	Constraint     bool
	ConstraintOid  uint32
	ConstraintName string
	// Tablespace is "" where the table is.
	Tablespace string `json:",omitempty"`
	// Options are the storage parameters, as those of a Table.
	Options []string `json:",omitempty"`
	Columns []IndexColumn
	Stored  []ColumnID // INCLUDE / STORING
	// Where is the predicate of a partial index, as SQL text over the columns
	// WhereColumns, "" for none: only rows for which it is true have entries.
	Where        string     `json:",omitempty"`
	WhereColumns []ColumnID `json:",omitempty"`
	// NullsNotDistinct makes rows with equal NULLs duplicates in a unique index.
	NullsNotDistinct bool `json:",omitempty"`
	// Exclusion indexes back a constraint EXCLUDE (column WITH =, ...).
	Exclusion bool `json:",omitempty"`
	// Deferrable indexes back a constraint that is checked at the end of the statement
	// or, by default if Deferred is set, of the transaction. Until then several rows may
	// have a key: their entries are those of an index that is not Unique.
	Deferrable bool `json:",omitempty"`
	Deferred   bool `json:",omitempty"`
	// HashColumns is how many leading columns are hashed: the keys begin with a
	// bucket of them, of Buckets ones, or of 65536 if that is 0.
	HashColumns int   `json:",omitempty"`
	Buckets     int32 `json:",omitempty"`
	// Inverted is the operator class of an inverted (GIN) index, "" for others: its
	// entries are the tokens of the values of its only column.
	Inverted string `json:",omitempty"`
	// WriteOnly indexes are being built: writers maintain them, readers do not
	// use them.
	WriteOnly         bool
	Comment           string
	ConstraintComment string
}

// Check is a CHECK constraint.
type Check struct {
	Oid     uint32
	Name    string
	Expr    string // SQL text over the table's columns
	Columns []ColumnID
	// NotValid says that rows from before the constraint were never verified.
	NotValid bool `json:",omitempty"`
	// NoInherit was written, and changes nothing: no table inherits.
	NoInherit bool `json:",omitempty"`
	Comment   string
}

// Sequence describes a sequence's definition; its value lives in a key of its
// own that is written outside transactions.
type Sequence struct {
	Type        *types.T
	Start       int64
	Increment   int64
	Min, Max    int64
	Cache       int64
	Cycle       bool
	OwnerTable  ID
	OwnerColumn ColumnID
	// Storage is the index id under which the value lives. RESTART moves the
	// value to a fresh one, so that it is undone with its transaction.
	Storage IndexID
	// First is the value that the first nextval of this storage returns: Start,
	// or what RESTART WITH said.
	First int64

	rowIDs bool // of hidden row ids: see Table.rowIDs
}

// OfRowIDs reports whether the sequence makes the hidden row ids of a table, which
// sessions do not see as a sequence.
func (s *Sequence) OfRowIDs() bool { return s.rowIDs }

// View is a view's query as SQL text, names fully qualified.
type View struct {
	Query string
	// Uses are the relations that the query reads: dropping one of them needs CASCADE.
	// UsesColumns are the columns that it reads of each, by position in Uses.
	Uses        []ID
	UsesColumns [][]ColumnID
	// NextColumnIDs are the NextColumnID that each relation of Uses had when the query was
	// stored: later columns are not what its names mean.
	NextColumnIDs []ColumnID `json:",omitempty"`
	// Unpopulated says that a materialized view has no rows yet.
	Unpopulated bool `json:",omitempty"`
	// Keys are the tables on whose primary keys a GROUP BY of the query rests.
	Keys []ID `json:",omitempty"`
	// Aggregates says that the query calls aggregates that users have made, whose names do not tell.
	Aggregates bool `json:",omitempty"`
	// Options are the view's parameters as pg_class has them: name=value.
	Options []string `json:",omitempty"`
}

// Sees reports whether the query can mean a column of t: one that t had when the query was
// stored.
func (v *View) Sees(t *Table, c *Column) bool {
	i := slices.Index(v.Uses, t.ID)
	return i < 0 || i >= len(v.NextColumnIDs) || c.ID < v.NextColumnIDs[i]
}

// The values of a view's check_option.
const (
	CheckLocal    = "local"
	CheckCascaded = "cascaded"
)

// CheckOption is WITH CHECK OPTION of the view, "" for none.
func (v *View) CheckOption() string { return strings.ToLower(v.Option("check_option")) }

// SecurityBarrier reports whether conditions on the view's rows must not tell of others.
func (v *View) SecurityBarrier() bool { return isOn(v.Option("security_barrier")) }

// SecurityInvoker reports whether the view reads with the privileges of its user.
func (v *View) SecurityInvoker() bool { return isOn(v.Option("security_invoker")) }

// isOn reports whether a parameter is on, in one of the spellings of booleans.
func isOn(value string) bool {
	value = strings.ToLower(value)
	return value == "on" || value == "1" || value != "" && (strings.HasPrefix("true", value) || strings.HasPrefix("yes", value))
}

// Option returns the value of a parameter, "" if it is not set.
func (v *View) Option(name string) string {
	for _, o := range v.Options {
		if k, value, _ := strings.Cut(o, "="); k == name {
			return value
		}
	}
	return ""
}

// Primary returns the primary index.
func (t *Table) Primary() *Index { return &t.Indexes[0] }

// ColumnByName returns the position of the named column in t.Columns.
func (t *Table) ColumnByName(name string) (int, bool) {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// UndefinedColumn is 42703 for a column that the table has not, with the name that
// may be meant.
func (t *Table) UndefinedColumn(name string) *pgerr.Error {
	names := func(yield func(string) bool) {
		for i := range t.Columns {
			if !t.Columns[i].Virtual && !yield(t.Columns[i].Name) {
				return
			}
		}
	}
	return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, t.Name).
		WithSuggestion("column", name, names)
}

// ColumnByID returns the position of a column in t.Columns, -1 if absent.
func (t *Table) ColumnByID(id ColumnID) int {
	for i := range t.Columns {
		if t.Columns[i].ID == id {
			return i
		}
	}
	return -1
}

// IndexByName returns the named index, or nil. The primary index on hidden row
// ids cannot be named.
func (t *Table) IndexByName(name string) *Index {
	for i := range t.Indexes {
		if t.Indexes[i].Name == name && (i > 0 || t.HasPrimaryKey()) {
			return &t.Indexes[i]
		}
	}
	return nil
}

// Clone returns a copy whose slices may be changed.
func (t *Table) Clone() *Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	c.cloneFamilies()
	c.Checks = slices.Clone(t.Checks)
	c.Indexes = slices.Clone(t.Indexes)
	for i := range c.Indexes {
		c.Indexes[i].Columns = slices.Clone(c.Indexes[i].Columns)
		c.Indexes[i].Stored = slices.Clone(c.Indexes[i].Stored)
		c.Indexes[i].WhereColumns = slices.Clone(c.Indexes[i].WhereColumns)
	}
	for i := range c.Checks {
		c.Checks[i].Columns = slices.Clone(c.Checks[i].Columns)
	}
	c.cloneForeignKeys()
	c.clonePolicies()
	c.cloneTriggers()
	c.cloneExtended()
	if t.Sequence != nil {
		s := *t.Sequence
		c.Sequence = &s
	}
	if t.View != nil {
		v := *t.View
		c.View = &v
	}
	if t.Routine != nil {
		r := *t.Routine
		c.Routine = &r
	}
	return &c
}

// HasPrimaryKey reports whether rows are identified by a declared primary key
// rather than by hidden row ids.
func (t *Table) HasPrimaryKey() bool { return len(t.Indexes) > 0 && t.Indexes[0].Constraint }

// PrimaryKey returns the index of the declared primary key, nil if there is none. Rows
// are stored in it unless the key is deferrable: then they are stored by row ids.
func (t *Table) PrimaryKey() *Index {
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; ix.Primary && ix.Constraint {
			return ix
		}
	}
	return nil
}

// DeclaredUnique reports whether no two rows may keep the same key, whenever that is
// checked.
func (ix *Index) DeclaredUnique() bool { return ix.Unique || ix.Deferrable }

// Total reports whether the index has an entry for every row, made of columns.
func (ix *Index) Total() bool { return ix.Where == "" }

// Expressions reports whether the key of ix, an index of t, has expressions in it.
func (t *Table) Expressions(ix *Index) bool {
	for _, c := range ix.Columns {
		if i := t.ColumnByID(c.Column); i >= 0 && t.Columns[i].IndexExpression() {
			return true
		}
	}
	return false
}

// Declared returns an index of t as it was asked for: with columns where its key has their
// sort keys.
func (t *Table) Declared(ix *Index) *Index {
	if !slices.ContainsFunc(ix.Columns, func(c IndexColumn) bool { return c.SortKey }) {
		return ix
	}
	out := *ix
	out.Columns = slices.Clone(ix.Columns)
	for i := range out.Columns {
		out.Columns[i].Column = t.DeclaredKey(&out.Columns[i])
	}
	return &out
}

// DeclaredOrd is the position in t.Columns of the column that the i-th one of the key of ix
// was asked for.
func (t *Table) DeclaredOrd(ix *Index, i int) int {
	return t.ColumnByID(t.DeclaredKey(&ix.Columns[i]))
}

// DeclaredKey is the column that a key column was asked for.
func (t *Table) DeclaredKey(c *IndexColumn) ColumnID {
	if c.SortKey {
		return t.Columns[t.ColumnByID(c.Column)].BaseColumns[0]
	}
	return c.Column
}

// IsRelation reports whether the descriptor is of a table, a view or a sequence.
func (t *Table) IsRelation() bool {
	return t.Kind == KindTable || t.Kind == KindView || t.Kind == KindSequence
}

// Materialized reports whether the table is a materialized view.
func (t *Table) Materialized() bool { return t.Kind == KindTable && t.View != nil }

// StoredTexts yields the expressions and the query of a relation or type, "" among them.
func (t *Table) StoredTexts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range t.Columns {
			if c := &t.Columns[i]; !yield(c.Default) || !yield(c.OnUpdate) || !yield(c.Generated) {
				return
			}
		}
		for i := range t.Checks {
			if !yield(t.Checks[i].Expr) {
				return
			}
		}
		for i := range t.Triggers {
			if !yield(t.Triggers[i].When) {
				return
			}
		}
		for i := range t.Indexes {
			if !yield(t.Indexes[i].Where) {
				return
			}
		}
		if !t.eachPolicyText(yield) {
			return
		}
		if t.View != nil && !yield(t.View.Query) || t.UserType == nil || t.UserType.Def == nil || !yield(t.UserType.Def.Default) {
			return
		}
		for _, k := range t.UserType.Def.Checks {
			if !yield(k.Expr) {
				return
			}
		}
	}
}

// Cluster holds what belongs to no database. It is made when there is something to hold.
type Cluster struct {
	ID      ID
	Version uint64
	// Settings hold in all databases.
	Settings []RoleSettings `json:",omitempty"`
	// ACLs are the lists of parameters.
	ACLs []privilege.SystemACL `json:",omitempty"`
}

// clusterName stands for the Cluster: no database has an empty name.
var clusterName NameKey

// Ident implements Descriptor.
func (c *Cluster) Ident() Ident { return Ident{ID: c.ID, Version: c.Version, Owner: RootOid} }

func (c *Cluster) withVersion(v uint64) Descriptor {
	n := *c
	n.Version = v
	return &n
}

// Dep is a descriptor in the version that something, for example a plan, was
// made from.
type Dep struct {
	ID      ID
	Version uint64
}

// VirtualBase is the first id of descriptors that are not stored: the relations
// and schemas of pg_catalog and information_schema. They are never changed, so
// they need no pin.
const VirtualBase ID = 1 << 62

// IsVirtual reports whether id belongs to a built-in schema or relation.
func (id ID) IsVirtual() bool { return id >= VirtualBase }

// Ident returns what all kinds of descriptors have in common.
type Ident struct {
	ID      ID
	Oid     uint32
	Version uint64
	Name    string
	Owner   privilege.Role
}

// Descriptor is a *Cluster, *Database, *Schema, *Table or *Role.
type Descriptor interface {
	// Ident returns the descriptor's common fields.
	Ident() Ident
	withVersion(v uint64) Descriptor
}

// Ident implements Descriptor.
func (d *Database) Ident() Ident { return Ident{d.ID, d.Oid, d.Version, d.Name, d.Owner.Role()} }

// Ident implements Descriptor.
func (s *Schema) Ident() Ident { return Ident{s.ID, s.Oid, s.Version, s.Name, s.Owner.Role()} }

// Ident implements Descriptor.
func (t *Table) Ident() Ident { return Ident{t.ID, t.Oid, t.Version, t.Name, t.Owner.Role()} }

func (d *Database) withVersion(v uint64) Descriptor {
	c := *d
	c.Version = v
	return &c
}

func (s *Schema) withVersion(v uint64) Descriptor {
	c := *s
	c.Version = v
	return &c
}

func (t *Table) withVersion(v uint64) Descriptor {
	c := *t
	c.Version = v
	c.prepare()
	return &c
}
