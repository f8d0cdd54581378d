package mutation

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Foreign keys are verified after the statement, as PostgreSQL does: operators
// that write note which keys rows began to refer to, and which keys that others
// may refer to went away; the queue works them off once all rows are written.
//
// Two transactions on both sides of a foreign key meet at the entry of the
// referenced unique index: who refers to it holds it with a key-share lock, and
// whoever deletes the entry has locked it for update.

// refKey makes the key of an entry in the index that a foreign key refers to.
type refKey struct {
	*plan.Reference
	x     *rowcodec.Index
	casts []refCast // by column of the foreign key
	row   types.Row // of the referenced table
	buf   []byte
}

// refCast makes a value of the referencing column comparable with the referenced one.
type refCast struct {
	fn types.CastFunc // nil: it is
	to *types.T
}

func newRefKey(ref *plan.Reference) (*refKey, error) {
	x, err := rowcodec.Compile(ref.Ref, ref.Index)
	if err != nil {
		return nil, err
	}
	return &refKey{Reference: ref, x: x, casts: refCasts(ref), row: make(types.Row, len(ref.Ref.Columns))}, nil
}

func refCasts(ref *plan.Reference) []refCast {
	casts := make([]refCast, len(ref.Ords))
	for i := range casts {
		casts[i].fn, casts[i].to, _ = rowcodec.ReferenceCast(ref.Table.Columns[ref.Ords[i]].Type, ref.Ref.Columns[ref.RefOrds[i]].Type)
	}
	return casts
}

// referred encodes the key of a row of the referenced table. It is valid until the next call.
func (k *refKey) referred(row types.Row) ([]byte, error) {
	for _, ord := range k.RefOrds {
		k.row[ord] = row[ord]
	}
	return k.encode()
}

// referring encodes the key that a row of the table refers to. It is valid until the next call.
func (k *refKey) referring(r *operator.Run, row types.Row) ([]byte, error) {
	for i, ord := range k.Ords {
		d := row[ord]
		if c := &k.casts[i]; c.fn != nil {
			var err error
			if d, err = r.Convert(c.fn, d, c.to); err != nil {
				return nil, err
			}
		}
		k.row[k.RefOrds[i]] = d
	}
	return k.encode()
}

func (k *refKey) encode() ([]byte, error) {
	var err error
	k.buf, err = k.x.AppendKey(k.buf[:0], k.row)
	return k.buf, err
}

// nulls counts the NULLs at ords.
func nulls(row types.Row, ords []int) int {
	n := 0
	for _, ord := range ords {
		if row[ord].IsNull() {
			n++
		}
	}
	return n
}

func differ(a, b types.Row, ords []int) bool {
	for _, ord := range ords {
		if a[ord] != b[ord] {
			return true
		}
	}
	return false
}

// keyWatch is a foreign key that an operator's writes concern, on one side.
type keyWatch struct {
	*refKey
	referrer *plan.Referrer // nil: the operator's table refers
	values   types.Row      // scratch
	batch    *keyBatch      // of this execution
}

// keyBatch are the keys that one operator noted for one foreign key.
type keyBatch struct {
	watch    *keyWatch
	deferred bool
	rows     rowcontainer.Store // the key's values; of a changed key the new ones too
	keys     []string           // of the entries
	children []string           // keys of rows that refer, one of each key
	seen     map[string]struct{}
}

// keyOverhead is roughly what a noted key takes besides its bytes.
const keyOverhead = 64

func (b *keyBatch) add(key, child []byte, values types.Row) error {
	if _, ok := b.seen[string(key)]; ok {
		return nil
	}
	if _, err := b.rows.Add(values); err != nil {
		return err
	}
	if err := b.rows.Acc.Grow(int64(len(key) + len(child) + keyOverhead)); err != nil {
		return expr.MemoryError(err)
	}
	s := string(key)
	b.seen[s] = struct{}{}
	b.keys = append(b.keys, s)
	if child != nil {
		b.children = append(b.children, string(child))
	}
	return nil
}

// watches prepares the deferrable keys and the foreign keys of an operator.
func watch(c *operator.Compiler, d *dml, refs []*plan.Reference, by []*plan.Referrer) error {
	d.uniques = uniqueWatches(d.writer)
	for _, r := range refs {
		k, err := newRefKey(r)
		if err != nil {
			return err
		}
		d.refs = append(d.refs, &keyWatch{refKey: k, values: make(types.Row, len(r.Ords))})
	}
	for _, r := range by {
		k, err := newRefKey(r.Reference)
		if err != nil {
			return err
		}
		d.referrers = append(d.referrers, &keyWatch{refKey: k, referrer: r, values: make(types.Row, 2*len(r.RefOrds))})
	}
	return nil
}

// forget drops what an earlier execution noted.
func (d *dml) forget() {
	for _, w := range d.refs {
		w.batch = nil
	}
	for _, w := range d.referrers {
		w.batch = nil
	}
	for _, w := range d.uniques {
		w.batch = nil
	}
}

// wrote notes the deferrable keys of a stored row and what it refers to; old is the row
// it replaces, if any.
func (d *dml) wrote(old, row types.Row) error {
	for _, w := range d.uniques {
		if err := w.note(d, old, row); err != nil {
			return err
		}
	}
	for _, w := range d.refs {
		if err := w.refers(d, old, row); err != nil {
			return err
		}
	}
	if old == nil {
		return nil
	}
	return d.gone(old, row)
}

// gone notes the keys that went away with old, or changed with row.
func (d *dml) gone(old, row types.Row) error {
	for _, w := range d.referrers {
		if err := w.leaves(d, old, row); err != nil {
			return err
		}
	}
	return nil
}

func (w *keyWatch) refers(d *dml, old, row types.Row) error {
	if old != nil && !differ(old, row, w.Ords) {
		return nil
	}
	if n := nulls(row, w.Ords); n > 0 {
		if w.Key.Full && n < len(w.Ords) {
			return w.mixedNulls()
		}
		return nil
	}
	key, err := w.referring(d.run, row)
	if err != nil {
		return err
	}
	if w.batch == nil {
		w.batch = d.stmt.queue.batch(w, len(w.Ords))
	}
	if _, ok := w.batch.seen[string(key)]; ok {
		return nil
	}
	rowcontainer.CopySlots(w.values, row, w.Ords)
	child, err := d.writer.PrimaryKey(row)
	if err != nil {
		return err
	}
	return w.batch.add(key, child, w.values)
}

func (w *keyWatch) leaves(d *dml, old, row types.Row) error {
	if nulls(old, w.RefOrds) > 0 || row != nil && !differ(old, row, w.RefOrds) {
		return nil
	}
	n := len(w.RefOrds)
	width := n
	rowcontainer.CopySlots(w.values[:n], old, w.RefOrds)
	if row != nil {
		width = 2 * n
		rowcontainer.CopySlots(w.values[n:], row, w.RefOrds)
	}
	if _, err := w.referred(old); err != nil {
		return err
	}
	if row != nil && !w.moves(row) {
		return nil
	}
	if w.batch == nil {
		w.batch = d.stmt.queue.batch(w, width)
	}
	return w.batch.add(w.buf, nil, w.values[:width]) // not what referred returned: moves may have made the buffer anew
}

// moves reports whether a row's new key is another one than its old key, which was
// encoded last: values may be equal without being identical. The encoded key is
// the old one afterwards too.
func (w *keyWatch) moves(row types.Row) bool {
	old := string(w.buf)
	if nulls(row, w.RefOrds) > 0 {
		return true
	}
	now, err := w.referred(row)
	changed := err != nil || string(now) != old
	w.buf = append(w.buf[:0], old...)
	return changed
}

// violation starts an error of the constraint.
func (k *refKey) violation(format string, args ...any) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation, format, args...)
	e.Schema, e.Table, e.Constraint = k.Schema, k.Table.Name, k.Key.Name
	return e
}

func (k *refKey) mixedNulls() error {
	return k.violation("insert or update on table \"%s\" violates foreign key constraint \"%s\"", k.Table.Name, k.Key.Name).
		WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

// missing says that values refer to nothing.
func (k *refKey) missing(values types.Row, r *operator.Run) error {
	return k.violation("insert or update on table \"%s\" violates foreign key constraint \"%s\"", k.Table.Name, k.Key.Name).
		WithDetail("Key%s is not present in table \"%s\".", shownKey(k.Table, k.Ords, values, r), k.Ref.Name)
}

// stillReferred says that values, which went away, are still referred to.
func (k *refKey) stillReferred(values types.Row, r *operator.Run) error {
	return k.violation("update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"", k.Ref.Name, k.Key.Name, k.Table.Name).
		WithDetail("Key%s is still referenced from table \"%s\".", shownKey(k.Ref, k.RefOrds, values, r), k.Table.Name)
}

// shownKey is keyText behind a blank, "" if the user may not see the key.
func shownKey(t *catalog.Table, ords []int, values types.Row, r *operator.Run) string {
	if !r.Env.ShownOf(t).Columns(ords) {
		return ""
	}
	return " " + keyText(t, ords, values, r.Format())
}

// keyText prints "(a, b)=(1, x)".
func keyText(t *catalog.Table, ords []int, values types.Row, fc *types.FormatContext) string {
	var names, texts []string
	for i, ord := range ords {
		names = append(names, t.Columns[ord].Name)
		texts = append(texts, typeio.FormatDatum(t.Columns[ord].Type, values[i], fc))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(texts, ", ") + ")"
}
