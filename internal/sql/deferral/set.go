package deferral

import (
	"context"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Catalog is what SET CONSTRAINTS looks names up in; *catalog.Collection is one.
type Catalog interface {
	SearchPath() []string
	// FindSchema returns nil if there is no such schema.
	FindSchema(ctx context.Context, name string) (*catalog.Schema, error)
	Descriptors(ctx context.Context) ([]catalog.Descriptor, error)
}

// Set executes SET CONSTRAINTS: what becomes immediate is checked now. Outside a block, where
// nothing waits, it only looks the constraints up; 42704 if there is none of a name, 42809 if one
// that is to be deferred is not deferrable.
func (c *Constraints) Set(ctx context.Context, st *ast.SetConstraints, cat Catalog, inBlock bool) error {
	if st.All {
		return c.setAll(ctx, st.Deferred, inBlock)
	}
	named := map[uint32]bool{}
	for i := range st.Names {
		if err := findNamed(ctx, cat, &st.Names[i], st.Deferred, named); err != nil {
			return err
		}
	}
	if !inBlock {
		return nil
	}
	modes := maps.Clone(c.state.modes)
	if modes == nil {
		modes = map[uint32]bool{}
	}
	for oid := range named {
		modes[oid] = st.Deferred
	}
	c.state.modes = modes
	if st.Deferred {
		return nil
	}
	return c.checkThose(ctx, func(d *operator.Deferred) bool { return named[d.Constraint()] })
}

func (c *Constraints) setAll(ctx context.Context, deferred, inBlock bool) error {
	if !inBlock {
		return nil
	}
	c.state.all, c.state.modes = ast.No, nil
	if deferred {
		c.state.all = ast.Yes
		return nil
	}
	return c.Check(ctx)
}

// findNamed adds the deferrable constraints of that name in the first schema
// of the search path that has one. Where they are to be deferred, all must be deferrable.
func findNamed(ctx context.Context, cat Catalog, n *ast.TableName, deferred bool, out map[uint32]bool) error {
	all, err := cat.Descriptors(ctx)
	if err != nil {
		return err
	}
	path := cat.SearchPath()
	if n.Schema != "" {
		path = []string{n.Schema}
	}
	for _, name := range path {
		schema, err := cat.FindSchema(ctx, name)
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
	for i := range t.Triggers {
		if g := &t.Triggers[i]; g.ConstraintOid != 0 && g.Name == name {
			if g.Deferrable {
				out[g.ConstraintOid] = true
			}
			return g.Deferrable, true
		}
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
