package zoneconfig

import (
	"context"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// IndexObject is an index of t as what a zone is for.
func IndexObject(t *catalog.Table, ix *catalog.Index) KeyObject {
	return KeyObject{Kind: zone.KindIndex, Span: IndexSpan(t, ix.ID), Table: t, Index: ix}
}

// KeyObject is what a statement about ranges or zones names: the whole key space,
// a part of it with a name, a database, a table or an index.
type KeyObject struct {
	Kind zone.Kind
	// Span holds its keys; of KindDefault it is empty, and means all.
	Span     keys.Span
	Range    string // of KindRange
	Database *catalog.Database
	Table    *catalog.Table // of an index too
	Index    *catalog.Index // of a table its primary index
}

// primaryAlias names the primary index of any table, as in one of the dialects.
const primaryAlias = "primary"

// FindKeyObject finds the object that src names and pins it: while the
// transaction lasts, nobody drops it.
func FindKeyObject(ctx context.Context, coll *catalog.Collection, src ast.RangeSource) (KeyObject, error) {
	if src.Kind == ast.ObjDatabase {
		d, err := coll.FindDatabase(ctx, src.Name.Table)
		if err == nil && d == nil {
			err = statement.UndefinedDatabase(src.Name.Table)
		}
		if err != nil {
			return KeyObject{}, err
		}
		return KeyObject{Kind: zone.KindDatabase, Span: keys.DatabaseSpan(uint64(d.ID)), Database: d}, nil
	}
	n := src.Name
	t, isIndex, err := coll.FindRelation(ctx, n.Catalog, n.Schema, n.Table)
	switch {
	case err != nil:
		return KeyObject{}, err
	case t == nil:
		return KeyObject{}, pgerr.From(coll.UndefinedRelation(ctx, n.Schema, n.Table)).At(n.Pos)
	case t.ID.IsVirtual():
		return KeyObject{}, pgerr.New(pgerr.WrongObjectType, "\"%s\" is computed and has no ranges", t.Name).At(n.Pos)
	case src.Kind == ast.ObjIndex && src.Index == "" && !isIndex:
		return KeyObject{}, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not an index", n.Table).At(n.Pos)
	case (src.Kind == ast.ObjTable || src.Index != "") && (isIndex || t.Kind != catalog.KindTable):
		return KeyObject{}, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", n.Table).At(n.Pos)
	}
	if src.Kind == ast.ObjTable {
		return TableObject(t), nil
	}
	name := src.Index
	if name == "" {
		name = n.Table
	}
	ix := t.IndexByName(name)
	if ix == nil && name == primaryAlias {
		ix = t.Primary()
	}
	if ix == nil {
		return KeyObject{}, pgerr.New(pgerr.UndefinedObject, "index \"%s\" of table \"%s\" does not exist", name, t.Name).At(n.Pos)
	}
	return IndexObject(t, ix), nil
}

// TableObject returns the object of a table.
func TableObject(t *catalog.Table) KeyObject {
	return KeyObject{Kind: zone.KindTable, Span: keys.TableSpan(uint64(t.Database), uint64(t.ID)), Table: t, Index: t.Primary()}
}

// IndexSpan is the span of keys of an index.
func IndexSpan(t *catalog.Table, id catalog.IndexID) keys.Span {
	return keys.IndexSpan(uint64(t.Database), uint64(t.ID), uint64(id))
}

// The parts of the key space that have names of their own.
const (
	rangeDefault = "default"
	rangeMeta    = "meta"
	rangeSystem  = "system"
)

// FindZone finds what a zone configuration is for.
func FindZone(ctx context.Context, coll *catalog.Collection, t ast.ZoneTarget, pos int) (KeyObject, error) {
	switch t.Range {
	case "":
		return FindKeyObject(ctx, coll, t.Source)
	case rangeDefault:
		return KeyObject{Kind: zone.KindDefault}, nil
	case rangeMeta:
		return KeyObject{Kind: zone.KindRange, Range: rangeMeta, Span: keys.MetaSpan()}, nil
	case rangeSystem:
		return KeyObject{Kind: zone.KindRange, Range: rangeSystem, Span: keys.SystemRegion()}, nil
	}
	return KeyObject{}, pgerr.New(pgerr.UndefinedObject, "range \"%s\" does not exist", t.Range).
		WithHint("The ranges with a name are default, meta and system.").At(pos)
}

// ZoneObject returns what a stored zone is for; ok is false if the object is gone.
func ZoneObject(ctx context.Context, coll *catalog.Collection, z *zone.Span) (o KeyObject, ok bool, err error) {
	o = KeyObject{Kind: z.Kind, Span: keys.Span{Start: z.Start, End: z.End}}
	switch z.Kind {
	case zone.KindDefault:
		return KeyObject{Kind: zone.KindDefault}, true, nil
	case zone.KindRange:
		o.Range = rangeSystem
		if keys.MetaSpan().Contains(z.Start) {
			o.Range = rangeMeta
		}
		return o, true, nil
	case zone.KindDatabase:
		db, _, ok := keys.DecodeTableIDs(z.Start)
		if !ok {
			return o, false, nil
		}
		d, err := coll.Peek(ctx, catalog.ID(db))
		o.Database, ok = d.(*catalog.Database)
		return o, ok, err
	}
	_, id, ok := keys.DecodeTableIDs(z.Start)
	if !ok {
		return o, false, nil
	}
	d, err := coll.Peek(ctx, catalog.ID(id))
	if err != nil {
		return o, false, err
	}
	if o.Table, ok = d.(*catalog.Table); !ok || z.Kind == zone.KindTable {
		return o, ok, nil
	}
	for i := range o.Table.Indexes {
		if ix := &o.Table.Indexes[i]; string(IndexSpan(o.Table, ix.ID).Start) == string(z.Start) {
			o.Index = ix
		}
	}
	return o, o.Index != nil, nil
}

// Name returns the object as the statements that configure it name it, for
// example TABLE defaultdb.public.t.
func (o *KeyObject) Name(ctx context.Context, coll *catalog.Collection) string {
	switch o.Kind {
	case zone.KindDefault:
		return "RANGE " + rangeDefault
	case zone.KindRange:
		return "RANGE " + o.Range
	case zone.KindDatabase:
		return "DATABASE " + ast.QuoteIdent(o.Database.Name)
	}
	name := statement.QualifiedName(ctx, coll, o.Table)
	if d, err := coll.Peek(ctx, o.Table.Database); err == nil && d != nil {
		name = ast.QuoteIdent(d.Ident().Name) + "." + name
	}
	if o.Kind == zone.KindTable {
		return "TABLE " + name
	}
	index := o.Index.Name
	if o.Index.ID == o.Table.Primary().ID && !o.Table.HasPrimaryKey() {
		index = primaryAlias
	}
	return "INDEX " + name + "@" + ast.QuoteIdent(index)
}
