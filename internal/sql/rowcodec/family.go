package rowcodec

import (
	"bytes"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// A row whose columns are in several families has a pair for each of them that has a
// value, and always one of family 0. The ids take one byte, at the end of the key, so that
// all keys of a row are alike but for it. To the layers above a row is one entry all the
// same: the key of its first pair, and the values of all as AppendPart puts them together.

// partMark begins each part of a row after the first: no column has this distance to the
// one before it.
const partMark = 0

// family is a column family of a primary index.
type family struct {
	id byte
	// stored are the columns of its value, by ascending id; what the key does not give
	// back is in family 0.
	stored []storedColumn
	// lost: a row may have a pair of it although all these are NULL.
	lost bool
	// sure: every row has a pair of it, as one of these never is NULL.
	sure bool
}

// compileFamilies distributes the stored columns of a primary index.
func (x *Index) compileFamilies() {
	if !x.primary || !x.Table.HasFamilies() {
		return
	}
	home := map[catalog.ColumnID]int{}
	for i := range x.Table.Families {
		f := &x.Table.Families[i]
		x.families = append(x.families, family{id: byte(f.ID), lost: f.Lost, sure: i == 0})
		for _, c := range f.Columns {
			home[c] = i
		}
	}
	for _, s := range x.stored {
		f := &x.families[0]
		if !s.inKey {
			f = &x.families[home[s.id]]
			f.sure = f.sure || x.Table.Columns[s.ord].NotNull
		}
		f.stored = append(f.stored, s)
	}
}

// HasFamilies reports whether a row may have several pairs, with the families from 0 to
// Families.
func (x *Index) HasFamilies() bool { return x.families != nil }

// Families returns the number of families of a split index.
func (x *Index) Families() int { return len(x.families) }

// SetFamily makes a key of a row's pair that of family i.
func (x *Index) SetFamily(key []byte, i int) { key[len(key)-1] = x.families[i].id }

// RowStart returns what all keys of a row's pairs begin with, and of no other row.
func RowStart(key []byte) []byte { return key[:len(key)-1] }

// SetDefaultFamily makes a key of a row's pair that of the row.
func SetDefaultFamily(key []byte) { key[len(key)-1] = byte(keys.DefaultFamily) }

// SameRow reports whether two keys are of pairs of one row.
func SameRow(a, b []byte) bool { return len(a) == len(b) && bytes.Equal(RowStart(a), RowStart(b)) }

// ReadFamilies returns the families, by position, to read for the columns at the
// positions ords of Table.Columns of a row, and to see whether there is such a row.
func (x *Index) ReadFamilies(ords []int) []int {
	var out []int
	sure := false
	for i := range x.families {
		f := &x.families[i]
		for _, ord := range ords {
			if f.holds(ord) {
				out = append(out, i)
				sure = sure || f.sure
				break
			}
		}
	}
	if !sure {
		return append([]int{0}, out...) // none of them is family 0, which is sure
	}
	return out
}

func (f *family) holds(ord int) bool {
	for i := range f.stored {
		if f.stored[i].ord == ord {
			return true
		}
	}
	return false
}

// Holds reports whether a stored row may have a pair of family i: the row's columns say
// so, or those that the family has lost.
func (x *Index) Holds(i int, row []types.Datum) bool {
	f := &x.families[i]
	return i == 0 || f.lost || f.any(row)
}

func (f *family) any(row []types.Datum) bool {
	for i := range f.stored {
		if !row[f.stored[i].ord].IsNull() {
			return true
		}
	}
	return false
}

// FamilyChanged reports whether the pairs of family i of two versions of a row differ.
func (x *Index) FamilyChanged(i int, changed func(ord int) bool) bool {
	f := &x.families[i]
	for j := range f.stored {
		if changed(f.stored[j].ord) {
			return true
		}
	}
	return false
}

// AppendPair appends the value of a row's pair of family i; there is false, and nothing
// appended, if the row has none.
func (x *Index) AppendPair(dst []byte, i int, row []types.Datum) (value []byte, there bool, err error) {
	f := &x.families[i]
	if i > 0 && !f.any(row) {
		return dst, false, nil
	}
	dst, err = appendColumns(dst, f.stored, row)
	return dst, err == nil, err
}

// AppendPart appends the value of a pair to those of the row's other pairs, of which there
// is at least one: in any order.
func (x *Index) AppendPart(dst, value []byte) ([]byte, error) {
	_, rest, ok := cutHeader(value)
	if !ok {
		return dst, pgerr.New(pgerr.DataCorrupted, "damaged value in index \"%s\" of table \"%s\"", x.Desc.Name, x.Table.Name)
	}
	return append(append(dst, partMark), rest...), nil
}

// appendParts appends the values of all pairs of a row, by ascending family.
func (x *Index) appendParts(dst []byte, row []types.Datum) ([]byte, error) {
	dst, err := appendColumns(dst, x.families[0].stored, row)
	for i := 1; i < len(x.families) && err == nil; i++ {
		f := &x.families[i]
		if !f.any(row) {
			continue
		}
		n := len(dst)
		if dst, err = appendColumns(dst, f.stored, row); err == nil {
			dst[n] = partMark
			dst = append(dst[:n+1], dst[n+headerSize:]...)
		}
	}
	return dst, err
}
