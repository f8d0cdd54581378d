package catalog

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Temporary relations are in a schema of their session, which is made with the first
// of them and dropped with all it holds when the session ends. Other sessions find it
// by its whole name only. What a node that died has left is dropped by another, or by
// itself when it is back (sql/tempschema).

// pgTemp names the temporary schema of the session that uses it.
const pgTemp = "pg_temp"

// TempOwner says whose a temporary schema is.
type TempOwner struct {
	Node kvpb.NodeID
	// Incarnation is the node's, 0 where nodes have no peers.
	Incarnation int64 `json:"Life"`
	// Session is the session's name, PID its number on the node.
	Session string
	PID     int32
}

// OnCommit is what the end of a transaction does to a temporary table.
type OnCommit uint8

// The choices.
const (
	PreserveRows OnCommit = iota
	DeleteRows
	DropTable
)

// SetTempOwner says under which name the session makes temporary objects.
func (c *Collection) SetTempOwner(o TempOwner) {
	if g := c.store.gw; g != nil {
		o.Incarnation = g.member.Incarnation
	}
	c.temp.owner = o
}

// TempSchemaName returns the name of the session's temporary schema, "" if it never
// made one.
func (c *Collection) TempSchemaName() string {
	if !c.temp.used {
		return ""
	}
	return c.tempName()
}

func (c *Collection) tempName() string {
	return pgTemp + "_" + strconv.FormatInt(int64(c.temp.owner.PID), 10)
}

// OwnTemp reports whether s is the session's temporary schema.
func (c *Collection) OwnTemp(s *Schema) bool {
	return s.Temp != nil && c.temp.used && s.Temp.Session == c.temp.owner.Session
}

// CreateTempSchema makes the session's temporary schema, or returns it. One of that
// name that another session left is returned as left: it must be dropped first. It is the system's: no role's.
func (c *Collection) CreateTempSchema(ctx context.Context) (s *Schema, left bool, err error) {
	c.temp.used = true
	if s, err = c.FindSchema(ctx, c.tempName()); err != nil || s != nil {
		return s, s != nil && !c.OwnTemp(s), err
	}
	if s, err = c.CreateSchema(ctx, c.db.ID, c.tempName(), RootOid); err != nil {
		return nil, false, err
	}
	s = s.clone()
	o := c.temp.owner
	s.Temp = &o
	return s, false, c.Put(ctx, s)
}

func (s *Schema) clone() *Schema {
	x := *s
	return &x
}

// NoteOnCommit says that the transaction or a later one has something to do with a
// temporary table when it ends.
func (c *Collection) NoteOnCommit(t *Table) {
	if !slices.Contains(c.temp.onCommit, t.ID) {
		c.temp.onCommit = append(c.temp.onCommit, t.ID)
	}
}

// TempOnCommit lists the session's temporary tables of which the end of a transaction
// deletes the rows or that it drops, as they are now. It forgets those that are gone.
func (c *Collection) TempOnCommit() (out []*Table) {
	c.temp.onCommit = slices.DeleteFunc(c.temp.onCommit, func(id ID) bool {
		t, ok := c.peek(id).(*Table)
		if ok && t.OnCommit != PreserveRows {
			out = append(out, t)
		}
		return !ok && c.store.object(id) == nil
	})
	return out
}

// MayHaveTemp reports whether the session may have temporary tables.
func (c *Collection) MayHaveTemp() bool { return c.temp.used }

// Temporary reports whether a relation is temporary.
func (c *Collection) Temporary(t *Table) bool {
	s, ok := c.peek(t.Schema).(*Schema)
	return ok && s.Temp != nil
}

// CreationPath is SearchPath without the temporary schema, unless search_path names it:
// where new objects go.
func (c *Collection) CreationPath() []string {
	path := c.SearchPath()
	if c.temp.used && !slices.Contains(c.path.SearchPathSetting(), pgTemp) {
		path = path[1:]
	}
	return path
}

// withTemp puts the session's temporary schema on a search path: where the path names
// it, otherwise before everything.
func (c *Collection) withTemp(path []string) []string {
	name := c.tempName()
	i := slices.Index(path, pgTemp)
	if i < 0 {
		return append([]string{name}, path...)
	}
	path = slices.Clone(path)
	path[i] = name
	return path
}

// TempSchemas lists the temporary schemas of all sessions.
func (s *Store) TempSchemas() []*Schema {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*Schema
	for id := range s.schemas {
		if d, ok := s.objects[id].cur.Load().desc.(*Schema); ok && d.Temp != nil {
			out = append(out, d)
		}
	}
	return out
}

// Incarnations returns the present incarnation of each other node that serves SQL.
func (s *Store) Incarnations(ctx context.Context) (map[kvpb.NodeID]int64, error) {
	if s.gw == nil {
		return nil, nil
	}
	ms, err := s.gw.member.Members(ctx)
	if err != nil {
		return nil, err
	}
	incarnations := map[kvpb.NodeID]int64{}
	for _, m := range ms.All {
		incarnations[m.Node] = m.Incarnation
	}
	return incarnations, nil
}
