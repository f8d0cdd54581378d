package types

import (
	"strings"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// DefKind says what a user-defined type is.
type DefKind byte

// The kinds, the first ones as in pg_type.typtype; DefRow is an anonymous record
// whose field names are known.
const (
	DefEnum       DefKind = 'e'
	DefComposite  DefKind = 'c'
	DefDomain     DefKind = 'd'
	DefMultirange DefKind = 'm'
	DefRange      DefKind = 'R'
	DefRow        DefKind = 'r'
)

// EnumLabel is a label of an enum.
type EnumLabel struct {
	Oid  uint32
	Name string
	// Rank is what values hold; ranks order bytewise as labels do, and never
	// change.
	Rank string
	// Order is pg_enum.enumsortorder: it orders labels as Rank does, but may change.
	Order float32
	// Committed, if not nil, tells whether the transaction that added the label has committed.
	Committed *atomic.Bool
}

// Usable returns an error unless values may be made of a label of the enum t: before the transaction that
// has added it commits, what a rollback leaves might hold one.
func (l *EnumLabel) Usable(t *T) error {
	if l.Committed == nil || l.Committed.Load() {
		return nil
	}
	return pgerr.New(pgerr.UnsafeNewEnumValueUsage, "unsafe use of new value \"%s\" of enum type %s", l.Name, t.SQLName).
		WithHint("New enum values must be committed before they can be used.")
}

// FieldDef is a field of a composite type.
type FieldDef struct {
	Name string
	Type *T
	// Comment is set where the type is defined only, not where it is used.
	Comment string
}

// DomainCheck is a CHECK constraint of a domain: an expression over VALUE.
type DomainCheck struct {
	Oid  uint32
	Name string
	Expr string
	// NotValid: values that were there before may break it.
	NotValid bool   `json:",omitempty"`
	Comment  string `json:",omitempty"`
}

// Def is what a user-defined type adds to a T.
type Def struct {
	Kind     DefKind
	ArrayOid uint32
	Labels   []EnumLabel // DefEnum, in order
	Fields   []FieldDef  // DefComposite, DefRow
	// Relation says that a DefComposite is the type of a relation's rows. Its ArrayOid is
	// that of record[] if the relation has no type for arrays of them.
	Relation bool
	// DefDomain: the type below, with its modifier, and the constraints. Base is
	// the subtype of a DefRange, and the range type of a DefMultirange.
	Base    *T
	NotNull bool
	Default string
	Checks  []DomainCheck
	// DefRange: the multirange type over it, and its function for differences, which
	// nothing calls here.
	Multirange MultirangeDef
	SubDiff    string
	// Casts are those that CREATE CAST made from the type, and to it from a type that can't keep them.
	Casts []CastDef
}

// CastDef is a cast that CREATE CAST made; one of its types is the one that has it.
type CastDef struct {
	Oid, From, To uint32
	Context       CastContext
	Function      *CastFunction `json:",omitempty"` // nil: through text
	Comment       string        `json:",omitempty"`
}

// CastFunction is the function of a cast. It is given the value, if it takes Args arguments of more also the modifier of the
// target, and whether the cast is an explicit one.
type CastFunction struct {
	Oid  uint32
	Name string `json:",omitempty"` // of a function that is built in or an extension's
	ID   uint64 `json:",omitempty"` // of a user's
	Args int
}

// DeclaredCast returns the position of a cast among those of the types it is between, and the
// type that has it; nil if CREATE CAST has made no such cast.
func DeclaredCast(from, to *T) (has *T, at int) {
	for _, t := range [...]*T{from, to} {
		if t.Def == nil {
			continue
		}
		for i, c := range t.Def.Casts {
			if c.From == from.Oid && c.To == to.Oid {
				return t, i
			}
		}
	}
	return nil, -1
}

// MultirangeDef is what a range type knows of the multirange type over it.
type MultirangeDef struct {
	Oid, ArrayOid uint32
	Name, SQLName string
}

// NewUserType returns the type that def defines. A domain has the family of its
// base type; its name stands for itself in SQL.
func NewUserType(oid uint32, name, sqlName string, def *Def) *T {
	t := &T{Oid: oid, Typmod: -1, Name: name, SQLName: sqlName, Def: def}
	switch def.Kind {
	case DefEnum:
		t.Family = EnumFamily
	case DefDomain:
		t.Family, t.Elem, t.Sub = def.Base.Family, def.Base.Elem, def.Base.Sub
	case DefRange:
		t.Family, t.Sub = RangeFamily, def.Base
	case DefMultirange:
		t.Family, t.Sub = MultirangeFamily, def.Base
	default:
		t.Family = RecordFamily
	}
	return t
}

// NewRowType returns the anonymous record type of the named fields.
func NewRowType(fields []FieldDef) *T {
	t := *Record
	t.Def = &Def{Kind: DefRow, ArrayOid: RecordArray.Oid, Fields: fields}
	return &t
}

// Fields returns the fields of a record type, nil if they are not known.
func (t *T) Fields() []FieldDef {
	if t.Def == nil {
		return nil
	}
	return t.Def.Fields
}

// FieldByName returns the position of a field, -1 if there is none.
func (t *T) FieldByName(name string) int {
	for i, f := range t.Fields() {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// OfRelation reports whether t is the type of a relation's rows.
func (t *T) OfRelation() bool { return t.Def != nil && t.Def.Relation }

// HasArrays reports whether the user-defined type t has a type of arrays.
func (t *T) HasArrays() bool { return t.Def != nil && t.Def.ArrayOid != RecordArray.Oid }

// IsDomain reports whether t is a domain.
func (t *T) IsDomain() bool { return t.Def != nil && t.Def.Kind == DefDomain }

// OfDomain reports whether t is a domain, or an array of one.
func (t *T) OfDomain() bool {
	return t.IsDomain() || t.Def == nil && t.Elem != nil && t.Elem.IsDomain()
}

// BaseType returns the type below a domain, arrays of that for an array of a domain,
// and t itself for other types.
func (t *T) BaseType() *T {
	for t.IsDomain() {
		t = t.Def.Base
	}
	if !t.OfDomain() {
		return t
	}
	a, ok := ArrayOf(t.Elem.BaseType())
	must.True(ok, "types: no arrays of what is below %s", t.Elem.Name)
	return a
}

// IsEnum reports whether t is an enum.
func (t *T) IsEnum() bool { return t.Family == EnumFamily }

// arrayOf returns the type of arrays of t, which def defines.
func (def *Def) arrayOf(t *T) *T {
	elem := t.WithTypmod(-1)
	name := "_" + t.Name
	return &T{Family: ArrayFamily, Oid: def.ArrayOid, Typmod: t.Typmod, Elem: elem, Name: name, SQLName: t.SQLName + "[]"}
}

// userInfo returns the pg_type properties of a user-defined type.
func userInfo(t *T) Info {
	switch {
	case t.Def == nil && t.Elem != nil && t.Elem.Def != nil:
		return Info{Len: -1, Kind: 'b', Category: 'A', Align: max4(userInfo(t.Elem).Align), Storage: 'x'}
	case t.Def == nil:
		return Info{}
	}
	switch t.Def.Kind {
	case DefEnum:
		return Info{Len: 4, ByVal: true, Kind: 'e', Category: 'E', Align: 'i', Storage: 'p', ArrayOid: t.Def.ArrayOid}
	case DefDomain:
		i := InfoOf(t.Def.Base)
		i.Kind, i.Preferred, i.ArrayOid = 'd', false, t.Def.ArrayOid
		return i
	case DefRange, DefMultirange:
		i := Info{Len: -1, Kind: 'r', Category: 'R', Align: max4(InfoOf(t.Sub).Align), Storage: 'x', ArrayOid: t.Def.ArrayOid}
		if t.Def.Kind == DefMultirange {
			i.Kind = 'm'
		}
		return i
	}
	return Info{Len: -1, Kind: 'c', Category: 'C', Align: 'd', Storage: 'x', ArrayOid: t.Def.ArrayOid}
}

// max4 is the alignment of what has a length and then values: four bytes, or more
// if the values have more.
func max4(align byte) byte {
	if align == 'd' {
		return 'd'
	}
	return 'i'
}

// NewEnum returns an enum value from its label's rank.
func NewEnum(rank string) Datum { return Datum{fam: EnumFamily, s: rank} }

// EnumValue returns the value of a label.
func EnumValue(t *T, label string) (Datum, error) {
	if t.Def != nil {
		for i := range t.Def.Labels {
			if l := &t.Def.Labels[i]; l.Name == label {
				return NewEnum(l.Rank), l.Usable(t)
			}
		}
	}
	return Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", t.SQLName, label)
}

// rankStep is the distance between the ranks of the labels of a new enum.
const rankStep = 1 << 16

// FirstRanks returns the ranks for the n labels of a new enum.
func FirstRanks(n int) []string {
	out := make([]string, n)
	for i := range out {
		v := uint32(i+1) * rankStep
		out[i] = string([]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	}
	return out
}

// OrderBetween returns the sort order of a label to be inserted into labels at pos, and
// false if there is no number for it: then NumberLabels makes room.
func OrderBetween(labels []EnumLabel, pos int) (order float32, ok bool) {
	switch n := len(labels); {
	case n == 0:
		return 1, true
	case pos == 0:
		return labels[0].Order - 1, true
	case pos == n:
		return labels[n-1].Order + 1, true
	}
	lo, hi := labels[pos-1].Order, labels[pos].Order
	order = (lo + hi) / 2
	return order, order != lo && order != hi
}

// NumberLabels gives labels the sort orders from 1 on.
func NumberLabels(labels []EnumLabel) {
	for i := range labels {
		labels[i].Order = float32(i + 1)
	}
}

// MaxEnumLabels bounds the labels of an enum.
const MaxEnumLabels = 1<<15 - 1

// RankBetween returns a rank above lo and below hi; "" stands for no bound.
func RankBetween(lo, hi string) string {
	must.True(hi == "" || lo < hi, "types: enum ranks %x and %x out of order", lo, hi)
	var out []byte
	for i := 0; ; i++ {
		l, h := 0, 256
		if i < len(lo) {
			l = int(lo[i])
		}
		if hi != "" && i < len(hi) && strings.HasPrefix(hi, string(out)) {
			h = int(hi[i])
		}
		if h-l > 1 {
			return string(append(out, byte(l+(h-l)/2)))
		}
		out = append(out, byte(l))
	}
}
