package backfill

import (
	"slices"

	"github.com/lichendb/lichen/internal/quota"
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
	from []int           // where a row has the columns of the old key, by their positions in the old table; -1: it is none of them
	row  []types.Datum   // of the old table
	ids  map[string]types.Datum
	key  []byte
	mem  quota.Account
	// extra are the positions in the old table of columns of its key that the rows have no longer, or with other values: they
	// are read beside those of the rows.
	extra []int
}

// newRowIDs returns what remembers the ids that the rows of a table get, nil if they get none.
func newRowIDs(s *Spec, mem *quota.Pool) (*rowIDs, error) {
	if s.Old == nil || s.Table.RowIDOid == 0 || s.Table.RowIDOid == s.Old.RowIDOid || s.Old.HasFamilies() {
		return nil, nil
	}
	r := &rowIDs{ids: map[string]types.Datum{}, row: make([]types.Datum, len(s.Old.Columns)), from: make([]int, len(s.Old.Columns))}
	r.ord = s.Table.ColumnByID(s.Table.Primary().Columns[0].Column)
	for i := range r.from {
		r.from[i] = -1
	}
	for _, k := range s.Old.Primary().Columns {
		i, now := s.Old.ColumnByID(k.Column), s.Table.ColumnByID(k.Column)
		if now < 0 || s.Values[k.Column] != nil || !s.Table.Columns[now].Type.Is(s.Old.Columns[i].Type) {
			now = len(s.Table.Columns) + len(r.extra)
			r.extra = append(r.extra, i)
		}
		r.from[i] = now
	}
	r.mem.Init(mem)
	var err error
	r.old, err = rowcodec.Compile(s.Old, s.Old.Primary())
	return r, err
}

// extras is how many columns rows have that are not of the table.
func (r *rowIDs) extras() int {
	if r == nil {
		return 0
	}
	return len(r.extra)
}

// withKeys has a plan of rows compute the extra columns after those of the table; their numbers begin with next. It returns false if
// it can't.
func (r *rowIDs) withKeys(n plan.Node, next plan.ColID) (plan.Node, bool) {
	if r.extras() == 0 {
		return n, true
	}
	var cols []plan.Column
	out, ok := passKeys(n, r.extra, &cols)
	p, isProject := out.(*plan.Project)
	if !ok || !isProject {
		return n, false
	}
	input := p.Input.Props().Cols
	more := *n.(*plan.Project)
	more.Input, more.Cols, more.Exprs = p.Input, slices.Clone(more.Cols), slices.Clone(more.Exprs)
	for i, c := range cols {
		if !slices.ContainsFunc(input, func(in plan.Column) bool { return in.ID == c.ID }) {
			return n, false
		}
		more.Cols = append(more.Cols, plan.Column{ID: next + plan.ColID(i), Name: c.Name, Type: c.Type})
		more.Exprs = append(more.Exprs, &plan.ColRef{Col: c.ID, T: c.Type, Name: c.Name})
	}
	return &more, true
}

// passKeys has projections over a scan pass columns of its table on, given by their positions there, and returns these as the scan
// calls them.
func passKeys(n plan.Node, ords []int, cols *[]plan.Column) (plan.Node, bool) {
	switch n := n.(type) {
	case *plan.Scan:
		all := n.Props().Cols
		for _, ord := range ords {
			i := slices.Index(n.Ords, ord)
			if i < 0 {
				return n, false
			}
			*cols = append(*cols, all[i])
		}
		return n, true
	case *plan.Project:
		input, ok := passKeys(n.Input, ords, cols)
		more := *n
		more.Input, more.Cols, more.Exprs = input, slices.Clone(n.Cols), slices.Clone(n.Exprs)
		for _, c := range *cols {
			if !slices.ContainsFunc(more.Cols, func(o plan.Column) bool { return o.ID == c.ID }) {
				more.Cols, more.Exprs = append(more.Cols, c), append(more.Exprs, &plan.ColRef{Col: c.ID, T: c.Type, Name: c.Name})
			}
		}
		return &more, ok
	}
	return n, false
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
