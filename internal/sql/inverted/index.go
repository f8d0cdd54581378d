package inverted

import (
	"bytes"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Index is an inverted index compiled for encoding. The key of an entry is the
// prefix, a token and what the key of the row has after its own prefix.
type Index struct {
	Table *catalog.Table
	Desc  *catalog.Index
	Class *Class
	// Ord is the position of the column in Table.Columns.
	Ord    int
	prefix []byte
	row    int // length of the prefix of the rows' keys
}

// Compile prepares inverted index ix of t.
func Compile(t *catalog.Table, ix *catalog.Index) (*Index, error) {
	x := &Index{Table: t, Desc: ix, Class: ByName(ix.Inverted), Ord: -1, prefix: rowcodec.IndexPrefix(t, ix)}
	x.row = len(rowcodec.IndexPrefix(t, t.Primary()))
	if len(ix.Columns) == 1 {
		x.Ord = t.ColumnByID(ix.Columns[0].Column)
	}
	if x.Class == nil || x.Ord < 0 {
		return nil, pgerr.New(pgerr.DataCorrupted, "inverted index \"%s\" has no column or an unknown operator class \"%s\"", ix.Name, ix.Inverted)
	}
	return x, nil
}

// Type is the type of the indexed column.
func (x *Index) Type() *types.T { return x.Table.Columns[x.Ord].Type }

// Prefix returns what every key of the index begins with. It must not be changed.
func (x *Index) Prefix() []byte { return x.prefix }

// Tokens returns the tokens of a row, which has one datum per Table.Columns. It fails once the
// statement is cancelled; fc may be nil.
func (x *Index) Tokens(row []types.Datum, fc *types.FormatContext) ([]string, error) {
	if row[x.Ord].IsNull() {
		return nil, nil
	}
	return x.Class.Tokens(x.Type(), row[x.Ord], fc)
}

// AppendEntry appends the key of a row's entry for a token.
func (x *Index) AppendEntry(dst []byte, token string, rowKey []byte) ([]byte, error) {
	start := len(dst)
	dst = append(x.AppendToken(dst, token), rowKey[x.row:]...)
	if n := len(dst) - start; n > rowcodec.MaxKeySize {
		return dst[:start], pgerr.New(pgerr.ProgramLimitExceeded, "index row size %d exceeds maximum %d for index \"%s\"", n, rowcodec.MaxKeySize, x.Desc.Name)
	}
	return dst, nil
}

// AppendToken appends what the keys of all entries for a token begin with.
func (x *Index) AppendToken(dst []byte, token string) []byte {
	return rowcodec.AppendOrdered(append(dst, x.prefix...), types.Bytea, types.NewBytes(token))
}

// AppendTokenPrefix appends what the keys of all entries begin with whose tokens begin
// so.
func (x *Index) AppendTokenPrefix(dst []byte, prefix string) []byte {
	dst = x.AppendToken(dst, prefix)
	return dst[:len(dst)-rowcodec.BytesEndSize]
}

// RowPart returns what of an entry's key belongs to the row: its key without prefix.
func (x *Index) RowPart(key []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(key, x.prefix)
	if ok {
		if rest = rowcodec.AfterBytes(rest); rest != nil {
			return rest, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "damaged key in index \"%s\" of table \"%s\"", x.Desc.Name, x.Table.Name)
}

// EntryValue is the value of all entries.
func EntryValue() []byte { return []byte{entryVersion, 0} }

// entryVersion is the version of the format of entries; the byte after it has no flag
// in use.
const entryVersion = 1
