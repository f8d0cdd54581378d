package ranges

import (
	"bytes"
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// keyPrinter makes keys readable with the types of the columns they are made of.
type keyPrinter struct {
	coll    *catalog.Collection
	indexes map[string]*rowcodec.Index // by prefix; nil for what is not known
}

func newKeyPrinter(coll *catalog.Collection) *keyPrinter {
	return &keyPrinter{coll: coll, indexes: map[string]*rowcodec.Index{}}
}

// index returns the index that a key belongs to, nil if there is none.
func (p *keyPrinter) index(ctx context.Context, key []byte) *rowcodec.Index {
	db, table, index, _, ok := keys.DecodeIndexPrefix(key)
	if !ok {
		return nil
	}
	prefix := string(keys.IndexPrefix(db, table, index))
	ix, ok := p.indexes[prefix]
	if !ok {
		ix = p.compile(ctx, catalog.ID(table), prefix)
		p.indexes[prefix] = ix
	}
	return ix
}

func (p *keyPrinter) compile(ctx context.Context, table catalog.ID, prefix string) *rowcodec.Index {
	t := p.table(ctx, table)
	if t == nil {
		return nil
	}
	for i := range t.Indexes {
		if string(rowcodec.IndexPrefix(t, &t.Indexes[i])) == prefix {
			if ix, err := rowcodec.Compile(t, &t.Indexes[i]); err == nil {
				return ix
			}
		}
	}
	return nil
}

// table returns the table with an id, nil if there is none.
func (p *keyPrinter) table(ctx context.Context, id catalog.ID) *catalog.Table {
	d, err := p.coll.Peek(ctx, id)
	t, ok := d.(*catalog.Table)
	if err != nil || !ok || t.Kind != catalog.KindTable {
		return nil
	}
	return t
}

// hiddenKey stands for the values in the keys of rows that the user may not read.
const hiddenKey = "/<hidden>"

func (p *keyPrinter) hides(t *catalog.Table) bool { return !access.SeesKeys(p.coll, t) }

// full prints any key, as in /Table/app.public.accounts/accounts_pkey/1/"abc"; a dropped
// object appears as the numbers in the key.
func (p *keyPrinter) full(ctx context.Context, key []byte) string {
	db, id, ok := keys.DecodeTableIDs(key)
	if !ok {
		return keys.Pretty(key)
	}
	t := p.table(ctx, catalog.ID(id))
	if t == nil {
		return keys.Pretty(key)
	}
	o := zoneconfig.TableObject(t)
	name := "/Table/" + strings.TrimPrefix(o.Name(ctx, p.coll), "TABLE ")
	if p.hides(t) {
		return name + hiddenKey
	}
	if ix := p.index(ctx, key); ix != nil {
		return name + "/" + ix.Desc.Name + ix.PrettyKey(key)
	}
	return name + strings.TrimPrefix(keys.Pretty(key), keys.Pretty(keys.TablePrefix(db, id)))
}

// within prints a bound of a range of o: for a table from the index on, for an index from the
// first column on, and otherwise whole.
func (p *keyPrinter) within(ctx context.Context, o *zoneconfig.KeyObject, key []byte) string {
	name := map[zone.Kind]string{zone.KindTable: "Table", zone.KindIndex: "Index"}[o.Kind]
	if name == "" {
		return p.full(ctx, key)
	}
	switch {
	case bytes.Equal(key, o.Span.Start):
		return "…/<" + name + "Min>"
	case bytes.Equal(key, o.Span.End):
		return "…/<" + name + "Max>"
	case bytes.Compare(key, o.Span.Start) < 0:
		return "<before:" + p.full(ctx, key) + ">"
	case bytes.Compare(key, o.Span.End) > 0:
		return "<after:" + p.full(ctx, key) + ">"
	}
	if o.Table != nil && p.hides(o.Table) {
		return "…" + hiddenKey
	}
	ix := p.index(ctx, key)
	switch {
	case ix == nil:
		return "…" + strings.TrimPrefix(keys.Pretty(key), keys.Pretty(o.Span.Start))
	case o.Kind == zone.KindIndex:
		return "…" + ix.PrettyKey(key)
	}
	return "…/" + ix.Desc.Name + ix.PrettyKey(key)
}
