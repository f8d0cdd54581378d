package alter

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxStatistics is the highest target of SET STATISTICS; higher ones are lowered with a warning.
const maxStatistics = 10000

var columnParameters = relations.Parameters{Known: map[string]relations.Parameter{
	"n_distinct":           {Kind: relations.RealParameter, Min: -1, Max: math.MaxFloat64},
	"n_distinct_inherited": {Kind: relations.RealParameter, Min: -1, Max: math.MaxFloat64},
}}

// checkColumnOption checks what a command without effect says about a column.
func (a *Alteration) checkColumnOption(c *ast.AlterCmd) error {
	if c.Kind == ast.AlterColumnStatistics {
		return a.checkStatistics(c)
	}
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	switch c.Kind {
	case ast.AlterColumnSetParams:
		_, err = columnParameters.Set(nil, c.Params)
	case ast.AlterColumnResetParams:
		_, err = relations.ResetOptions(nil, c.Params)
	case ast.AlterColumnStorage:
		err = checkColumnStorage(col, c.NewName)
	case ast.AlterColumnCompression:
		err = checkCompression(col, c.NewName)
	}
	return err
}

// checkStatistics checks SET STATISTICS of a column of a table, or of an expression of an index.
func (a *Alteration) checkStatistics(c *ast.AlterCmd) error {
	if target, _ := c.X.(*ast.IntLit); target != nil && target.Val < -1 {
		return pgerr.New(pgerr.InvalidParameterValue, "statistics target %d is too low", target.Val)
	} else if target != nil && target.Val > maxStatistics && a.E.Notice != nil {
		a.E.Notice("WARNING", pgerr.New(pgerr.InvalidParameterValue, "lowering statistics target to %d", maxStatistics))
	}
	if !a.index {
		if c.Name == "" {
			return pgerr.Unsupported("cannot refer to non-index column by number")
		}
		_, err := a.column(c.Name)
		return err
	}
	ix := a.T.IndexByName(a.name)
	if c.Name != "" || c.Number < 1 || c.Number > len(ix.Columns)+len(ix.Stored) {
		if c.Name != "" {
			return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c.Name, ix.Name)
		}
		return pgerr.New(pgerr.UndefinedColumn, "column number %d of relation \"%s\" does not exist", c.Number, ix.Name)
	}
	if c.Number > len(ix.Columns) {
		return pgerr.Unsupported("cannot alter statistics on included column \"%s\" of index \"%s\"",
			a.T.Columns[a.T.ColumnByID(ix.Stored[c.Number-len(ix.Columns)-1])].Name, ix.Name)
	}
	if col := &a.T.Columns[a.T.ColumnByID(ix.Columns[c.Number-1].Column)]; !col.IndexExpression() {
		return pgerr.Unsupported("cannot alter statistics on non-expression column \"%s\" of index \"%s\"", col.Name, ix.Name).
			WithHint("Alter statistics on table column instead.")
	}
	return nil
}

// toastable reports whether PostgreSQL would store long values of a column elsewhere.
func toastable(c *catalog.Column) bool { return types.InfoOf(relations.DeclaredType(c)).Storage != 'p' }

func checkColumnStorage(c *catalog.Column, name ast.Name) error {
	switch name {
	case "plain":
		return nil
	case "external", "extended", "main":
		if toastable(c) {
			return nil
		}
		return pgerr.Unsupported("column data type %s can only have storage PLAIN", types.FormatType(relations.DeclaredType(c).WithTypmod(-1)))
	}
	return pgerr.New(pgerr.InvalidParameterValue, "invalid storage type \"%s\"", name)
}

func checkCompression(c *catalog.Column, name ast.Name) error {
	switch name {
	case "default", "pglz", "lz4":
		if name == "default" || toastable(c) {
			return nil
		}
		return pgerr.Unsupported("column data type %s does not support compression", types.FormatType(relations.DeclaredType(c).WithTypmod(-1)))
	}
	return pgerr.New(pgerr.InvalidParameterValue, "invalid compression method \"%s\"", name)
}
