package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// RowAccess is how an operator reads and locks entries of an index.
type RowAccess struct {
	run      *operator.Run
	families *tableaccess.RowTxn // nil: an entry is one pair
}

// NewRowAccess prepares reading the columns at the positions ords of the table from x.
func NewRowAccess(r *operator.Run, x *rowcodec.Index, ords []int) RowAccess {
	a := RowAccess{run: r}
	if x.HasFamilies() {
		a.families = tableaccess.NewRowTxn(x, ords)
	}
	return a
}

// Txn returns the transaction to read entries by.
func (a *RowAccess) Txn() tableaccess.Txn { return a.Over(a.run.Txn) }

// Over is txn for an access whose operator is not running.
func (a *RowAccess) Over(txn tableaccess.Txn) tableaccess.Txn {
	if a.families == nil {
		return txn
	}
	a.families.Txn = txn
	return a.families
}
