package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// internalCreateAll lists the statements that make all relations of the database, in an
// order in which they can be executed: foreign keys come after all tables, and a view after
// what it reads.
func internalCreateAll(s *snapshot, w *writer) error {
	for i, text := range s.createAll() {
		w.num("position", int64(i+1))
		w.str("create_statement", text+";")
		w.done()
	}
	return nil
}

func (s *snapshot) createAll() []string {
	var sequences, tables, views, links []string
	seen := map[catalog.ID]bool{}
	for _, t := range s.tables() {
		switch kind := relkind(t); {
		case s.persistence(t) == "t":
		case kind == "S" && !s.implicit(t):
			sequences = append(sequences, s.createSequence(t, false))
			if owner := s.tableByID(t.Sequence.OwnerTable); owner != nil {
				links = append(links, "ALTER SEQUENCE "+s.qualified(t)+s.ownedBy(owner, t))
			}
		case kind == "r":
			tables = append(tables, s.createTable(t, false))
			for i := range t.ForeignKeys {
				links = append(links, "ALTER TABLE "+s.qualified(t)+" ADD "+s.createdKey(t, &t.ForeignKeys[i]))
			}
		case kind == "v" || kind == "m":
			views = s.createViews(t, seen, views)
		}
	}
	return slices.Concat(sequences, tables, views, links)
}

// createViews appends the statements that make a view and the views that it reads, but for
// those seen before.
func (s *snapshot) createViews(t *catalog.Table, seen map[catalog.ID]bool, list []string) []string {
	if seen[t.ID] {
		return list
	}
	seen[t.ID] = true
	for _, id := range t.View.Uses {
		if u := s.tableByID(id); u != nil && u.View != nil {
			list = s.createViews(u, seen, list)
		}
	}
	_, text := s.createText(t)
	return append(list, text)
}

// implicit reports whether a sequence is made with the column that owns it: one of SERIAL,
// or an identity.
func (s *snapshot) implicit(q *catalog.Table) bool {
	owner := s.tableByID(q.Sequence.OwnerTable)
	if owner == nil {
		return false
	}
	ord := owner.ColumnByID(q.Sequence.OwnerColumn)
	return ord >= 0 && (owner.Columns[ord].Identity != 0 || isSerial(owner, &owner.Columns[ord], q))
}

// createdKey is a foreign key in a definition.
func (s *snapshot) createdKey(t *catalog.Table, k *catalog.ForeignKey) string {
	return "CONSTRAINT " + ast.QuoteIdent(k.Name) + " " + s.foreignKeyText(t, k, s.createdName)
}
