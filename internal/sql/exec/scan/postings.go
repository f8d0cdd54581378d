package scan

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/inverted"
)

// postings are the rows that satisfy a formula over the tokens of an inverted index,
// as the parts of their keys after the prefix, ascending.
type postings interface {
	// seek returns the first row from a given one on, nil at the end. The argument
	// never decreases; the result lives until the next call.
	seek(from []byte) ([]byte, error)
	close()
}

// postings starts reading the rows of a formula other than None and All.
func (s *tokenSource) postings(f *inverted.Formula) (postings, error) {
	switch f.Kind {
	case inverted.Token:
		return &tokenList{src: s, prefix: s.x.AppendToken(nil, f.Token)}, nil
	case inverted.Prefix:
		return s.collect(s.x.AppendTokenPrefix(nil, f.Token))
	}
	l := &leastOf{count: f.Count}
	for _, a := range f.Args {
		p, err := s.postings(a)
		if err != nil {
			l.close()
			return nil, err
		}
		l.args = append(l.args, arm{postings: p})
	}
	return l, nil
}

// tokenList reads the rows of one token, page by page.
type tokenList struct {
	src    *tokenSource
	prefix []byte
	page   kvpb.ScanResponse
	pos    int
	from   []byte // first key of the next page
	rows   int    // of the next page
	done   bool   // no page follows
}

func (l *tokenList) close() { LeavePage(&l.src.run.State, &l.page) }

func (l *tokenList) seek(from []byte) ([]byte, error) {
	for {
		for l.pos < l.page.Len() {
			if row := l.page.Key(l.pos)[len(l.prefix):]; bytes.Compare(row, from) >= 0 {
				return row, nil
			}
			l.pos++
		}
		if l.done {
			return nil, nil
		}
		if err := l.read(from); err != nil {
			return nil, err
		}
	}
}

// read reads the next page, which need not begin before the row from.
func (l *tokenList) read(from []byte) error {
	if err := l.src.run.Canceled(); err != nil {
		return err
	}
	key := append(bytes.Clone(l.prefix), from...)
	if bytes.Compare(key, l.from) > 0 {
		l.from = key
	}
	l.rows = min(max(firstPageRows, 4*l.rows), l.src.page)
	TakePage(&l.page)
	if err := l.src.run.Txn.Scan(l.src.run.Ctx, l.from, keys.PrefixEnd(l.prefix), kv.ScanOptions{MaxRows: l.rows}, &l.page); err != nil {
		return err
	}
	l.pos, l.done = 0, l.page.Resume == nil
	l.from = append(l.from[:0], l.page.Resume...)
	return nil
}

// leastOf are the rows that at least so many of its arms have.
type leastOf struct {
	count int
	args  []arm
	heads [][]byte
}

// arm is one of several lists. at is a copy of the row it has come to, nil at the end.
type arm struct {
	postings
	at     []byte
	passed bool // it has come anywhere
	ended  bool
}

func (l *leastOf) close() {
	for i := range l.args {
		l.args[i].close()
	}
}

// advance moves the arm to the first row from a given one on.
func (a *arm) advance(from []byte) error {
	if a.ended || a.passed && bytes.Compare(a.at, from) >= 0 {
		return nil
	}
	row, err := a.postings.seek(from)
	a.at, a.passed, a.ended = append(a.at[:0], row...), true, row == nil
	return err
}

func (l *leastOf) seek(from []byte) ([]byte, error) {
	for {
		if err := l.gather(from); err != nil || len(l.heads) < l.count {
			return nil, err
		}
		if l.count == 1 {
			return slices.MinFunc(l.heads, bytes.Compare), nil
		}
		slices.SortFunc(l.heads, bytes.Compare)
		row := l.heads[l.count-1] // no row before it is in enough arms
		if first, _ := slices.BinarySearchFunc(l.heads, row, bytes.Compare); first+l.count <= len(l.heads) && bytes.Equal(l.heads[first+l.count-1], row) {
			return row, nil
		}
		from = bytes.Clone(row)
	}
}

// gather sets heads to where the arms that have not ended are, from a row on.
func (l *leastOf) gather(from []byte) error {
	l.heads = l.heads[:0]
	for i := range l.args {
		a := &l.args[i]
		if err := a.advance(from); err != nil {
			return err
		}
		if a.ended {
			continue
		}
		l.heads = append(l.heads, a.at)
		if l.count == len(l.args) && bytes.Compare(a.at, from) > 0 {
			from = bytes.Clone(a.at) // all must have it: the others skip
		}
	}
	return nil
}

// rowList are the rows of all tokens with a prefix, collected.
type rowList struct {
	rows []string
	acc  quota.Account
}

func (l *rowList) close() { l.acc.Close() }

func (l *rowList) seek(from []byte) ([]byte, error) {
	for len(l.rows) > 0 && l.rows[0] < string(from) {
		l.rows = l.rows[1:]
	}
	if len(l.rows) == 0 {
		return nil, nil
	}
	return []byte(l.rows[0]), nil
}

// collect reads the rows of all tokens whose entries begin with prefix: they are
// sorted by token and must be sorted by row.
func (s *tokenSource) collect(prefix []byte) (postings, error) {
	l := &rowList{}
	l.acc.Init(s.run.Mem)
	var page kvpb.ScanResponse
	defer LeavePage(&s.run.State, &page)
	for from, end := prefix, keys.PrefixEnd(prefix); from != nil; {
		if err := s.run.Canceled(); err != nil {
			l.close()
			return nil, err
		}
		TakePage(&page)
		err := s.run.Txn.Scan(s.run.Ctx, from, end, kv.ScanOptions{MaxRows: maxPageRows}, &page)
		if err == nil {
			err = l.take(s.x, &page)
		}
		if err != nil {
			l.close()
			return nil, err
		}
		from = bytes.Clone(page.Resume)
	}
	slices.Sort(l.rows)
	l.rows = slices.Compact(l.rows)
	return l, nil
}

func (l *rowList) take(x *inverted.Index, page *kvpb.ScanResponse) error {
	for i := range page.Len() {
		row, err := x.RowPart(page.Key(i))
		if err != nil {
			return err
		}
		if err := l.acc.Grow(int64(len(row)) + stringSize); err != nil {
			return expr.MemoryError(err)
		}
		l.rows = append(l.rows, string(row))
	}
	return nil
}

// stringSize is the memory of a string beside its bytes, with what grows ahead.
const stringSize = 32
