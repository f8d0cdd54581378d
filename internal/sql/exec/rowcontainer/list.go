package rowcontainer

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// listPages is how many pages of a list on disk are in memory: consumers look at several places in
	// turns, the row at hand and the ends of its frame say.
	listPages = 4
	// pageRows and pageBytes bound a page, which has a row at least.
	pageRows  = 64
	pageBytes = 16 << 10
)

// List is a list of rows that can be read from any row on: in memory or, once that has ended, in the
// temporary file.
type List struct {
	st    *expr.State
	width int
	rows  Store
	file  *File // nil: the rows are in memory
	pages [listPages]page
	turn  int // the page that the next one replaces
}

// page is some rows of a file that follow each other.
type page struct {
	first int
	rows  []types.Row
	r     FileReader // behind them
}

func (p *page) end() int { return p.first + len(p.rows) }

// Open empties the list and binds it to an execution.
func (l *List) Open(st *expr.State, width int) {
	l.Close()
	l.st, l.width = st, width
	l.rows.Open(st, width)
}

// Close gives memory and space back.
func (l *List) Close() {
	l.rows.Close()
	if l.file != nil {
		l.file.Free()
		l.file, l.pages = nil, [listPages]page{}
	}
}

// Len returns the number of rows.
func (l *List) Len() int {
	if l.file != nil {
		return l.file.Len()
	}
	return l.rows.Len()
}

// Disk returns how much of the disk the rows take.
func (l *List) Disk() int64 {
	if l.file == nil {
		return 0
	}
	return l.file.Bytes()
}

// Add appends a copy of a row.
func (l *List) Add(row types.Row) error {
	if l.file != nil {
		return l.file.Add(row)
	}
	n, used := l.rows.Len(), l.rows.Acc.Used()
	if n == 0 || !l.st.Full(used) {
		_, err := l.rows.Add(row)
		if n == 0 || !l.st.Refused(err, used) {
			return err
		}
	}
	if err := l.spill(); err != nil {
		return err
	}
	return l.file.Add(row)
}

// AddBatch appends copies of the rows of b.
func (l *List) AddBatch(b *Batch) error {
	for i := range b.Len() {
		if err := l.Add(b.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// spill moves the rows to the temporary file.
func (l *List) spill() error {
	l.file = NewFile(&l.st.Temp, l.st.Mem, l.width)
	for _, row := range l.rows.Rows {
		if err := l.st.Tick(); err != nil {
			return err
		}
		if err := l.file.Add(row); err != nil {
			return err
		}
	}
	l.rows.Close()
	return nil
}

// At returns row i, from 0. It stays intact until Close or Open.
func (l *List) At(i int) (types.Row, error) {
	if l.file == nil {
		return l.rows.At(i)
	}
	for k := range l.pages {
		if p := &l.pages[k]; i >= p.first && i < p.end() {
			return p.rows[i-p.first], nil
		}
	}
	p, err := l.load(i)
	if err != nil {
		return nil, err
	}
	return p.rows[i-p.first], nil
}

// load reads the page of row i. Behind a page it begins with that row, before one it ends with it.
func (l *List) load(i int) (*page, error) {
	first := i
	for k := range l.pages {
		p := &l.pages[k]
		switch {
		case len(p.rows) == 0:
		case p.end() == i:
			p.first, p.rows = i, p.rows[:0]
			return p, l.fill(p, i)
		case p.first == i+1:
			first = max(0, i+1-pageRows)
		}
	}
	p := &l.pages[l.turn]
	l.turn = (l.turn + 1) % listPages
	p.first, p.rows = first, p.rows[:0]
	var err error
	if p.r, err = l.file.ReadFrom(first); err != nil {
		return nil, err
	}
	return p, l.fill(p, i)
}

// fill reads the rows of a page up to row i at least.
func (l *List) fill(p *page, i int) error {
	for size := 0; p.end() <= i || len(p.rows) < pageRows && size < pageBytes; {
		row, err := p.r.Next()
		if row == nil || err != nil {
			return err
		}
		size += p.r.Size()
		p.rows = append(p.rows, row)
	}
	return l.st.Canceled()
}
