package rowcodec

import (
	"slices"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of what is stored.
const (
	// MaxKeySize bounds an encoded key.
	MaxKeySize = 8 << 10
	// MaxValueSize bounds an encoded row.
	MaxValueSize = 64 << 20
)

// The value format.
const (
	valueVersion = 1
	// knownFlags are the flag bits this version reads. Bit 0 will announce
	// per-column {write time, expiry}; a set bit outside knownFlags is XX001.
	knownFlags = flagNulls | flagOffsets
	// flagNulls: some columns are stored as NULL, since those that are not stored have another value
	// (catalog.Column.Missing).
	flagNulls = 1 << 1
	// flagOffsets are the bits that say how long the offsets of a directory are. Without one, each column follows
	// the distance of its id to the one before.
	flagOffsets    = 3 << flagOffsetsBit
	flagOffsets1   = 1 << flagOffsetsBit
	flagOffsets2   = 2 << flagOffsetsBit
	flagOffsets4   = 3 << flagOffsetsBit
	flagOffsetsBit = 2
	headerSize     = 2
)

// KeyColumn is a column of an index's key.
type KeyColumn struct {
	ID         catalog.ColumnID
	Ord        int // position in Table.Columns
	Type       *types.T
	Desc       bool
	NullsFirst bool
	exact      exact
}

// Index is an index compiled for encoding.
type Index struct {
	Table *catalog.Table
	Desc  *catalog.Index
	// Declared is the number of key columns the index declares; the Key columns
	// after them are the primary key's, which make entries distinct.
	Declared int
	// Key are the columns of the key. In a unique secondary index the suffix
	// after Declared is only there if one of the declared columns is NULL.
	Key     []KeyColumn
	primary bool
	unique  bool // and secondary
	prefix  []byte
	// stored are the columns of the value, by ascending id.
	stored []storedColumn
	// directory: the values have one.
	directory bool
	// families are those of the rows, the first with id 0; nil if rows have one pair.
	families []family
}

// storedColumn is a column that the value holds: always, or where the key does
// not give it back.
type storedColumn struct {
	id    catalog.ColumnID
	ord   int
	exact exact // always for columns that are not in the key: see inKey
	inKey bool
	// missing is the value of the column in rows that lack it.
	missing types.Datum
}

// Compile prepares index ix of t, which has an entry for each row.
func Compile(t *catalog.Table, ix *catalog.Index) (*Index, error) {
	if !ix.EntriesByRow() {
		return nil, pgerr.Assertion("index %q has no row per entry: its method is %s", ix.Name, ix.Method())
	}
	x := &Index{
		Table: t, Desc: ix, Declared: len(ix.Columns),
		primary: ix.ID == t.Primary().ID,
		prefix:  IndexPrefix(t, ix),
	}
	x.unique = ix.Unique && !x.primary
	for _, c := range ix.Columns {
		if err := x.addKeyColumn(c); err != nil {
			return nil, err
		}
	}
	if !x.primary {
		for _, c := range t.Primary().Columns {
			if x.keyPosition(c.Column) >= 0 {
				continue
			}
			if err := x.addKeyColumn(c); err != nil {
				return nil, err
			}
		}
	}
	if err := x.compileStored(); err != nil {
		return nil, err
	}
	x.compileFamilies()
	x.directory = x.families == nil && directoryOf(x.stored)
	return x, nil
}

func (x *Index) addKeyColumn(c catalog.IndexColumn) error {
	ord := x.Table.ColumnByID(c.Column)
	if ord < 0 {
		return pgerr.New(pgerr.DataCorrupted, "index \"%s\" refers to column %d, which table \"%s\" does not have",
			x.Desc.Name, c.Column, x.Table.Name)
	}
	t := x.Table.Columns[ord].Type
	if err := CheckOrderable(t); err != nil {
		return err
	}
	x.Key = append(x.Key, KeyColumn{
		ID: c.Column, Ord: ord, Type: t, Desc: c.Desc, NullsFirst: c.NullsFirst, exact: exactness(t),
	})
	return nil
}

func (x *Index) keyPosition(id catalog.ColumnID) int {
	return slices.IndexFunc(x.Key, func(k KeyColumn) bool { return k.ID == id })
}

// compileStored finds the columns of the value: of the primary index every
// column; of a secondary one its stored columns, and of a unique one the primary
// key too; in both, key columns that the key may not give back.
func (x *Index) compileStored() error {
	add := func(id catalog.ColumnID, suffix bool) error {
		ord := x.Table.ColumnByID(id)
		if ord < 0 {
			return pgerr.New(pgerr.DataCorrupted, "index \"%s\" refers to column %d, which table \"%s\" does not have",
				x.Desc.Name, id, x.Table.Name)
		}
		s := storedColumn{id: id, ord: ord, exact: never}
		if k := x.keyPosition(id); k >= 0 && !suffix {
			s.inKey, s.exact = true, x.Key[k].exact
			if s.exact == always {
				return nil
			}
		}
		if !slices.ContainsFunc(x.stored, func(o storedColumn) bool { return o.id == id }) {
			x.stored = append(x.stored, s)
		}
		return nil
	}
	ids := x.Desc.Stored
	if x.primary {
		ids = nil
		for i := range x.Table.Columns {
			if !x.Table.Columns[i].Virtual {
				ids = append(ids, x.Table.Columns[i].ID)
			}
		}
	}
	for i, k := range x.Key {
		if err := add(k.ID, x.unique && i >= x.Declared); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := add(id, false); err != nil {
			return err
		}
	}
	slices.SortFunc(x.stored, func(a, b storedColumn) int { return int(a.id) - int(b.id) })
	return x.compileMissing()
}

// compileMissing finds what rows have for columns that they lack. Entries of secondary indexes lack
// none: they are from after a column was added.
func (x *Index) compileMissing() error {
	if !x.primary {
		return nil
	}
	for i := range x.stored {
		c := &x.Table.Columns[x.stored[i].ord]
		if c.Missing == nil {
			continue
		}
		d, rest, err := types.DecodeEncoded(string(c.Missing))
		if err != nil || rest != "" || d.Family() != c.Type.Family || x.Table.HasFamilies() {
			return pgerr.New(pgerr.DataCorrupted, "damaged value of rows without column \"%s\" of table \"%s\"", c.Name, x.Table.Name)
		}
		x.stored[i].missing = d
	}
	return nil
}

// Primary reports whether x is the table's primary index.
func (x *Index) Primary() bool { return x.primary }

// Unique reports whether two rows with equal, non-NULL declared columns have
// the same key.
func (x *Index) Unique() bool { return x.primary || x.unique }

// Prefix returns what every key of the index begins with. It must not be
// changed.
func (x *Index) Prefix() []byte { return x.prefix }

// Has reports whether entries of the index hold the column.
func (x *Index) Has(id catalog.ColumnID) bool {
	return x.keyPosition(id) >= 0 ||
		slices.ContainsFunc(x.stored, func(s storedColumn) bool { return s.id == id })
}

// AppendKeyDatum appends the value d of key column i.
func (x *Index) AppendKeyDatum(dst []byte, i int, d types.Datum) []byte {
	k := &x.Key[i]
	if d.IsNull() {
		return append(dst, k.nullMark())
	}
	start := len(dst)
	dst = appendOrdered(dst, k.Type, d)
	if k.Desc {
		invert(dst[start:])
	}
	return dst
}

// NullMark returns the byte that stands for NULL in key column i.
func (x *Index) NullMark(i int) byte { return x.Key[i].nullMark() }

func (k *KeyColumn) nullMark() byte {
	if k.NullsFirst {
		return nullFirstMark
	}
	return nullLastMark
}

// AppendKey appends the key of a row, which has one datum per Table.Columns.
func (x *Index) AppendKey(dst []byte, row []types.Datum) ([]byte, error) {
	n := len(x.Key)
	if x.unique && !x.hasNull(row) {
		n = x.Declared
	}
	return x.appendKey(dst, row, n)
}

// AppendUniqueKey appends the unique key of row: the declared columns, with which the keys of
// the entries begin, and a family, so that it is a key.
func (x *Index) AppendUniqueKey(dst []byte, row []types.Datum) ([]byte, error) {
	return x.appendKey(dst, row, x.Declared)
}

// MustBeUnique reports whether no other row may have the unique key of row: the index
// was declared unique and no declared column is NULL.
func (x *Index) MustBeUnique(row []types.Datum) bool {
	return x.Desc.DeclaredUnique() && !x.hasNull(row)
}

// appendKey appends the first n columns of the key.
func (x *Index) appendKey(dst []byte, row []types.Datum, n int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, x.prefix...)
	h := x.Desc.HashColumns
	for i := 0; i < n; i++ {
		if dst = x.AppendKeyDatum(dst, i, row[x.Key[i].Ord]); i == h-1 {
			b := x.bucket(dst[start+len(x.prefix):])
			dst = append(dst, 0, 0)
			at := start + len(x.prefix)
			copy(dst[at+bucketSize:], dst[at:])
			dst[at], dst[at+1] = byte(b>>8), byte(b)
		}
	}
	dst = AppendFamily(dst)
	if len(dst)-start > MaxKeySize {
		return dst[:start], x.tooLarge()
	}
	return dst, nil
}

func (x *Index) tooLarge() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "index row size exceeds maximum %d for index \"%s\"", MaxKeySize, x.Desc.Name).
		WithHint("Values larger than an index row cannot be indexed.")
}

// hasNull reports whether a declared column is NULL, so that the row is no duplicate
// of any other.
func (x *Index) hasNull(row []types.Datum) bool {
	if x.Desc.NullsNotDistinct {
		return false
	}
	for i := 0; i < x.Declared; i++ {
		if row[x.Key[i].Ord].IsNull() {
			return true
		}
	}
	return false
}

// UniqueKeyComplete reports whether the row's key is the same for every row
// with equal declared columns: the index is unique and none of them is NULL.
func (x *Index) UniqueKeyComplete(row []types.Datum) bool {
	return x.primary || (x.unique && !x.hasNull(row))
}

// AppendValue appends the value of a row's entry; of one with several families, the
// values of its pairs as AppendPart puts them together.
func (x *Index) AppendValue(dst []byte, row []types.Datum) ([]byte, error) {
	if x.families != nil {
		return x.appendParts(dst, row)
	}
	if x.directory {
		return appendDirectory(dst, x.stored, row)
	}
	return appendColumns(dst, x.stored, row)
}

// appendColumns appends a value that holds columns of a row.
func appendColumns(dst []byte, columns []storedColumn, row []types.Datum) ([]byte, error) {
	start := len(dst)
	dst = append(dst, valueVersion, 0)
	last := catalog.ColumnID(0)
	for i := range columns {
		s := &columns[i]
		d := row[s.ord]
		if s.omits(d) {
			continue
		}
		if d.IsNull() {
			dst[start+1] |= flagNulls
		}
		dst = appendUvarint(dst, uint64(s.id-last))
		dst = types.AppendEncoded(dst, d)
		last = s.id
	}
	return checkSize(dst, start)
}

// appendDirectory is appendColumns for a value with a directory.
func appendDirectory(dst []byte, columns []storedColumn, row []types.Datum) ([]byte, error) {
	start := len(dst)
	dst = append(dst, valueVersion, 0)
	var few [64]uint32
	w := directoryWriter{first: len(dst), offsets: few[:0]}
	for i := range columns {
		s := &columns[i]
		d := row[s.ord]
		if s.omits(d) {
			continue
		}
		if d.IsNull() {
			dst[start+1] |= flagNulls
		}
		w.add(s, len(dst))
		dst = types.AppendEncoded(dst, d)
	}
	dst, flags := w.finish(dst)
	dst[start+1] |= flags
	return checkSize(dst, start)
}

// omits reports whether a value leaves out d: rows without it have it, or the key gives it back.
func (s *storedColumn) omits(d types.Datum) bool {
	if d.IsNull() {
		return s.missing.IsNull()
	}
	return s.inKey && !s.exact.lossy(d)
}

// checkSize refuses a value that is too large.
func checkSize(dst []byte, start int) ([]byte, error) {
	if size := len(dst) - start; size > MaxValueSize {
		return dst[:start], pgerr.New(pgerr.ProgramLimitExceeded, "row is too big: size %d, maximum size %d", size, MaxValueSize)
	}
	return dst, nil
}

// EntryChanged reports whether the entries of two versions of a row differ:
// whether the key columns or the stored columns do. same compares two datums
// exactly.
func (x *Index) EntryChanged(changed func(ord int) bool) bool {
	for i := range x.Key {
		if changed(x.Key[i].Ord) {
			return true
		}
	}
	for i := range x.stored {
		if changed(x.stored[i].ord) {
			return true
		}
	}
	return false
}

func appendUvarint(dst []byte, u uint64) []byte {
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

func mustColumn(ok bool, id catalog.ColumnID, x *Index) {
	must.True(ok, "rowcodec: index %s of table %s does not hold column %d", x.Desc.Name, x.Table.Name, id)
}
