package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// extendedKey is the name of a statistics object as the catalog keeps it.
func extendedKey(t *catalog.Table, schema catalog.ID, name string) catalog.NameKey {
	return catalog.NameKey{Database: t.Database, Schema: schema, Name: catalog.ExtendedName(name)}
}

// AddExtended adds a statistics object to the locked table t, which is then to be stored; taken says that its schema has the name.
func AddExtended(ctx context.Context, e *statement.Env, t *catalog.Table, x catalog.Extended) (taken bool, err error) {
	if taken, err = e.Coll.AddName(ctx, extendedKey(t, x.Schema, x.Name), catalog.NameEntry{ID: t.ID}); taken || err != nil {
		return taken, err
	}
	if x.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return false, err
	}
	t.Extended = append(t.Extended, x)
	return false, nil
}

// RenameExtended gives a statistics object of t another name or schema; taken says that there the name is another one's.
func RenameExtended(ctx context.Context, e *statement.Env, t *catalog.Table, x *catalog.Extended, schema catalog.ID, name string) (taken bool, err error) {
	if taken, err = e.Coll.AddName(ctx, extendedKey(t, schema, name), catalog.NameEntry{ID: t.ID}); taken || err != nil {
		return taken, err
	}
	err = e.Coll.RemoveName(ctx, extendedKey(t, x.Schema, x.Name))
	x.Schema, x.Name = schema, name
	return false, err
}

// RemoveExtended takes the statistics objects of t for which gone holds away; t is then to be stored, or goes as well.
func RemoveExtended(ctx context.Context, e *statement.Env, t *catalog.Table, gone func(*catalog.Extended) bool) error {
	var kept []catalog.Extended
	for i := range t.Extended {
		x := &t.Extended[i]
		if !gone(x) {
			kept = append(kept, *x)
		} else if err := e.Coll.RemoveName(ctx, extendedKey(t, x.Schema, x.Name)); err != nil {
			return err
		}
	}
	t.Extended = kept
	return nil
}

// likeExtended asks for statistics objects like those of src; their names are chosen anew.
func (b *TableBuilder) likeExtended(src *catalog.Table, comments bool) {
	for i := range src.Extended {
		x := &src.Extended[i]
		n := catalog.Extended{Kinds: x.Kinds, Target: -1}
		if comments {
			n.Comment = x.Comment
		}
		var names []string
		for _, id := range x.Columns {
			name := src.Columns[src.ColumnByID(id)].Name
			ord, _ := b.T.ColumnByName(name)
			n.Columns, names = append(n.Columns, b.T.Columns[ord].ID), append(names, name)
		}
		n.Name = statement.ColumnsPart(names)
		b.likedExtended = append(b.likedExtended, n)
	}
}

// addExtended adds the statistics objects that LIKE has asked for to the table, which has its id.
func (b *TableBuilder) addExtended(ctx context.Context) error {
	if len(b.likedExtended) == 0 {
		return nil
	}
	all, err := b.e.TablesOf(ctx, b.T.Database)
	if err != nil {
		return err
	}
	taken := func(name string) bool {
		in := func(t *catalog.Table) bool { return ExtendedNamed(t, b.T.Schema, name) >= 0 }
		return in(b.T) || slices.ContainsFunc(all, in)
	}
	for _, x := range b.likedExtended {
		x.Schema = b.T.Schema
		if x.Name, err = b.e.ChooseName(ctx, b.Schema.Name, b.T.Name, x.Name, "stat", taken); err != nil {
			return err
		}
		if dup, err := AddExtended(ctx, b.e, b.T, x); err != nil {
			return err
		} else if dup {
			return pgerr.New(pgerr.DuplicateObject, "statistics object \"%s\" already exists", x.Name)
		}
	}
	return nil
}

// ExtendedNamed returns the position of the statistics object of t with a name in a schema, -1 if there is none.
func ExtendedNamed(t *catalog.Table, schema catalog.ID, name string) int {
	return slices.IndexFunc(t.Extended, func(x catalog.Extended) bool { return x.Schema == schema && x.Name == name })
}
