package access

import (
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Columns are columns of a relation by their positions.
type Columns []uint64

// Add adds a column.
func (c *Columns) Add(i int) {
	for len(*c) <= i/64 {
		*c = append(*c, 0)
	}
	(*c)[i/64] |= 1 << (i % 64)
}

// Has reports whether a column is among them.
func (c Columns) Has(i int) bool { return i/64 < len(c) && c[i/64]>>(i%64)&1 != 0 }

// Empty reports whether there is none.
func (c Columns) Empty() bool {
	for _, w := range c {
		if w != 0 {
			return false
		}
	}
	return true
}

// all calls f for each column until that says no, and reports whether it never did.
func (c Columns) all(f func(int) bool) bool {
	for n, w := range c {
		for ; w != 0; w &= w - 1 {
			if !f(n*64 + bits.TrailingZeros64(w)) {
				return false
			}
		}
	}
	return true
}

// Use is what a statement does with a relation, or a routine that it calls.
type Use struct {
	Table *catalog.Table // nil: BuiltIn is used
	// BuiltIn is a function of the system that the statement calls, and not everybody may.
	BuiltIn *BuiltIn
	// As is the role whose privileges count: that of a view's owner for what its query reads, 0 for the
	// session's user.
	As privilege.Role
	// Needs are the privileges that it takes. Those on columns are enough where there are columns.
	Needs privilege.Bits
	// Selects, Inserts and Updates are the columns that the statement reads and writes.
	Selects, Inserts, Updates Columns
}

// BuiltIn is a function of the system.
type BuiltIn struct {
	Oid        uint32
	Name       string
	Restricted bool // to superusers, unless it was granted
	Aggregate  bool // called as one
}

func (f *BuiltIn) noun() string {
	if f.Aggregate {
		return "aggregate"
	}
	return "function"
}

// Check returns 42501 unless the session's user may do all that a statement does.
func Check(c *catalog.Collection, uses []*Use) error {
	me := c.User()
	for _, u := range uses {
		role := u.As
		if role == 0 {
			role = me
		}
		if f := u.BuiltIn; f != nil {
			if has, _ := OnFunction(c.Authority(me), c.DatabaseACLs(), f.Oid, f.Restricted, privilege.Execute); has == 0 {
				return Denied(f.noun(), f.Name)
			}
			continue
		}
		if c.ReadsPast() {
			u = u.now(c)
		}
		if !u.allowed(c.Authority(role)) {
			return DeniedRelation(u.Table)
		}
	}
	return nil
}

// now is the use with the owner and the privileges that the relation has at present, for a statement that reads the
// past; a relation that is gone has those that it had.
func (u *Use) now(c *catalog.Collection) *Use {
	present, ok := c.Known(u.Table.ID).(*catalog.Table)
	if !ok {
		return u
	}
	n := *u
	n.Table = u.Table.Clone()
	n.Table.Owner, n.Table.ACL = present.Owner, present.ACL
	for i := range n.Table.Columns {
		col := &n.Table.Columns[i]
		if at := present.ColumnByID(col.ID); at >= 0 {
			col.ACL = present.Columns[at].ACL
		}
	}
	return &n
}

// allowed reports whether a role has the privileges that the use takes.
func (u *Use) allowed(a *catalog.Authority) bool {
	if a.Super {
		return true
	}
	has, _ := OnTable(a, u.Table, u.Needs)
	missing := u.Needs &^ has
	for _, c := range [...]struct {
		need    privilege.Bits
		columns Columns
	}{{privilege.Select, u.Selects}, {privilege.Insert, u.Inserts}, {privilege.Update, u.Updates}} {
		if missing&c.need != 0 && u.onColumns(a, c.need, c.columns) {
			missing &^= c.need
		}
	}
	return missing == 0
}

// onColumns reports whether a role has a privilege on each of some columns; if there are none, on any.
func (u *Use) onColumns(a *catalog.Authority, need privilege.Bits, columns Columns) bool {
	if columns.Empty() {
		return onAnyColumn(a, u.Table, need) != 0
	}
	return columns.all(func(i int) bool {
		has, _ := OnColumn(a, u.Table, i, need)
		return has != 0
	})
}
