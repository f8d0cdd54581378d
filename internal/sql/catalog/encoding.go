package catalog

import (
	"encoding/json"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog/named"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The first byte of a stored descriptor. JSON follows, in which fields of later versions
// are skipped: neither a table with families or triggers nor the Cluster nor a role nor a routine, least of all one
// with SECURITY DEFINER, nor a table whose rows not everybody sees, nor a database or Cluster with lists of what has no descriptor,
// must be read by who does not know them.
const (
	descriptorFormat = 1
	familiesFormat   = 2
	clusterFormat    = 3
	roleFormat       = 4
	routineFormat    = 5
	securityFormat   = 6
	triggerFormat    = 7
	systemACLFormat  = 8
	lastFormat       = systemACLFormat
)

// record is a stored descriptor: one of its fields is set.
type record struct {
	Cluster  *Cluster     `json:"cluster,omitempty"`
	Database *Database    `json:"database,omitempty"`
	Schema   *Schema      `json:"schema,omitempty"`
	Table    *tableRecord `json:"table,omitempty"`
	Role     *Role        `json:"role,omitempty"`
}

// tableRecord is a Table whose types are written by oid.
type tableRecord struct {
	Table
	Columns  []columnRecord
	Sequence *sequenceRecord `json:",omitempty"`
	UserType *typeRecord     `json:",omitempty"`
	Routine  *routineRecord  `json:",omitempty"`
}

type columnRecord struct {
	Column
	Type   typeRecord
	Domain *typeRecord `json:",omitempty"`
}

type sequenceRecord struct {
	Sequence
	Type typeRecord
}

type typeRecord struct {
	Oid    uint32
	Typmod int32
	// User is the definition of a user-defined type; with Array set it is that of
	// the elements.
	User  *userTypeRecord `json:",omitempty"`
	Array bool            `json:",omitempty"`
	// Collation is set where it is not the type's own. What it says never changes, but
	// for the name.
	Collation *types.Collation `json:",omitempty"`
}

// EncodeTable writes a table for another node, as it is stored.
func EncodeTable(t *Table) ([]byte, error) { return encodeDescriptor(t) }

// DecodeTable reads what EncodeTable wrote.
func DecodeTable(id ID, b []byte) (*Table, error) {
	d, err := decodeDescriptor(id, b)
	if err != nil {
		return nil, err
	}
	if t, ok := d.(*Table); ok {
		return t, nil
	}
	return nil, corrupt(id, "it is no table")
}

func encodeDescriptor(d Descriptor) ([]byte, error) {
	var r record
	switch d := d.(type) {
	case *Cluster:
		r.Cluster = d
	case *Database:
		r.Database = d
	case *Schema:
		r.Schema = d
	case *Table:
		r.Table = encodeTable(d)
	case *Role:
		r.Role = d
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, pgerr.From(err)
	}
	format := byte(descriptorFormat)
	switch {
	case r.Cluster != nil && r.Cluster.ACLs != nil, r.Database != nil && r.Database.ACLs != nil:
		format = systemACLFormat
	case r.Cluster != nil:
		format = clusterFormat
	case r.Role != nil:
		format = roleFormat
	case r.Table != nil && len(r.Table.Triggers) > 0:
		format = triggerFormat
	case r.Table != nil && (r.Table.RowSecurity || r.Table.Policies != nil || r.Table.Routine != nil && r.Table.Routine.Definer):
		format = securityFormat
	case r.Table != nil && r.Table.Routine != nil:
		format = routineFormat
	case r.Table != nil && r.Table.Families != nil:
		format = familiesFormat
	}
	return append([]byte{format}, b...), nil
}

func encodeTable(t *Table) *tableRecord {
	r := &tableRecord{Table: *t, Columns: make([]columnRecord, len(t.Columns))}
	for i := range t.Columns {
		r.Columns[i] = columnRecord{Column: t.Columns[i], Type: encodeType(t.Columns[i].Type), Domain: encodeTypePtr(t.Columns[i].Domain)}
	}
	r.UserType, r.Routine = encodeTypePtr(t.UserType), encodeRoutine(t.Routine)
	if t.Sequence != nil {
		r.Sequence = &sequenceRecord{Sequence: *t.Sequence, Type: encodeType(t.Sequence.Type)}
	}
	return r
}

func corrupt(id ID, format string, args ...any) error {
	cause := pgerr.New(pgerr.DataCorrupted, format, args...)
	return pgerr.New(pgerr.DataCorrupted, "damaged catalog descriptor %d: %s", id, cause.Message)
}

// decodeDescriptor reads what encodeDescriptor wrote.
func decodeDescriptor(id ID, b []byte) (Descriptor, error) {
	if len(b) == 0 {
		return nil, corrupt(id, "it is empty")
	}
	if b[0] < descriptorFormat || b[0] > lastFormat {
		return nil, pgerr.New(pgerr.DataCorrupted,
			"catalog descriptor %d has format %d, this version reads formats %d to %d", id, b[0], descriptorFormat, lastFormat)
	}
	var r record
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return nil, corrupt(id, "%v", err)
	}
	var d Descriptor
	switch {
	case r.Cluster != nil:
		d = r.Cluster
	case r.Database != nil:
		d = r.Database
	case r.Schema != nil:
		d = r.Schema
	case r.Role != nil:
		d = r.Role
	case r.Table != nil:
		t, err := decodeTable(id, r.Table)
		if err != nil {
			return nil, err
		}
		d = t
	default:
		return nil, corrupt(id, "it describes nothing")
	}
	if d.Ident().ID != id {
		return nil, corrupt(id, "it says it is %d", d.Ident().ID)
	}
	return d, nil
}

func decodeTable(id ID, r *tableRecord) (*Table, error) {
	t := r.Table
	t.Columns = make([]Column, len(r.Columns))
	for i := range r.Columns {
		t.Columns[i] = r.Columns[i].Column
		var err error
		if t.Columns[i].Type, err = decodeType(id, r.Columns[i].Type, 0); err != nil {
			return nil, err
		}
		if t.Columns[i].Domain, err = decodeTypePtr(id, r.Columns[i].Domain); err != nil {
			return nil, err
		}
	}
	var err error
	if t.UserType, err = decodeTypePtr(id, r.UserType); err != nil {
		return nil, err
	}
	if t.Routine, err = decodeRoutine(id, r.Routine); err != nil {
		return nil, err
	}
	t.Sequence = nil
	if r.Sequence != nil {
		s := r.Sequence.Sequence
		var err error
		if s.Type, err = decodeType(id, r.Sequence.Type, 0); err != nil {
			return nil, err
		}
		t.Sequence = &s
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	t.prepare()
	return &t, nil
}

// prepare sets what is derived from the stored fields.
func (t *Table) prepare() {
	t.rowIDSeq = nil
	if t.RowIDOid != 0 {
		t.rowIDSeq = t.rowIDs()
	}
	t.Names = named.In(t.StoredTexts())
	t.UserTypes = t.UserType != nil || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Domain != nil || !named.BuiltIn(c.Type) })
	if t.Routine != nil {
		r := *t.Routine
		t.Routine = &r
		r.overload = t.makeOverload()
	}
}

// check verifies what the layers above take for granted.
func (t *Table) check() error {
	ids := make(map[ColumnID]bool, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.ID == 0 || ids[c.ID] || c.ID >= t.NextColumnID {
			return corrupt(t.ID, "column id %d is out of place", c.ID)
		}
		if c.Missing != nil && (c.Virtual || t.HasFamilies()) {
			return corrupt(t.ID, "column %d has a value in rows that can't lack it", c.ID)
		}
		ids[c.ID] = true
	}
	if err := t.checkFamilies(ids); err != nil {
		return err
	}
	for i := range t.Indexes {
		if err := t.checkIndex(&t.Indexes[i], ids); err != nil {
			return err
		}
	}
	for i := range t.ForeignKeys {
		if err := t.checkForeignKey(&t.ForeignKeys[i], ids); err != nil {
			return err
		}
	}
	for i := range t.Triggers {
		if err := t.checkTrigger(&t.Triggers[i], ids); err != nil {
			return err
		}
	}
	if err := t.checkExtended(ids); err != nil {
		return err
	}
	switch t.Kind {
	case KindTable:
		if len(t.Indexes) == 0 || len(t.Indexes[0].Columns) == 0 {
			return corrupt(t.ID, "no primary index")
		}
	case KindSequence:
		if t.Sequence == nil || t.Sequence.Increment == 0 {
			return corrupt(t.ID, "no sequence definition")
		}
	case KindView:
		if t.View == nil || len(t.View.UsesColumns) != len(t.View.Uses) {
			return corrupt(t.ID, "no view definition")
		}
	case KindCollation:
		if t.Collation == nil {
			return corrupt(t.ID, "no collation definition")
		}
	case KindRoutine:
		if t.Routine == nil || t.Routine.Returns == nil || volatilities[t.Routine.Volatility] == 0 && t.Routine.Volatility != 'i' {
			return corrupt(t.ID, "no routine definition")
		}
	case KindType:
		if t.UserType == nil || t.UserType.Def == nil {
			return corrupt(t.ID, "no type definition")
		}
	default:
		return corrupt(t.ID, "unknown kind %d", t.Kind)
	}
	return nil
}

func (t *Table) checkIndex(ix *Index, columns map[ColumnID]bool) error {
	if ix.ID == 0 || ix.ID >= t.NextIndexID {
		return corrupt(t.ID, "index id %d is out of place", ix.ID)
	}
	for _, c := range ix.Columns {
		if !columns[c.Column] {
			return corrupt(t.ID, "index %d has no column %d", ix.ID, c.Column)
		}
		if c.SortKey && len(t.Columns[t.ColumnByID(c.Column)].BaseColumns) != 1 {
			return corrupt(t.ID, "index %d has sort keys of no column", ix.ID)
		}
	}
	if ix.HashColumns < 0 || ix.HashColumns > len(ix.Columns) || ix.Buckets < 0 || ix.Buckets > 1<<16 {
		return corrupt(t.ID, "index %d hashes %d columns to %d buckets", ix.ID, ix.HashColumns, ix.Buckets)
	}
	for _, c := range ix.Stored {
		if !columns[c] {
			return corrupt(t.ID, "index %d stores no column %d", ix.ID, c)
		}
	}
	return nil
}
