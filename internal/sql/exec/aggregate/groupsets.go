package aggregate

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// useSets prepares for the grouping sets and GROUPING calls of n.
func (g *groupOp) useSets(n *plan.GroupBy) {
	for _, c := range n.Groupings {
		g.groupings = append(g.groupings, c.Keys)
	}
	if n.Sets == nil {
		return
	}
	g.ordered, g.input = false, make(types.Row, len(n.Keys))
	for _, set := range n.Sets {
		has := make([]bool, len(n.Keys))
		for _, k := range set {
			has[k] = true
		}
		g.sets = append(g.sets, has)
	}
}

// emptySets makes the groups of the empty grouping sets, which are there even
// without input.
func (g *groupOp) emptySets() error {
	for i, has := range g.sets {
		if slices.Contains(has, true) {
			continue
		}
		clear(g.vals)
		g.vals[len(g.keys)] = types.NewInt(int64(i))
		if _, err := g.newGroup(); err != nil {
			return err
		}
	}
	return nil
}

// addToSets adds a row to its group of every grouping set. Direct arguments of
// aggregates find the keys that a set leaves out NULL.
func (g *groupOp) addToSets(row types.Row) error {
	rowcontainer.CopySlots(g.input, row, g.keys)
	for i, has := range g.sets {
		for k := range has {
			g.vals[k] = types.Null
			if has[k] {
				g.vals[k] = g.input[k]
			}
			row[g.keys[k]] = g.vals[k]
		}
		g.vals[len(g.keys)] = types.NewInt(int64(i))
		if err := g.addToGroup(row); err != nil {
			return err
		}
	}
	for k, slot := range g.keys {
		row[slot] = g.input[k]
	}
	return nil
}

// groupingOf is GROUPING of the group at pos: a bit per key, set where the
// group's set leaves it out.
func (g *groupOp) groupingOf(keys []int) types.Datum {
	if g.sets == nil {
		return types.NewInt(0)
	}
	has := g.sets[g.groups.Rows[g.pos][len(g.keys)].Int()]
	var v int64
	for _, k := range keys {
		v <<= 1
		if !has[k] {
			v |= 1
		}
	}
	return types.NewInt(v)
}
