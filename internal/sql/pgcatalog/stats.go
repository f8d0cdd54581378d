package pgcatalog

import (
	"sync"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/types"
)

// size is the optimizer's estimate of a virtual table, its fixed rows left out.
type size struct {
	rows int
	// distinct are the numbers of different values of columns, most are how often each of
	// their usual values occurs, and from is where the values of columns begin.
	distinct map[string]int
	most     map[string][]valueCount
	from     map[string][]int64
}

type valueCount struct {
	value string
	count int
}

// totals are the numbers of objects that virtual tables list: those of the database and
// the built-in relations.
type totals struct {
	catalog.Counts
	builtIn, builtInColumns, views int
}

func (n *totals) relations() int { return n.Relations() + n.builtIn }

// entries is the number of rows of pg_class.
func (n *totals) entries() int { return n.relations() + n.Indexes + n.Composites }

// sizes say how many rows a virtual table has. Those that are not here have few.
var sizes = map[string]func(n *totals) size{
	"pg_catalog.pg_class": func(n *totals) size {
		return size{rows: n.entries(), distinct: map[string]int{"relnamespace": n.Schemas + 2, "relname": n.entries()},
			most: map[string][]valueCount{"relkind": {
				{"r", n.Tables + n.builtIn - n.views}, {"i", n.Indexes}, {"S", n.Sequences}, {"v", n.Views + n.views},
				{"m", n.MatViews}, {"c", n.Composites},
			}}}
	},
	"pg_catalog.pg_attribute": func(n *totals) size {
		return size{rows: n.Columns + n.builtInColumns + n.IndexColumns, distinct: map[string]int{"attrelid": n.entries(), "attnum": 30},
			from: map[string][]int64{"attnum": {1, 2, 3, 5, 8, 12, 20}}}
	},
	"pg_catalog.pg_attrdef": func(n *totals) size {
		return size{rows: n.Defaults, distinct: map[string]int{"adrelid": min(n.Defaults, n.relations())}}
	},
	"pg_catalog.pg_index": func(n *totals) size {
		return size{rows: n.Indexes, distinct: map[string]int{"indrelid": min(n.Indexes, n.Tables+n.MatViews)}}
	},
	"pg_catalog.pg_constraint": func(n *totals) size {
		all := n.Constraints()
		return size{rows: all, distinct: map[string]int{"conrelid": min(all, n.Tables), "confrelid": n.Keys, "contypid": n.Domains, "conindid": n.Indexes},
			most: map[string][]valueCount{"contype": {{"p", n.PrimaryKeys}, {"u", n.UniqueKeys}, {"c", n.Checks}, {"f", n.Keys}}}}
	},
	"pg_catalog.pg_type": func(n *totals) size {
		all := 2*n.Types + n.relations() - n.Sequences
		return size{rows: all, distinct: map[string]int{"typname": all, "typrelid": n.Composites}}
	},
	"pg_catalog.pg_enum": func(n *totals) size {
		return size{rows: n.Labels, distinct: map[string]int{"enumtypid": n.Types}}
	},
	"pg_catalog.pg_range":       func(n *totals) size { return size{rows: 6} },
	"pg_catalog.pg_namespace":   func(n *totals) size { return size{rows: n.Schemas + len(Schemas())} },
	"pg_catalog.pg_sequence":    func(n *totals) size { return size{rows: n.Sequences} },
	"pg_catalog.pg_rewrite":     func(n *totals) size { return size{rows: n.Views} },
	"pg_catalog.pg_description": comments,
	"pg_catalog.pg_depend": func(n *totals) size {
		all := 2*n.Defaults + n.IndexColumns + n.Constraints() + n.Sequences + 2*n.Views + n.Types
		return size{rows: all, distinct: map[string]int{"objid": all, "refobjid": n.entries()}}
	},
	"pg_catalog.pg_tables":      func(n *totals) size { return named(n.Tables+n.builtIn-n.views, "tablename") },
	"pg_catalog.pg_views":       func(n *totals) size { return named(n.Views, "viewname") },
	"pg_catalog.pg_matviews":    func(n *totals) size { return named(n.MatViews, "matviewname") },
	"pg_catalog.pg_sequences":   func(n *totals) size { return named(n.Sequences, "sequencename") },
	"pg_catalog.pg_indexes":     func(n *totals) size { return named(n.Indexes, "indexname", "tablename") },
	"pg_catalog.pg_collation":   func(n *totals) size { return size{rows: n.Collations} },
	"pg_catalog.pg_settings":    func(*totals) size { return size{rows: 350} },
	"information_schema.tables": func(n *totals) size { return named(n.relations(), "table_name") },
	"information_schema.columns": func(n *totals) size {
		return size{rows: n.Columns + n.builtInColumns, distinct: map[string]int{"table_name": n.relations()}}
	},
	"information_schema.views":     func(n *totals) size { return named(n.Views, "table_name") },
	"information_schema.sequences": func(n *totals) size { return named(n.Sequences, "sequence_name") },
	"information_schema.table_constraints": func(n *totals) size {
		return size{rows: n.Constraints() + n.Columns/2, distinct: map[string]int{"table_name": n.Tables}}
	},
	"information_schema.key_column_usage":        keyColumns,
	"information_schema.constraint_column_usage": keyColumns,
	"information_schema.referential_constraints": func(n *totals) size { return size{rows: n.Keys} },
	"lichen_internal.create_statements":          func(n *totals) size { return named(n.Relations(), "descriptor_name") },
	"lichen_internal.table_columns": func(n *totals) size {
		return size{rows: n.Columns + n.builtInColumns, distinct: map[string]int{"descriptor_id": n.relations(), "descriptor_name": n.relations()}}
	},
}

func comments(n *totals) size {
	all := n.Comments + len(textSearchComments())
	return size{rows: all, distinct: map[string]int{"objoid": all, "classoid": 4}}
}

func keyColumns(n *totals) size {
	return size{rows: n.PrimaryKeys + n.UniqueKeys + n.Keys, distinct: map[string]int{"table_name": n.Tables}}
}

// named is the size of a table whose rows have different names in some columns.
func named(rows int, columns ...string) size {
	s := size{rows: rows, distinct: map[string]int{}}
	for _, c := range columns {
		s.distinct[c] = rows
	}
	return s
}

// builtInTotals counts the built-in relations, of which views are some.
var builtInTotals = sync.OnceValue(func() (n totals) {
	for _, v := range Schemas() {
		for _, t := range v.Tables {
			n.builtIn++
			n.builtInColumns += len(t.Columns)
			if t.BuiltInView {
				n.views++
			}
		}
	}
	return n
})

// Stats returns the statistics of a virtual table, nil if nothing is known.
func (c *Catalog) Stats(t *catalog.Table) *optimizer.TableStats {
	name := qualifiedName(t)
	fixed, gen := fixedOf(t), generators()[name]
	sz := size{}
	if f := sizes[name]; f != nil {
		n := builtInTotals()
		n.Counts = c.h.Coll.Counts()
		sz = f(&n)
	} else if gen != nil {
		return nil
	}
	if fixed != nil {
		sz.rows += len(fixed.rows)
	}
	if gen != nil {
		fixed = nil // it does not say how other rows' values spread
	}
	return sz.stats(t, fixed)
}

func (s *size) stats(t *catalog.Table, fixed *fixedRows) *optimizer.TableStats {
	rows := max(float64(s.rows), 1)
	return &optimizer.TableStats{Rows: rows, Column: func(id catalog.ColumnID) *catalog.ColumnStatistics {
		name := t.Columns[t.ColumnByID(id)].Name
		out := &catalog.ColumnStatistics{}
		if n, ok := s.distinct[name]; ok {
			out.Distinct = max(float64(n), 1)
		} else if out.Distinct = fixed.distinct(t, id); out.Distinct == 0 && s.most[name] == nil && s.from[name] == nil {
			return nil
		}
		for _, v := range s.most[name] {
			out.Common = append(out.Common, catalog.CommonValue{Value: types.NewString(v.value), Share: float64(v.count) / rows})
			out.Distinct = max(out.Distinct, float64(len(out.Common)))
		}
		for _, v := range s.from[name] {
			out.Bounds = append(out.Bounds, types.NewInt(v))
		}
		return out
	}}
}

// distinct is how many values a column has that is indexed alone, 0 if it is not.
func (f *fixedRows) distinct(t *catalog.Table, id catalog.ColumnID) float64 {
	if f == nil {
		return 0
	}
	for i := range t.Indexes {
		if cols := t.Indexes[i].Columns; len(cols) == 1 && cols[0].Column == id {
			return float64(len(f.indexes[t.Indexes[i].ID]))
		}
	}
	return 0
}
