package pgcatalog

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// castByOid returns the cast of a user with an oid, nil if there is none.
func (s *snapshot) castByOid(oid uint32) *types.CastDef {
	if t := s.ownerOf(oid); t != nil && t.Kind == catalog.KindType {
		for i := range t.UserType.Def.Casts {
			if c := &t.UserType.Def.Casts[i]; c.Oid == oid {
				return c
			}
		}
	}
	return nil
}

// describeCast describes a cast of a user's.
func (s *snapshot) describeCast(oid uint32) (call.ObjectName, bool) {
	c := s.castByOid(oid)
	if c == nil {
		return call.ObjectName{}, false
	}
	from, _ := s.describeType(c.From)
	to, _ := s.describeType(c.To)
	return call.ObjectName{
		Kind: "cast", Identity: "(" + from.Identity + " AS " + to.Identity + ")",
		Text: "cast from " + s.c.typeText(c.From) + " to " + s.c.typeText(c.To),
	}, true
}

// typeText is what format_type makes of a type.
func (c *Catalog) typeText(oid uint32) string {
	if t, ok := c.TypeByOid(oid); ok {
		return types.FormatType(t)
	}
	return "???"
}

// castAddress are the names by which an address means a cast.
func (s *snapshot) castAddress(oid uint32) (names, args []string) {
	c := s.castByOid(oid)
	if c == nil {
		return nil, nil
	}
	from, _ := s.describeType(c.From)
	to, _ := s.describeType(c.To)
	return []string{from.Identity}, []string{to.Identity}
}

// castAt finds a cast by its types.
func (c *Catalog) castAt(a call.ObjectAddress) (uint32, error) {
	if len(a.Args) != 1 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "argument list length must be exactly %d", 1)
	}
	var of [2]uint32
	for i, name := range [...]string{a.Names[0], a.Args[0]} {
		var err error
		if of[i], err = c.typeOid(name); err != nil {
			return 0, err
		}
	}
	columns, rows, err := c.RelationRows("pg_cast")
	if err != nil {
		return 0, err
	}
	at := map[string]int{}
	for i, name := range columns {
		at[name] = i
	}
	for _, r := range rows {
		if uint32(r[at["castsource"]].Int()) == of[0] && uint32(r[at["casttarget"]].Int()) == of[1] {
			return uint32(r[at["oid"]].Int()), nil
		}
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "cast from type %s to type %s does not exist", c.typeText(of[0]), c.typeText(of[1]))
}
