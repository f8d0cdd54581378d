package mutation

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// insertOp adds rows.
type insertOp struct {
	dml
	checks   []tableaccess.Check
	conflict *conflict // nil: 23505
	blind    bool      // UPSERT that need not read the row that is there
	// For ON CONFLICT DO UPDATE: the proposed row, the existing row, the row to
	// store.
	combined types.Row
	updates  *firing // the triggers of what ON CONFLICT DO UPDATE changes
	early    early
	loadable bool // rows may be loaded
	loading  loading
}

// conflict is a compiled ON CONFLICT.
type conflict struct {
	arbiters []int // positions in writer.indexes
	// deferrable is an arbiter that cannot be one, as it allows duplicates for a while.
	deferrable *catalog.Index
	all        bool // DO NOTHING without target
	update     bool
	// soft says that a row that is there keeps its keys: rows that refer to it need
	// not wait for it, nor it for them.
	soft  bool
	set   []tableaccess.Setter
	where expr.Pred
	// ofOld are what policies demand of the row that is there, ofNew all that is demanded of what it becomes.
	ofOld, ofNew []tableaccess.Check
	// pkDec reads the primary key from the entry of a unique secondary index,
	// by position in writer.indexes; rowDec the row from the primary entry.
	pkDec   []*rowcodec.Decoder
	rowDec  *rowcodec.Decoder
	pkRow   types.Row
	fullRow types.Row
}

// CompileInsert compiles an INSERT or UPSERT.
func CompileInsert(c *operator.Compiler, st *Statement, n *plan.Insert) (operator.Operator, error) {
	ins := &insertOp{dml: dml{run: c.Run, stmt: st, name: "INSERT"}}
	var s expr.Scope
	var err error
	if ins.src, s, err = c.Input(n.Input); err != nil {
		return nil, err
	}
	if ins.writer, err = tableaccess.NewWriter(n.Table); err != nil {
		return nil, err
	}
	ins.writer.Schema = n.Schema
	if use := n.Use; use != nil {
		ins.writer.SetGiven(func(i int) bool { return use.Inserts.Has(i) || use.Updates.Has(i) })
	}
	if err := ins.writer.Derive(&c.Compiler, n.Derived); err != nil {
		return nil, err
	}
	if err := watch(c, &ins.dml, n.References, n.Referrers); err != nil {
		return nil, err
	}
	if ins.fire, err = ins.triggers(c, n.Triggers); err != nil {
		return nil, err
	}
	if ins.updates, err = ins.triggers(c, n.Updates); err != nil {
		return nil, err
	}
	ins.early.may = mayFireEarly(n)
	if n.OnConflict == nil {
		ins.ahead = func(in *rowcontainer.Batch) error { return ins.lockAhead(in, ins.run.Txn.LockAhead) }
	}
	stored := s
	if n.OnConflict != nil {
		if n.OnConflict.Update {
			// Columns are looked up from the left, and an identifier that the
			// stored row shares with the input must mean the stored row.
			stored = append(append(append(expr.Scope{}, n.New...), n.OnConflict.Old...), s...)
			ins.combined = make(types.Row, len(stored))
		}
		if ins.conflict, err = newConflict(c, n, ins, stored); err != nil {
			return nil, err
		}
		ins.blind = n.Upsert && n.Derived == nil && n.OnConflict.Update && len(n.Table.Indexes) == 1 && replacesAll(n) &&
			!ins.conflict.soft && !ins.writer.Indexes[0].HasFamilies() &&
			(!n.Triggers.Rows() && !n.Updates.Rows() || plant.On(plant.TriggersBlind))
		if ins.blind {
			ins.ahead = func(in *rowcontainer.Batch) error { return ins.lockAhead(in, ins.run.Txn.LockUnchangedAhead) }
		}
	}
	if ins.checks, err = tableaccess.CompileChecks(&c.Compiler, n.Checks, stored); err != nil {
		return nil, err
	}
	if err := ins.compileConflictChecks(c, n, stored); err != nil {
		return nil, err
	}
	if err := compileReturning(c, &ins.dml, n.Returning, stored); err != nil {
		return nil, err
	}
	if ins.loadable = ins.mayLoad(n); ins.loadable && plant.On(plant.PolicyUnchecked) {
		ins.checks = nil
	}
	return ins, nil
}

// replacesAll reports whether an UPSERT's update overwrites every column that is
// not part of the key, so that nothing of the old row remains.
func replacesAll(n *plan.Insert) bool {
	if slices.ContainsFunc(n.Table.Columns, func(c catalog.Column) bool { return c.OnUpdate != "" }) {
		return false // a row that is there gets other values than a new one
	}
	set := make([]bool, len(n.Table.Columns))
	for _, sc := range n.OnConflict.Set {
		set[sc.Ord] = true
	}
	for _, k := range n.Table.Primary().Columns {
		set[n.Table.ColumnByID(k.Column)] = true
	}
	for _, ok := range set {
		if !ok {
			return false
		}
	}
	return n.OnConflict.Where == nil && n.OnConflict.OldChecks == nil
}

// compileConflictChecks compiles what is demanded of rows that ON CONFLICT DO UPDATE changes: policies for rows that are
// inserted are not about these.
func (ins *insertOp) compileConflictChecks(c *operator.Compiler, n *plan.Insert, s expr.Scope) (err error) {
	if n.OnConflict == nil || !n.OnConflict.Update {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(n.Checks), func(k plan.CheckExpr) bool { return k.Policy != nil })
	if !plant.On(plant.PolicyUnchecked) {
		list = append(list, n.OnConflict.NewChecks...)
	}
	if ins.conflict.ofNew, err = tableaccess.CompileChecks(&c.Compiler, list, s); err != nil {
		return err
	}
	ins.conflict.ofOld, err = tableaccess.CompileChecks(&c.Compiler, n.OnConflict.OldChecks, s)
	return err
}

func newConflict(c *operator.Compiler, n *plan.Insert, ins *insertOp, s expr.Scope) (*conflict, error) {
	oc := n.OnConflict
	k := &conflict{update: oc.Update, all: len(oc.Arbiters) == 0}
	k.soft = len(n.Table.References) > 0 && keepsKeys(n)
	w := ins.writer
	k.pkDec = make([]*rowcodec.Decoder, len(w.Indexes))
	pk := tableaccess.KeyOrds(w.Indexes[0].Index)
	for i := range w.Indexes {
		x := w.Indexes[i].Index
		if !(k.all || isArbiter(oc.Arbiters, x.Desc)) {
			continue
		}
		if x.Desc.Deferrable {
			k.deferrable = x.Desc
		}
		if !x.Unique() {
			continue
		}
		k.arbiters = append(k.arbiters, i)
		if !x.Primary() {
			k.pkDec[i] = x.NewDecoder(pk)
		}
	}
	k.rowDec = w.Indexes[0].NewDecoder(tableaccess.AllOrds(n.Table))
	k.pkRow, k.fullRow = make(types.Row, len(pk)), make(types.Row, len(n.Table.Columns))
	if !oc.Update {
		return k, nil
	}
	var err error
	// SET and WHERE know the existing and the proposed row, not the new one.
	visible := append(make(expr.Scope, len(n.New)), s[len(n.New):]...)
	if k.set, err = tableaccess.CompileSetters(&c.Compiler, oc.Set, visible); err != nil {
		return nil, err
	}
	k.where, err = c.Pred(oc.Where, visible)
	return k, err
}

// keepsKeys reports whether ON CONFLICT leaves the unique keys of a row as they are.
func keepsKeys(n *plan.Insert) bool {
	if n.Updates.ChangesRows() {
		return false
	}
	for i := range n.Table.Indexes {
		if !n.Table.Indexes[i].DeclaredUnique() {
			continue
		}
		for _, c := range n.Table.Indexes[i].Columns {
			ord := n.Table.ColumnByID(c.Column)
			if n.OnConflict.Update && n.Table.Columns[ord].Generated != "" {
				return false
			}
			for _, s := range n.OnConflict.Set {
				if s.Ord == ord {
					return false
				}
			}
		}
	}
	return true
}

// lockArbiter locks the key of a proposed row: as one that is inserted, or changed if
// it is there and stays.
func (ins *insertOp) lockArbiter(x *tableaccess.IndexWriter, key []byte) (kv.LockResult, error) {
	txn := ins.run.Txn
	if x.Primary() {
		txn = ins.writer.Whole(txn)
	}
	if ins.conflict.soft {
		res, err := txn.Lock(ins.run.Ctx, key, lock.NoKeyUpdate, lock.WaitBlock)
		if err != nil || res.Found {
			return res, err
		}
	}
	return txn.Lock(ins.run.Ctx, key, lock.Update, lock.WaitBlock)
}

func isArbiter(list []*catalog.Index, ix *catalog.Index) bool {
	for _, a := range list {
		if a.ID == ix.ID {
			return true
		}
	}
	return false
}

func (ins *insertOp) Open() error {
	ins.prepare = nil
	if ins.fire.changes() {
		ins.early.begin(ins.fire)
		if ins.early.on {
			ins.prepare = func(in *rowcontainer.Batch) {
				ins.early.fire(ins.run, ins.fire, in, len(ins.writer.Table().Columns))
			}
		}
		ins.single = !ins.early.on // which keys to lock is not known before the triggers have fired either
	}
	ins.loading.begin(ins)
	return ins.dml.Open()
}

// before fires the triggers before a row is stored, unless they have fired early; false if the row is not to be stored.
func (ins *insertOp) before(row types.Row) (bool, error) {
	if ins.early.on {
		return ins.early.fired(ins.at)
	}
	return ins.fire.before(nil, row)
}

func (ins *insertOp) Close() {
	ins.loading.close()
	ins.dml.Close()
}

func (ins *insertOp) Next(b *rowcontainer.Batch) error {
	err := ins.loop(b, ins.step)
	if !ins.loadable {
		return err
	}
	if err != nil {
		return ins.loading.failed(err)
	}
	return ins.loading.finish()
}

func (ins *insertOp) step(in types.Row, b *rowcontainer.Batch) error {
	row := in[:len(ins.writer.Table().Columns)]
	if ok, err := ins.before(row); !ok {
		return err
	}
	if err := ins.writer.Compute(row); err != nil {
		return err
	}
	visible := in
	if ins.combined != nil {
		// The stored row, unless there is a conflict, is the proposed one.
		n := len(ins.writer.Table().Columns)
		copy(ins.combined, row)
		clear(ins.combined[n : 2*n])
		copy(ins.combined[2*n:], in)
		visible = ins.combined
	}
	if err := ins.writer.CheckRow(ins.checks, visible, row); err != nil {
		return err
	}
	txn, ctx := ins.run.Txn, ins.run.Ctx
	switch {
	case ins.blind:
		switch self, err := ins.writer.Upsert(ctx, txn, row); {
		case err != nil:
			return err
		case self:
			return errAffectTwice()
		}
		if err := ins.inserted(row); err != nil {
			return err
		}
	case ins.loading.on:
		if err := ins.loading.add(row, ins.at); err != nil {
			return err
		}
	case ins.conflict == nil:
		if err := ins.writer.Insert(ctx, txn, row); err != nil {
			return err
		}
		if err := ins.inserted(row); err != nil {
			return err
		}
	default:
		stored, err := ins.insertOrUpdate(row)
		if err != nil || !stored {
			return err
		}
	}
	if err := ins.writer.RunCheckOptions(ins.checks, visible, visible[:len(row)]); err != nil {
		return err
	}
	return ins.emit(visible, b)
}

// insertOrUpdate inserts a row, or does what ON CONFLICT says; false if nothing
// was stored.
func (ins *insertOp) insertOrUpdate(row types.Row) (bool, error) {
	w, k := ins.writer, ins.conflict
	if k.deferrable != nil {
		return false, w.DeferrableArbiterError(k.deferrable)
	}
	if err := w.NewKeys(row); err != nil {
		return false, err
	}
	for _, i := range k.arbiters {
		x := &w.Indexes[i]
		if !x.In || !x.UniqueKeyComplete(row) {
			continue
		}
		res, err := ins.lockArbiter(x, x.EntryKey)
		if err != nil {
			return false, err
		}
		if !res.Found {
			continue
		}
		if !k.update {
			return false, nil
		}
		return ins.updateExisting(i, res.Value, res.Self)
	}
	// Unique indexes that are no arbiters still forbid duplicates.
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if k.isArbiter(i) || !x.In || !x.UniqueKeyComplete(row) {
			continue
		}
		res, err := ins.run.Txn.Lock(ins.run.Ctx, x.EntryKey, lock.Update, lock.WaitBlock)
		if err != nil {
			return false, err
		}
		if res.Found {
			return false, w.DuplicateError(x.Index, row)
		}
	}
	if err := w.PutAll(ins.run.Txn, row); err != nil {
		return false, err
	}
	return true, ins.inserted(row)
}

// inserted notes what a new row leaves to the end of the statement.
func (ins *insertOp) inserted(row types.Row) error {
	if err := ins.wrote(nil, row); err != nil {
		return err
	}
	return ins.fire.changed(nil, row)
}

func (k *conflict) isArbiter(i int) bool {
	for _, a := range k.arbiters {
		if a == i {
			return true
		}
	}
	return false
}

// updateExisting runs DO UPDATE on the row behind entry i, whose value was read
// under its lock.
func (ins *insertOp) updateExisting(i int, value []byte, self bool) (bool, error) {
	w, k, n := ins.writer, ins.conflict, len(ins.writer.Table().Columns)
	key := w.Indexes[i].EntryKey
	if k.pkDec[i] != nil {
		if err := k.pkDec[i].Decode(key, ins.text.Value(value), k.pkRow); err != nil {
			return false, err
		}
		for j := range k.pkRow {
			k.fullRow[w.Indexes[0].Key[j].Ord] = k.pkRow[j]
		}
		pk, err := w.PrimaryKey(k.fullRow)
		if err != nil {
			return false, err
		}
		res, err := ins.lockArbiter(&w.Indexes[0], pk)
		if err != nil {
			return false, err
		}
		if !res.Found {
			return false, &kvpb.RetryError{Reason: "the conflicting row is gone", Key: bytes.Clone(pk)}
		}
		key, value, self = pk, res.Value, self || res.Self
	}
	if self {
		return false, errAffectTwice()
	}
	stored, old := ins.combined[:n], ins.combined[n:2*n]
	// The buffers of key and value are used again before the row is written.
	if err := k.rowDec.Decode(ins.text.Bytes(key), ins.text.Value(value), old); err != nil {
		return false, err
	}
	if k.where != nil {
		if ok, err := k.where(ins.combined); !ok {
			return false, err
		}
	}
	if err := tableaccess.RunPolicies(k.ofOld, ins.combined); err != nil {
		return false, err
	}
	return ins.applySet(stored, old)
}

// applySet computes and stores the updated row.
func (ins *insertOp) applySet(stored, old types.Row) (bool, error) {
	copy(stored, old)
	for i := range ins.conflict.set {
		s := &ins.conflict.set[i]
		v, err := s.Value(ins.combined)
		if err != nil {
			return false, err
		}
		stored[s.Ord] = v
	}
	w := ins.writer
	if err := w.ComputeOld(old); err != nil {
		return false, err
	}
	if ok, err := ins.updates.before(old, stored); !ok {
		return false, err
	}
	if err := w.Compute(stored); err != nil {
		return false, err
	}
	if err := w.CheckRow(ins.conflict.ofNew, ins.combined, stored); err != nil {
		return false, err
	}
	if err := w.Update(ins.run.Ctx, ins.run.Txn, old, stored); err != nil {
		return false, err
	}
	if err := ins.wrote(old, stored); err != nil {
		return false, err
	}
	return true, ins.updates.changed(old, stored)
}

// lockAhead locks the unique keys of rows that are about to be inserted.
func (ins *insertOp) lockAhead(in *rowcontainer.Batch, take func(context.Context, [][]byte, lock.Strength) error) error {
	if ins.loading.on {
		return nil
	}
	w := ins.writer
	var keys [][]byte
	var room []byte
	for i := 0; i < in.Len() && len(keys) < scan.MaxAhead; i++ {
		if ins.early.on {
			if ok, err := ins.early.fired(i); err != nil {
				break
			} else if !ok {
				continue
			}
		}
		row := in.Row(i)[:len(w.Table().Columns)]
		if w.Compute(row) != nil || w.EncodeKeys(row) != nil {
			break // step will say so, once the rows before it are through
		}
		for j := range w.Indexes {
			x := &w.Indexes[j]
			if x.In && x.UniqueKeyComplete(row) {
				n := len(room)
				room = append(room, x.EntryKey...)
				keys = append(keys, room[n:len(room):len(room)])
			}
		}
	}
	return take(ins.run.Ctx, keys, lock.Update)
}
