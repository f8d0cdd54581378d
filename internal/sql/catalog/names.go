package catalog

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
)

// namespace maps names to what they stand for, and lists them in order. A sorted copy is kept; bringing it up to
// date costs one merge of the changes since. It is brought up to date when somebody asks: few do, and DDL does not
// wait for it.
type namespace struct {
	entries map[NameKey]NameEntry
	sorted  []NameKey // its elements never change; nil until somebody asks
	changed []NameKey // since sorted was made, some perhaps twice
}

func newNamespace(entries map[NameKey]NameEntry) namespace { return namespace{entries: entries} }

func (n *namespace) put(k NameKey, e NameEntry) {
	if _, ok := n.entries[k]; !ok {
		n.note(k)
	}
	n.entries[k] = e
}

func (n *namespace) remove(k NameKey) {
	delete(n.entries, k)
	n.note(k)
}

// note remembers that a name has come or gone, unless sorting anew costs no more.
func (n *namespace) note(k NameKey) {
	if n.sorted == nil {
		return
	}
	if n.changed = append(n.changed, k); len(n.changed) > len(n.sorted) {
		n.sorted, n.changed = nil, nil
	}
}

// inOrder reports whether sorted has all names.
func (n *namespace) inOrder() bool { return n.sorted != nil && len(n.changed) == 0 }

// sort makes sorted anew if it is out of date.
func (n *namespace) sort() {
	if n.sorted == nil {
		n.sorted = slices.SortedFunc(maps.Keys(n.entries), compareNames)
		return
	}
	slices.SortFunc(n.changed, compareNames)
	n.changed = slices.Compact(n.changed)
	out := make([]NameKey, 0, len(n.sorted)+len(n.changed))
	rest := n.sorted
	for _, k := range n.changed {
		at, found := slices.BinarySearchFunc(rest, k, compareNames)
		out = append(out, rest[:at]...)
		if rest = rest[at:]; found {
			rest = rest[1:]
		}
		if _, ok := n.entries[k]; ok {
			out = append(out, k)
		}
	}
	n.sorted, n.changed = append(out, rest...), nil
}

func compareNames(a, b NameKey) int {
	return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
}

// namesFrom returns the names that are not before k, in order.
func (s *Store) namesFrom(k NameKey) []NameKey {
	s.mu.RLock()
	if !s.names.inOrder() {
		s.mu.RUnlock()
		s.mu.Lock()
		s.names.sort()
		sorted := s.names.sorted
		s.mu.Unlock()
		return after(sorted, k)
	}
	sorted := s.names.sorted
	s.mu.RUnlock()
	return after(sorted, k)
}

func after(sorted []NameKey, k NameKey) []NameKey {
	at, _ := slices.BinarySearchFunc(sorted, k, compareNames)
	return sorted[at:]
}

// PeekBetween yields the relations, types and tables of indexes whose names in a stored schema of the
// session's database lie between two names, both included, and perhaps others; an empty last one is no
// bound. Some come twice. It pins nothing. ReadPast has come before.
func (c *Collection) PeekBetween(ctx context.Context, schema ID, first, last string) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		if c.historical { // whose names are not in memory
			l := c.Listing()
			for _, t := range slices.Concat(l.Relations, l.Types) {
				if t.Schema == schema && !yield(t) {
					return
				}
			}
			return
		}
		lastType := afterTypeNames
		if last != "" {
			lastType = TypeName(last)
		}
		_ = c.peekNames(ctx, schema, first, last, yield) && c.peekNames(ctx, schema, TypeName(first), lastType, yield)
	}
}

// peekNames yields what has one of the names between two, as they are stored, and reports whether yield
// wants more.
func (c *Collection) peekNames(ctx context.Context, schema ID, first, last string, yield func(*Table) bool) bool {
	from := NameKey{Database: c.db.ID, Schema: schema, Name: first}
	within := func(k NameKey) bool {
		return k.Database == from.Database && k.Schema == schema && k.Name >= first && (last == "" || k.Name <= last)
	}
	visit := func(k NameKey) bool {
		t := c.PeekNamed(ctx, schema, k.Name)
		return t == nil || yield(t)
	}
	for _, k := range c.store.namesFrom(from) {
		if !within(k) {
			break
		}
		if !visit(k) {
			return false
		}
	}
	if c.changes == nil {
		return true
	}
	for k := range c.changes.names {
		if within(k) && !visit(k) {
			return false
		}
	}
	return true
}

// BuiltInBetween yields the relations of a built-in schema whose names lie between two, both included; an
// empty last one is no bound.
func (c *Collection) BuiltInBetween(schema ID, first, last string) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, v := range c.store.virtual.all {
			if v.Schema.ID != schema {
				continue
			}
			for _, t := range v.Tables {
				if t.Name >= first && (last == "" || t.Name <= last) && !yield(c.builtIn(t)) {
					return
				}
			}
		}
	}
}
