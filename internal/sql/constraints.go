package sql

import (
	"context"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxDeferred bounds the checks that wait for the end of a transaction.
const maxDeferred = 4 << 20

// deferral is what SET CONSTRAINTS said in the transaction, and the checks that wait
// for its end. It implements operator.ConstraintMode.
type deferral struct {
	all   ast.Tristate // of SET CONSTRAINTS ALL
	modes map[uint32]bool
	// queue is never changed in place, so that savepoints can keep it.
	queue []*operator.Deferred
}

// Deferred implements operator.ConstraintMode.
func (d *deferral) Deferred(oid uint32, initially bool) bool {
	if mode, ok := d.modes[oid]; ok {
		return mode
	}
	if d.all != ast.Unset {
		return d.all == ast.Yes
	}
	return initially
}

// Defer implements operator.ConstraintMode.
func (d *deferral) Defer(c *operator.Deferred) error {
	if len(d.queue) >= maxDeferred {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many deferred constraint checks in one transaction (limit %d)", maxDeferred)
	}
	d.queue = append(d.queue, c)
	return nil
}

// mark returns the present state for a savepoint.
func (d *deferral) mark() deferral {
	m := *d
	m.modes = maps.Clone(d.modes)
	m.queue = slices.Clip(d.queue)
	return m
}

// checkDeferred makes the checks that satisfy want; nil: all that wait.
func (s *Session) checkDeferred(ctx context.Context, want func(*operator.Deferred) bool) error {
	d := &s.deferral
	if len(d.queue) == 0 {
		return nil
	}
	now := d.queue
	var later []*operator.Deferred
	if want != nil {
		now = nil
		for _, c := range d.queue {
			if want(c) {
				now = append(now, c)
			} else {
				later = append(later, c)
			}
		}
	}
	if len(now) == 0 {
		return nil
	}
	var env operator.Env
	s.fillEnv(ctx, &env, nil)
	s.txn.KV().BeginStatement()
	if err := mutation.CheckDeferred(ctx, &env, now); err != nil {
		return err
	}
	d.queue = later
	return nil
}

// setConstraints executes SET CONSTRAINTS.
func (x *execution) setConstraints(ctx context.Context, st *ast.SetConstraints) error {
	s, res := x.s, x.res
	outside := !s.txn.InBlock()
	if outside {
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks"))
	}
	d := &s.deferral
	if st.All && outside {
		return nil
	}
	if st.All {
		d.all, d.modes = ast.No, nil
		if st.Deferred {
			d.all = ast.Yes
			return nil
		}
		return s.checkDeferred(ctx, nil)
	}
	named := map[uint32]bool{}
	for i := range st.Names {
		if err := s.namedConstraints(ctx, &st.Names[i], st.Deferred, named); err != nil {
			return err
		}
	}
	if outside {
		return nil
	}
	if d.modes == nil {
		d.modes = map[uint32]bool{}
	}
	for oid := range named {
		d.modes[oid] = st.Deferred
	}
	if st.Deferred {
		return nil
	}
	return s.checkDeferred(ctx, func(c *operator.Deferred) bool { return named[c.Constraint()] })
}

// namedConstraints adds the deferrable constraints of that name in the first schema
// of the search path that has one. Where they are to be deferred, all must be deferrable.
func (s *Session) namedConstraints(ctx context.Context, n *ast.TableName, deferred bool, out map[uint32]bool) error {
	all, err := s.coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	path := s.coll.SearchPath()
	if n.Schema != "" {
		path = []string{n.Schema}
	}
	for _, name := range path {
		schema, err := s.coll.FindSchema(ctx, name)
		if err != nil {
			return err
		}
		if schema == nil && n.Schema != "" {
			return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Schema)
		}
		if schema == nil {
			continue
		}
		found := false
		for _, d := range all {
			t, ok := d.(*catalog.Table)
			if !ok || t.Schema != schema.ID {
				continue
			}
			deferrable, there := constraintOf(t, n.Table, out)
			if there && !deferrable && deferred {
				return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" is not deferrable", n.Table)
			}
			found = found || there
		}
		if found {
			return nil
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" does not exist", n.Table)
}

// constraintOf looks for a constraint of t and adds it to out if it is deferrable.
func constraintOf(t *catalog.Table, name string, out map[uint32]bool) (deferrable, found bool) {
	if i := t.ForeignKeyByName(name); i >= 0 {
		if t.ForeignKeys[i].Deferrable {
			out[t.ForeignKeys[i].Oid] = true
		}
		return t.ForeignKeys[i].Deferrable, true
	}
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; ix.Constraint && ix.ConstraintName == name {
			if ix.Deferrable {
				out[ix.ConstraintOid] = true
			}
			return ix.Deferrable, true
		}
	}
	return false, slices.ContainsFunc(t.Checks, func(c catalog.Check) bool { return c.Name == name })
}

// notInUse returns 55006 if checks of rows of t wait for the end of the transaction, or a portal
// reads t: command, which changes or drops the table, would pull it away from under them.
func (s *Session) notInUse(t *catalog.Table, command string) error {
	for _, p := range s.portals.List() {
		if p.Scans(t.ID) {
			return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it is being used by active queries in this session", command, t.Name)
		}
	}
	for _, c := range s.deferral.queue {
		if c.WaitsOn().ID == t.ID {
			return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it has pending trigger events", command, t.Name)
		}
	}
	return nil
}
