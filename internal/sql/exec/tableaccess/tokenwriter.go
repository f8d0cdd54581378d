package tableaccess

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// tokenWriter keeps the entries of an inverted index.
type tokenWriter struct {
	*inverted.Index
	primary *rowcodec.Index
	cond    expr.Pred // of a partial index
	old     tokenRow
	now     tokenRow
	entry   []byte
}

// tokenRow is what an inverted index has of a row.
type tokenRow struct {
	key    []byte // of the row
	tokens []string
}

// set makes r that of a row; a nil row has nothing in the index.
func (x *tokenWriter) set(r *tokenRow, row types.Row, fc *types.FormatContext) (err error) {
	r.key, r.tokens = r.key[:0], nil
	if row == nil {
		return nil
	}
	if x.cond != nil {
		if in, err := x.cond(row); err != nil || !in {
			return err
		}
	}
	if r.tokens, err = x.Tokens(row, fc); err != nil {
		return err
	}
	r.key, err = x.primary.AppendKey(r.key, row)
	return err
}

// change replaces the entries of an old row by those of a new one, either of which may
// be nil. Entries that both have are left alone.
func (x *tokenWriter) change(txn Txn, old, row types.Row, fc *types.FormatContext) error {
	if err := x.set(&x.old, old, fc); err != nil {
		return err
	}
	if err := x.set(&x.now, row, fc); err != nil {
		return err
	}
	if err := x.each(&x.old, &x.now, fc, txn.Delete); err != nil {
		return err
	}
	return x.each(&x.now, &x.old, fc, func(key []byte) error { return txn.Put(key, inverted.EntryValue()) })
}

// each calls f for the keys of the entries of r that other does not have.
func (x *tokenWriter) each(r, other *tokenRow, fc *types.FormatContext, f func(key []byte) error) error {
	same := string(r.key) == string(other.key)
	for _, t := range r.tokens {
		if err := fc.CountSteps(1); err != nil {
			return err
		}
		if _, has := slices.BinarySearch(other.tokens, t); has && same {
			continue
		}
		var err error
		if x.entry, err = x.AppendEntry(x.entry[:0], t, r.key); err != nil {
			return err
		}
		if err := f(x.entry); err != nil {
			return err
		}
	}
	return nil
}
