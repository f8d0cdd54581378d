package catalog

import "math/bits"

// Counts says how many objects of each kind a database has, committed ones: what reading
// the catalogs costs depends on it.
type Counts struct {
	Tables, Views, MatViews, Sequences, Schemas, Types, Composites, Domains, Collations, Routines int
	// Columns are those of all relations, Defaults those among them with an expression.
	Columns, Defaults int
	// IndexColumns are the columns of all Indexes.
	Indexes, IndexColumns                 int
	PrimaryKeys, UniqueKeys, Checks, Keys int // Keys are foreign ones
	Labels, Comments                      int
}

// Relations is the number of tables, views and sequences.
func (n *Counts) Relations() int { return n.Tables + n.Views + n.MatViews + n.Sequences }

// Constraints is the number of constraints of tables.
func (n *Counts) Constraints() int { return n.PrimaryKeys + n.UniqueKeys + n.Checks + n.Keys }

// note adds an object to the counts of its database, or takes it out with sign -1.
func (s *Store) note(d Descriptor, sign int) {
	switch d := d.(type) {
	case *Schema:
		s.countsOf(d.Database).Schemas += sign
	case *Table:
		n := s.countsOf(d.Database)
		n.addKind(d, sign)
		if d.Kind != KindType && d.Kind != KindCollation && d.Kind != KindRoutine {
			n.addParts(d, sign)
		}
	}
}

func (s *Store) countsOf(db ID) *Counts {
	n := s.counts[db]
	if n == nil {
		n = &Counts{}
		s.counts[db] = n
	}
	return n
}

func (n *Counts) addKind(t *Table, sign int) {
	if t.Comment != "" {
		n.Comments += sign
	}
	switch {
	case t.Kind == KindCollation:
		n.Collations += sign
	case t.Kind == KindRoutine:
		n.Routines += sign
	case t.Kind == KindType:
		n.Types += sign
		def := t.UserType.Def
		n.Labels += sign * len(def.Labels)
		if len(def.Fields) > 0 {
			n.Composites += sign
		}
		for _, f := range def.Fields {
			if f.Comment != "" {
				n.Comments += sign
			}
		}
		if t.UserType.IsDomain() {
			n.Domains += sign
		}
	case t.Kind == KindSequence:
		n.Sequences += sign
	case t.Kind == KindView:
		n.Views += sign
	case t.Materialized():
		n.MatViews += sign
	default:
		n.Tables += sign
	}
}

func (n *Counts) addParts(t *Table, sign int) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Hidden {
			continue
		}
		n.Columns += sign
		if c.Default != "" || c.Generated != "" {
			n.Defaults += sign
		}
		if c.Comment != "" {
			n.Comments += sign
		}
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if i == 0 && !t.HasPrimaryKey() {
			continue
		}
		n.Indexes += sign
		n.IndexColumns += sign * len(ix.Columns)
		switch {
		case ix.Primary:
			n.PrimaryKeys += sign
		case ix.Constraint:
			n.UniqueKeys += sign
		}
	}
	n.Checks += sign * len(t.Checks)
	n.Keys += sign * len(t.ForeignKeys)
}

// Counts returns how many objects a database has.
func (s *Store) Counts(db ID) Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if n := s.counts[db]; n != nil {
		return *n
	}
	return Counts{}
}

// Counts returns how many objects the session's database has, leaving out what its
// transaction changed.
func (c *Collection) Counts() Counts { return c.store.Counts(c.db.ID) }

// Magnitude grows by one as the number of objects doubles.
func (s *Store) Magnitude() uint64 { return uint64(s.magnitude.Load()) }

func (s *Store) setMagnitude() { s.magnitude.Store(int32(bits.Len(uint(len(s.objects))))) }
