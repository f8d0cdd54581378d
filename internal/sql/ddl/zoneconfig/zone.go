package zoneconfig

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ConfigureZone is ALTER ... CONFIGURE ZONE. The record of the zone is written in
// the statement's transaction; who places replicas reads it from there. Its object
// is only pinned: traffic goes on, and nobody can drop it meanwhile.
func ConfigureZone(ctx context.Context, e *statement.Env, st *ast.ConfigureZone) (tag string, err error) {
	obj, err := FindZone(ctx, e.Coll, st.Target, st.Pos)
	if err != nil {
		if st.IfExists && pgerr.CodeOf(err) == pgerr.UndefinedTable {
			e.Skip(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Target.Source.Name.Table)
			return st.Tag() + " 0", nil
		}
		return "", err
	}
	// One change at a time: what one checks must not be undone by another.
	if _, err := e.Txn.Lock(ctx, keys.Zone(nil), lock.Update, lock.WaitBlock); err != nil {
		return "", err
	}
	spans, err := kv.ZoneSpans(ctx, e.Txn)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(spans, func(z zone.Span) bool { return bytes.Equal(z.Start, obj.Span.Start) })
	if st.Discard && i < 0 {
		return st.Tag() + " 0", nil
	}
	if st.Discard {
		spans = slices.Delete(spans, i, i+1)
	} else if spans, i, err = applyZone(ctx, e, st, &obj, spans, i); err != nil {
		return "", err
	}
	if err := CheckZones(ctx, e, &obj, spans); err != nil {
		return "", err
	}
	if st.Discard {
		return st.Tag() + " 1", WriteZone(ctx, e, obj.Span.Start, nil)
	}
	return st.Tag() + " 1", WriteZone(ctx, e, obj.Span.Start, &spans[i].Record)
}

// applyZone changes zone i of spans, or adds one, as the statement says.
func applyZone(
	ctx context.Context, e *statement.Env, st *ast.ConfigureZone, obj *KeyObject, spans []zone.Span, i int,
) ([]zone.Span, int, error) {
	z := zone.Span{Start: obj.Span.Start, Record: zone.Record{End: obj.Span.End, Kind: obj.Kind}}
	others := slices.Clone(spans)
	if i >= 0 {
		z = spans[i]
		others = slices.Delete(others, i, i+1)
	}
	set, err := zone.NewSet(others)
	if err != nil {
		return nil, 0, pgerr.From(err)
	}
	parent, _ := set.At(obj.Span.Start)
	var changed zone.Config
	seen := map[string]bool{}
	for _, s := range st.Settings {
		if seen[s.Name] {
			return nil, 0, pgerr.New(pgerr.SyntaxError, "zone variable \"%s\" is given twice", s.Name).At(s.Pos)
		}
		seen[s.Name] = true
		if err := setZoneVariable(&z.Config, &s, &parent); err != nil {
			return nil, 0, err
		}
		if err := changed.Copy(s.Name, &z.Config); err != nil {
			return nil, 0, pgerr.From(err)
		}
	}
	if err := CheckLocalities(ctx, e, &changed); err != nil {
		return nil, 0, err
	}
	return append(others, z), len(others), nil
}

func setZoneVariable(c *zone.Config, s *ast.ZoneSetting, parent *zone.Config) error {
	if s.Name == "global_reads" {
		return pgerr.Unsupported("zone variable \"global_reads\" is not supported").At(s.Pos)
	}
	if err := zone.Known(s.Name); err != nil {
		return pgerr.New(pgerr.UndefinedObject, "%v", err).At(s.Pos)
	}
	if s.Copy {
		return c.Copy(s.Name, parent)
	}
	text, err := ZoneText(s.Value)
	if err != nil {
		return err
	}
	if err := c.Set(s.Name, text); err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "%v", err).At(s.Value.Position())
	}
	return nil
}

// ZoneText returns the text of a constant.
func ZoneText(x ast.Expr) (string, error) {
	switch v := x.(type) {
	case *ast.StrLit:
		return v.Val, nil
	case *ast.IntLit:
		return strconv.FormatInt(v.Val, 10), nil
	case *ast.NumLit:
		return v.Text, nil
	case *ast.UnaryOp:
		text, err := ZoneText(v.X)
		return v.Op.Name + text, err
	}
	return "", pgerr.New(pgerr.SyntaxError, "the value of a zone variable must be a number or a string").At(x.Position())
}

// CheckZones validates the zone of obj and those inside it, with what they inherit.
func CheckZones(ctx context.Context, e *statement.Env, obj *KeyObject, spans []zone.Span) error {
	set, err := zone.NewSet(spans)
	if err != nil {
		return pgerr.From(err)
	}
	bad, err := set.Validate(obj.Span.Start, obj.Span.End)
	if err != nil {
		where := ""
		if !bytes.Equal(bad.Start, obj.Span.Start) {
			if o, ok, _ := ZoneObject(ctx, e.Coll, bad); ok {
				where = " of " + o.Name(ctx, e.Coll)
			}
		}
		return pgerr.New(pgerr.InvalidParameterValue, "the zone configuration%s would not be valid: %v", where, err)
	}
	return nil
}

// CheckLocalities refuses constraints that no node of the cluster meets: more
// likely than not they are misspelt.
func CheckLocalities(ctx context.Context, e *statement.Env, c *zone.Config) error {
	var required []zone.Constraint
	for _, list := range [][]zone.Conjunction{c.Constraints, c.VoterConstraints} {
		for _, x := range list {
			required = append(required, x.Constraints...)
		}
	}
	for _, p := range c.LeasePreferences {
		required = append(required, p...)
	}
	required = slices.DeleteFunc(required, func(x zone.Constraint) bool { return x.Prohibited })
	if e.Localities == nil || len(required) == 0 {
		return nil
	}
	nodes, err := e.Localities(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, n := range nodes {
		for _, tier := range strings.Split(n, ",") {
			known[strings.TrimSpace(tier)] = true
		}
	}
	for _, x := range required {
		if !known[x.Key+"="+x.Value] {
			return pgerr.New(pgerr.InvalidParameterValue, "constraint \"%s\" matches no node of the cluster", x).
				WithHint("Nodes are at: %s.", strings.Join(sortedKeys(known), " "))
		}
	}
	return nil
}

func sortedKeys(m map[string]bool) []string {
	var out []string
	for k := range m {
		if k != "" {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return []string{"no locality"}
	}
	slices.Sort(out)
	return out
}

// WriteZone stores the zone that begins at start, or removes it if r is nil.
func WriteZone(ctx context.Context, e *statement.Env, start []byte, r *zone.Record) error {
	key := keys.Zone(start)
	if _, err := e.Txn.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		return err
	}
	if r == nil {
		return e.Txn.Delete(key)
	}
	return e.Txn.Put(key, zone.Encode(r))
}

// RemoveZones removes the zones of objects that are dropped with their keys.
func RemoveZones(ctx context.Context, e *statement.Env, span keys.Span) error {
	zones, err := kv.ZoneSpansIn(ctx, e.Txn, keys.ZonesWithin(span))
	if err != nil {
		return err
	}
	for i := range zones {
		if err := WriteZone(ctx, e, zones[i].Start, nil); err != nil {
			return err
		}
	}
	return nil
}

// MoveZone gives the zone of an index to the index that replaces it.
func MoveZone(ctx context.Context, e *statement.Env, t *catalog.Table, from, to catalog.IndexID) error {
	old, fresh := IndexSpan(t, from), IndexSpan(t, to)
	zones, err := kv.ZoneSpansIn(ctx, e.Txn, keys.ZonesWithin(old))
	if err != nil {
		return err
	}
	for i := range zones {
		if !bytes.Equal(zones[i].Start, old.Start) {
			return pgerr.New(pgerr.DataCorrupted, "a zone lies inside an index")
		}
		if err := WriteZone(ctx, e, old.Start, nil); err != nil {
			return err
		}
		r := zones[i].Record
		r.End = fresh.End
		if err := WriteZone(ctx, e, fresh.Start, &r); err != nil {
			return err
		}
	}
	return nil
}

// ZoneSQL returns the statement that configures obj with the settings of c.
func ZoneSQL(name string, c *zone.Config) string {
	var lines []string
	for _, s := range c.Settings() {
		lines = append(lines, fmt.Sprintf("\t%s = %s", s.Name, s.Literal))
	}
	return "ALTER " + name + " CONFIGURE ZONE USING\n" + strings.Join(lines, ",\n")
}
