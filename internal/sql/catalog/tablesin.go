package catalog

import (
	"bytes"

	"github.com/lichendb/lichen/internal/keys"
)

// TablesThat returns the committed tables for which a test holds.
func (s *Store) TablesThat(test func(*Table) bool) (list []*Table) {
	for _, d := range s.committed().all {
		if t, ok := d.(*Table); ok && t.Kind == KindTable && test(t) {
			list = append(list, t)
		}
	}
	return list
}

// TablesWithin names the tables that have keys in [start, end), as this node knows them at
// present: with their databases and schemas, at most so many, "…" after them if there are more.
func (s *Store) TablesWithin(start, end []byte, most int) (names []string) {
	for _, d := range s.committed().all {
		t, ok := d.(*Table)
		if !ok {
			continue
		}
		span := keys.TableSpan(uint64(t.Database), uint64(t.ID))
		if bytes.Compare(span.End, start) <= 0 || bytes.Compare(end, span.Start) <= 0 {
			continue
		}
		if len(names) == most {
			return append(names, "…")
		}
		names = append(names, s.qualified(t))
	}
	return names
}

// qualified is the name of a table with those of its database and schema, as far as they are known.
func (s *Store) qualified(t *Table) string {
	name := t.Name
	for _, id := range []ID{t.Schema, t.Database} {
		if o := s.object(id); o != nil {
			name = o.cur.Load().desc.Ident().Name + "." + name
		}
	}
	return name
}
