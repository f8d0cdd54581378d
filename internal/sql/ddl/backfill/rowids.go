package backfill

import (
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// maxRowIDs is how many rows of a table may get ids while others change it: they are remembered.
	maxRowIDs = 4 << 20
	// rowIDBytes is about what it takes to remember one, beside the key.
	rowIDBytes = 64
)

// rowIDs are the ids that rows have got which lose their primary key while others change the table: a row that is read again
// keeps its id. They are remembered by the old keys.
type rowIDs struct {
	ord  int             // of the column of ids
	old  *rowcodec.Index // the old primary key
	from []int           // where the row has the columns of the old table, by their positions there; -1: nowhere
	row  []types.Datum   // of the old table
	ids  map[string]types.Datum
	key  []byte
	mem  quota.Account
}

// newRowIDs returns what remembers the ids that the rows of a table get, nil if they get none, or the old keys can't be
// told from the rows as they become.
func newRowIDs(s *Spec, mem *quota.Pool) (*rowIDs, error) {
	if s.Old == nil || s.Table.RowIDOid == 0 || s.Table.RowIDOid == s.Old.RowIDOid || len(s.Values) > 0 || s.Old.HasFamilies() {
		return nil, nil
	}
	r := &rowIDs{ids: map[string]types.Datum{}, row: make([]types.Datum, len(s.Old.Columns)), from: make([]int, len(s.Old.Columns))}
	r.ord = s.Table.ColumnByID(s.Table.Primary().Columns[0].Column)
	for i := range s.Old.Columns {
		r.from[i] = s.Table.ColumnByID(s.Old.Columns[i].ID)
	}
	kept := func(k catalog.IndexColumn) bool {
		i := s.Old.ColumnByID(k.Column)
		return r.from[i] >= 0 && s.Table.Columns[r.from[i]].Type.Is(s.Old.Columns[i].Type)
	}
	if slices.ContainsFunc(s.Old.Primary().Columns, func(k catalog.IndexColumn) bool { return !kept(k) }) {
		return nil, nil
	}
	r.mem.Init(mem)
	var err error
	r.old, err = rowcodec.Compile(s.Old, s.Old.Primary())
	return r, err
}

// keep gives a row the id that it has got before, if it has; otherwise it is remembered with the one that it has got now.
func (r *rowIDs) keep(row []types.Datum) (err error) {
	for i, at := range r.from {
		if at >= 0 {
			r.row[i] = row[at]
		}
	}
	if r.key, err = r.old.AppendKey(r.key[:0], r.row); err != nil {
		return err
	}
	if id, ok := r.ids[string(r.key)]; ok {
		row[r.ord] = id
		return nil
	}
	if err := r.mem.Grow(int64(len(r.key) + rowIDBytes)); err != nil {
		return pgerr.From(err)
	}
	r.ids[string(r.key)] = row[r.ord]
	return nil
}

// close gives up the memory.
func (r *rowIDs) close() {
	if r != nil {
		r.mem.Close()
	}
}

// but returns a plan of rows without the expression of the ids, to see what else it computes.
func (r *rowIDs) but(n plan.Node) plan.Node {
	p, ok := n.(*plan.Project)
	if r == nil || !ok {
		return n
	}
	other := *p
	other.Exprs = slices.Clone(p.Exprs)
	other.Exprs[r.ord] = &plan.Const{T: types.Int8, D: types.Null}
	return &other
}
