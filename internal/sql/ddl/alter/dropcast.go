package alter

import (
	"cmp"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/types"
)

// droppedCast is a cast that goes with its function.
type droppedCast struct {
	typ      catalog.ID // that has it
	oid      uint32
	text, on string
}

// CastReaders describes what of the database has a stored text that uses a cast.
func CastReaders(ctx context.Context, e *statement.Env, oid uint32) ([]string, error) {
	all, err := e.TablesOf(ctx, e.Coll.CurrentDatabase().ID)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range all {
		out = append(out, readersIn(ctx, e, o, usesCast(ctx, e, o, func(c *types.CastDef) bool { return c.Oid == oid }))...)
	}
	return out, nil
}

// usesCast returns a test whether a stored text of o uses a cast for which is holds: which one is implied does not stand there.
func usesCast(ctx context.Context, e *statement.Env, o *catalog.Table, is func(*types.CastDef) bool) func(string) bool {
	found := map[string]bool{}
	_ = storedtext.EachStored(o.Clone(), func(s storedtext.Text) (string, error) {
		if _, notes, err := understand(ctx, e, s); err == nil { // what can't be read any more uses nothing
			for _, c := range notes.DeclaredCasts {
				found[s.Text] = found[s.Text] || is(c)
			}
		}
		return s.Text, nil
	})
	return func(text string) bool { return found[text] }
}

// RemoveCasts takes those casts out of the locked type t for which gone holds.
func RemoveCasts(ctx context.Context, e *statement.Env, t *catalog.Table, gone func(types.CastDef) bool) error {
	def := *t.UserType.Def
	def.Casts = slices.DeleteFunc(slices.Clone(def.Casts), gone)
	return RedefineType(ctx, e, t, &def)
}

// castsWith notes the casts that call the routine t, which is dropped, and what uses them.
func (d *dropper) castsWith(ctx context.Context, t *catalog.Table, on string) error {
	calls := func(c *types.CastDef) bool { return c.Function != nil && c.Function.ID == uint64(t.ID) }
	found := false
	for _, o := range d.all {
		if o.Kind != catalog.KindType {
			continue
		}
		for i := range o.UserType.Def.Casts {
			c := &o.UserType.Def.Casts[i]
			if !calls(c) {
				continue
			}
			found = true
			if !d.in[o.ID] && !slices.ContainsFunc(d.castsGone, func(x droppedCast) bool { return x.oid == c.Oid }) {
				d.castsGone = append(d.castsGone, droppedCast{o.ID, c.Oid, castText(ctx, d.e, c), on})
			}
		}
	}
	if !found {
		return nil
	}
	return d.callersThat(ctx, func(o *catalog.Table) func(string) bool { return usesCast(ctx, d.e, o, calls) }, on)
}

// castsReported names the casts that were noted, and says what they depend on.
func (d *dropper) castsReported() (names, details []string) {
	for _, x := range d.castsGone {
		if !d.in[x.typ] && !slices.Contains(d.also, x.text) {
			names = append(names, x.text)
			details = append(details, x.text+" depends on "+x.on)
		}
	}
	return names, details
}

// dropCasts drops the casts that were noted.
func (d *dropper) dropCasts(ctx context.Context) error {
	for _, x := range d.castsGone {
		if d.in[x.typ] {
			continue
		}
		t, err := d.e.LockByID(ctx, x.typ)
		if err != nil {
			return err
		}
		if err := RemoveCasts(ctx, d.e, t, func(c types.CastDef) bool { return c.Oid == x.oid }); err != nil {
			return err
		}
	}
	return nil
}

// castText is what messages call a cast.
func castText(ctx context.Context, e *statement.Env, c *types.CastDef) string {
	name := func(oid uint32) string {
		if t, ok := types.ByOid(oid); ok {
			return t.SQLName
		}
		if t := e.Coll.PeekTypeByOid(ctx, oid); t != nil {
			return TypeName(ctx, e, t)
		}
		return "-"
	}
	return statement.CastName(name(c.From), name(c.To))
}

// castsOf lists the casts that go with the type that t defines: those that it keeps, and those of other types to or from it.
func castsOf(ctx context.Context, e *statement.Env, t *catalog.Table) ([]typeDependent, error) {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	type kept struct {
		in catalog.ID
		c  *types.CastDef
	}
	var list []kept
	for _, o := range all {
		if o.Kind != catalog.KindType {
			continue
		}
		for i := range o.UserType.Def.Casts {
			if c := &o.UserType.Def.Casts[i]; o.ID == t.ID || castBetween(c, t) {
				list = append(list, kept{o.ID, c})
			}
		}
	}
	slices.SortFunc(list, func(a, b kept) int { return cmp.Compare(a.c.Oid, b.c.Oid) })
	on := "type " + TypeName(ctx, e, t.UserType)
	var out []typeDependent
	for _, k := range list {
		out = append(out, typeDependent{k.in, castText(ctx, e, k.c), on})
	}
	return out, nil
}

// castBetween reports whether a cast is to or from the type that t defines, or arrays of it.
func castBetween(c *types.CastDef, t *catalog.Table) bool {
	array := t.UserType.Def.ArrayOid
	return c.From == t.Oid || c.To == t.Oid || array != 0 && (c.From == array || c.To == array)
}

// removeCastsOf takes the casts to and from a type that is dropped out of other types.
func removeCastsOf(ctx context.Context, e *statement.Env, t *catalog.Table, gone map[catalog.ID]bool) error {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return err
	}
	of := func(c types.CastDef) bool { return castBetween(&c, t) }
	for _, o := range all {
		if o.Kind != catalog.KindType || o.ID == t.ID || gone[o.ID] || !slices.ContainsFunc(o.UserType.Def.Casts, of) {
			continue
		}
		o, err := e.LockByID(ctx, o.ID)
		if err != nil {
			return err
		}
		if err := RemoveCasts(ctx, e, o, of); err != nil {
			return err
		}
	}
	return nil
}
