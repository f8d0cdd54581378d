package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// setOwner is OWNER TO. The sequences of a table's columns go with it.
func (a *Alteration) setOwner(ctx context.Context, r *ast.RoleSpec) error {
	if a.T.Sequence != nil && a.T.Sequence.OwnerTable != 0 {
		return pgerr.Unsupported("cannot change owner of sequence \"%s\"", a.T.Name).
			WithDetail("Sequence \"%s\" is linked to a table.", a.T.Name)
	}
	to, err := a.E.Role(r)
	if err != nil || to == a.T.Owner {
		return err
	}
	if err := a.E.NewOwner(ctx, to, a.T.Schema); err != nil {
		return err
	}
	a.T.SetOwner(to)
	for i := range a.T.Columns {
		id := a.T.Columns[i].OwnsSequence
		if id == 0 {
			continue
		}
		q, err := a.E.LockByID(ctx, id)
		if err != nil {
			return err
		}
		q.SetOwner(to)
		if err := a.E.Coll.Put(ctx, q); err != nil {
			return err
		}
	}
	return a.Put(ctx)
}
