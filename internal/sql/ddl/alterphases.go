package ddl

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
)

// The phases of ALTER TABLE, PostgreSQL's: what goes makes room for what comes, columns are
// there before constraints on them, and indexes before the keys that rest on them.
const (
	phaseDrop = iota
	phaseTypes
	phaseColumns
	phaseAttributes
	phaseIndexes
	phaseConstraints
	phaseOthers
)

func phaseOf(c *ast.AlterCmd) int {
	switch c.Kind {
	case ast.AlterDropColumn, ast.AlterDropConstraint, ast.AlterColumnDropNotNull, ast.AlterColumnDropDefault,
		ast.AlterColumnDropOnUpdate, ast.AlterColumnDropExpr, ast.AlterColumnDropIdentity:
		return phaseDrop
	case ast.AlterColumnType:
		return phaseTypes
	case ast.AlterAddColumn:
		return phaseColumns
	case ast.AlterColumnSetNotNull, ast.AlterColumnSetVisible, ast.AlterColumnSetNotVisible:
		return phaseAttributes
	case ast.AlterPrimaryKey:
		return phaseIndexes
	case ast.AlterAddConstraint:
		switch c.Constraint.Kind {
		case ast.ConstrPrimaryKey, ast.ConstrUnique, ast.ConstrExclude:
			return phaseIndexes
		}
		return phaseConstraints
	case ast.AlterColumnSetDefault, ast.AlterColumnSetOnUpdate, ast.AlterColumnAddIdentity:
		return phaseConstraints
	}
	return phaseOthers
}

// inPhases orders the commands of a statement. Those that change types come together, the others
// one by one. A statement that renames is none of PostgreSQL's: its commands run as written.
func inPhases(cmds []*ast.AlterCmd) [][]*ast.AlterCmd {
	renames := func(c *ast.AlterCmd) bool {
		switch c.Kind {
		case ast.AlterRename, ast.AlterRenameColumn, ast.AlterRenameConstraint:
			return true
		}
		return false
	}
	if !slices.ContainsFunc(cmds, renames) {
		cmds = slices.Clone(cmds)
		slices.SortStableFunc(cmds, func(a, b *ast.AlterCmd) int { return phaseOf(a) - phaseOf(b) })
	}
	var out [][]*ast.AlterCmd
	for i, c := range cmds {
		together := i > 0 && c.Kind == ast.AlterColumnType && cmds[i-1].Kind == c.Kind
		if last := len(out) - 1; together && !plant.On(plant.TypesInTurn) {
			out[last] = append(out[last], c)
			continue
		}
		out = append(out, []*ast.AlterCmd{c})
	}
	return out
}
