package catalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Extended is a statistics object that CREATE STATISTICS has made of a table: ANALYZE then looks at combinations of values of some of
// its columns. It belongs to the owner of the table.
type Extended struct {
	Oid    uint32
	Schema ID
	Name   string
	// Kinds are those of pg_statistic_ext.stxkind, in the order of extendedKinds.
	Kinds   string
	Columns []ColumnID // in the order of the table
	// Target bounds the combinations that are kept as common ones, 0 has none looked at; -1: as the system does.
	Target  int32
	Comment string `json:",omitempty"`
}

// The kinds of extended statistics, as in pg_statistic_ext.stxkind.
const (
	ExtendedDistinct     = 'd' // how many different combinations there are
	ExtendedDependencies = 'f' // how far values of some columns determine those of another
	ExtendedCommon       = 'm' // combinations that many rows have
)

// AllExtended are all kinds of extended statistics.
const AllExtended = "dfm"

// Has reports whether the statistics object is of a kind.
func (x *Extended) Has(kind rune) bool { return strings.ContainsRune(x.Kinds, kind) }

// extendedPrefix begins the names of statistics objects, which have a name space of their own.
const extendedPrefix = "statistics\x00"

// ExtendedName is under what name a statistics object is kept in its schema. It stands for the table.
func ExtendedName(name string) string { return extendedPrefix + name }

// ExtendedByOid returns the statistics object of t with an oid, nil if there is none.
func (t *Table) ExtendedByOid(oid uint32) *Extended {
	for i := range t.Extended {
		if t.Extended[i].Oid == oid {
			return &t.Extended[i]
		}
	}
	return nil
}

func (t *Table) cloneExtended() {
	t.Extended = slices.Clone(t.Extended)
	for i := range t.Extended {
		t.Extended[i].Columns = slices.Clone(t.Extended[i].Columns)
	}
}

// checkExtended verifies what the layers above take for granted.
func (t *Table) checkExtended(columns map[ColumnID]bool) error {
	for i := range t.Extended {
		x := &t.Extended[i]
		if x.Oid == 0 || x.Name == "" || x.Kinds == "" || len(x.Columns) < 2 {
			return corrupt(t.ID, "statistics object %d is not defined", x.Oid)
		}
		for _, id := range x.Columns {
			if !columns[id] {
				return corrupt(t.ID, "statistics object %q has no column %d", x.Name, id)
			}
		}
	}
	return nil
}

// ExtendedData is what ANALYZE found of a statistics object.
type ExtendedData struct {
	Distinct     []Combinations      `json:",omitempty"`
	Dependencies []Dependency        `json:",omitempty"`
	Common       []CommonCombination `json:",omitempty"`
}

// Combinations are how many different combinations of values some columns have.
type Combinations struct {
	Columns  []ColumnID
	Distinct float64
}

// Dependency says for which share of the rows the values of some columns determine that of another.
type Dependency struct {
	From   []ColumnID
	To     ColumnID
	Degree float64
}

// CommonCombination are values of the columns of a statistics object, the share of the rows that have them all, and what that would be
// if the columns had nothing to do with one another.
type CommonCombination struct {
	Values      []types.Datum `json:"-"`
	Encoded     [][]byte      // the values as they are stored, by types.AppendEncoded
	Share, Base float64
}

// encoded is what is found of statistics objects with the values in the form in which they are stored.
func (s *Statistics) encoded() map[uint32]*ExtendedData {
	var out map[uint32]*ExtendedData
	for oid, d := range s.Extended {
		c := *d
		c.Common = slices.Clone(d.Common)
		for i := range c.Common {
			c.Common[i].Encoded = nil
			for _, v := range c.Common[i].Values {
				c.Common[i].Encoded = append(c.Common[i].Encoded, types.AppendEncoded(nil, v))
			}
		}
		if out == nil {
			out = map[uint32]*ExtendedData{}
		}
		out[oid] = &c
	}
	return out
}

// decodeExtended reads the values that encoded wrote.
func (s *Statistics) decodeExtended() error {
	for _, d := range s.Extended {
		for i := range d.Common {
			c := &d.Common[i]
			var err error
			if c.Values, err = decodeValues(c.Encoded); err != nil {
				return err
			}
			c.Encoded = nil
		}
	}
	return nil
}
