package optimizer

import "github.com/lichendb/lichen/internal/sql/plan"

// colSet is a set of columns.
type colSet []uint64

func newSet(limit plan.ColID, ids []plan.ColID) colSet {
	s := make(colSet, int(limit)/64+1)
	for _, id := range ids {
		s.add(id)
	}
	return s
}

func (s *colSet) add(id plan.ColID) {
	for int(id)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[id/64] |= 1 << (id % 64)
}

func (s colSet) has(id plan.ColID) bool {
	return int(id)/64 < len(s) && s[id/64]&(1<<(id%64)) != 0
}

func (s colSet) clone() colSet { return append(colSet(nil), s...) }

// addRefs adds the columns that e refers to.
func (s *colSet) addRefs(e plan.Expr) {
	if e != nil {
		plan.Refs(e, s.add)
	}
}

// refsAny reports whether e refers to any of cols.
func refsAny(e plan.Expr, cols []plan.Column) (any bool) {
	plan.Refs(e, func(id plan.ColID) { any = any || plan.FindCol(cols, id) >= 0 })
	return any
}

// refsOnly reports whether e refers to nothing of other.
func refsOnly(e plan.Expr, other []plan.Column) bool { return !refsAny(e, other) }

// setOf returns the set of cols.
func (o *optimizer) setOf(cols []plan.Column) colSet {
	s := make(colSet, int(o.nextCol)/64+1)
	for i := range cols {
		s.add(cols[i].ID)
	}
	return s
}
