package rowcontainer

import (
	"cmp"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Bounds of the runs that are merged at a time: as many as work_mem has blocks for, between these.
const (
	leastMerged = 6
	mostMerged  = 64
)

// RowSorter sorts rows: in memory, or if they find none by sorting runs of them, which it merges from
// a temporary file.
type RowSorter struct {
	st     *expr.State
	order  Ordering
	width  int
	rows   Store // the rows in memory
	sorter Sorter
	runs   []*File
	merge  merge
	pos    int   // in rows, if there are no runs
	disk   int64 // that the runs took
	memory int64 // that the rows took
}

// Open empties the sorter and binds it to an execution.
func (s *RowSorter) Open(st *expr.State, width int, o Ordering) {
	s.Close()
	s.st, s.width, s.order = st, width, o
	s.pos, s.disk, s.memory = 0, 0, 0
	s.rows.Open(st, width)
}

// Close gives memory and space back.
func (s *RowSorter) Close() {
	s.merge.close()
	for _, r := range s.runs {
		r.Free()
	}
	s.runs = nil
	s.rows.Close()
}

// ExpectFew says that there are many such sorters, each with few rows.
func (s *RowSorter) ExpectFew() { s.rows.ExpectFew() }

// Len returns how many rows are in memory.
func (s *RowSorter) Len() int { return s.rows.Len() }

// Used returns how many bytes the rows took at most, in memory and on disk; disk is 0 if they did not
// leave the memory.
func (s *RowSorter) Used() (memory, disk int64) { return s.memory, s.disk }

// Add takes a copy of a row.
func (s *RowSorter) Add(row types.Row) error {
	if s.st.Full(s.rows.Acc.Used()) && s.rows.Len() > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	err := s.keep(row)
	if !s.st.Refused(err, s.rows.Acc.Used()) || s.rows.Len() == 0 {
		return err
	}
	if err := s.spill(); err != nil {
		return err
	}
	return s.keep(row)
}

// keep takes a row into memory, with what sorting it takes.
func (s *RowSorter) keep(row types.Row) error {
	if err := s.rows.Acc.Grow(SortItemSize); err != nil {
		return expr.MemoryError(err)
	}
	_, err := s.rows.Add(row)
	return err
}

// Take takes over the rows of a store, which is empty then. The sorter has none yet.
func (s *RowSorter) Take(rows *Store) { s.rows, *rows = *rows, s.rows }

// spill writes the rows in memory as a run.
func (s *RowSorter) spill() error {
	if err := s.sortRows(); err != nil {
		return err
	}
	run := NewFile(&s.st.Temp, s.st.Mem, s.width)
	s.runs = append(s.runs, run)
	for _, row := range s.rows.Rows {
		if err := s.st.Tick(); err != nil {
			return err
		}
		if err := run.Add(row); err != nil {
			return err
		}
	}
	s.rows.Reset()
	return run.Flush()
}

func (s *RowSorter) sortRows() error {
	s.memory = max(s.memory, s.rows.Acc.Used())
	return s.sorter.Sort(s.st, s.rows.Rows, s.order)
}

// Finish sorts what was added: Next returns it from now on.
func (s *RowSorter) Finish() error {
	if len(s.runs) == 0 {
		return s.sortRows()
	}
	if s.rows.Len() > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.rows.Close()
	for _, r := range s.runs {
		s.disk += r.Bytes()
	}
	most := s.mostRuns()
	for len(s.runs) > most {
		if err := s.mergeRuns(most); err != nil {
			return err
		}
	}
	return s.merge.open(s.st, s.order, s.runs)
}

// mostRuns is how many runs are merged at a time.
func (s *RowSorter) mostRuns() int {
	return int(min(max(s.st.WorkMem/s.st.Temp.BlockBytes(), leastMerged), mostMerged))
}

// mergeRuns makes one run of the first n.
func (s *RowSorter) mergeRuns(n int) error {
	if err := s.merge.open(s.st, s.order, s.runs[:n]); err != nil {
		return err
	}
	out := NewFile(&s.st.Temp, s.st.Mem, s.width)
	s.runs = append(s.runs, out)
	for {
		row, err := s.merge.next()
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if err := out.Add(row); err != nil {
			return err
		}
	}
	s.merge.close()
	for _, r := range s.runs[:n] {
		r.Free()
	}
	s.runs = s.runs[n:]
	return out.Flush()
}

// Next returns the next row in order, nil behind the last. It stays intact until Close or Open.
func (s *RowSorter) Next() (types.Row, error) {
	if len(s.runs) > 0 {
		return s.merge.next()
	}
	if s.pos == s.rows.Len() {
		return nil, nil
	}
	s.pos++
	return s.rows.Rows[s.pos-1], nil
}

// merge merges sorted runs: a heap of the next row of each.
type merge struct {
	st    *expr.State
	order Ordering
	heads []mergeHead
}

// mergeHead is a run and its next row.
type mergeHead struct {
	row types.Row
	run int
	r   FileReader
}

func (m *merge) open(st *expr.State, o Ordering, runs []*File) error {
	m.st, m.order, m.heads = st, o, m.heads[:0]
	for i, run := range runs {
		h := mergeHead{run: i, r: run.Read()}
		var err error
		if h.row, err = h.r.Next(); err != nil {
			return err
		}
		m.heads = append(m.heads, h)
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return nil
}

func (m *merge) close() { m.heads = nil }

// next returns the least row that is left.
func (m *merge) next() (types.Row, error) {
	if len(m.heads) == 0 {
		return nil, nil
	}
	if err := m.st.Tick(); err != nil {
		return nil, err
	}
	h := &m.heads[0]
	row := h.row
	var err error
	if h.row, err = h.r.Next(); err != nil {
		return nil, err
	}
	if h.row == nil {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	if !plant.On(plant.RunsUnmerged) {
		m.down(0)
	}
	return row, m.st.Builtin.Stopped()
}

// down restores the heap below i.
func (m *merge) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(m.heads); c++ {
			if m.less(&m.heads[c], &m.heads[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}

func (m *merge) less(a, b *mergeHead) bool {
	return cmp.Or(m.order.Compare(a.row, b.row), cmp.Compare(a.run, b.run)) < 0
}
