package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The languages of routines.
const (
	LanguageSQL     = "sql"
	LanguagePLpgSQL = "plpgsql"
)

// Routine is a user-defined function or procedure.
type Routine struct {
	Procedure  bool `json:",omitempty"`
	Language   string
	Params     []RoutineParam // as declared, with outputs and the columns of RETURNS TABLE
	Returns    *types.T       // void for procedures; record for several outputs
	Set        bool           `json:",omitempty"`
	Volatility byte           // 'i', 's', 'v'
	Strict     bool           `json:",omitempty"`
	Leakproof  bool           `json:",omitempty"`
	Parallel   byte           // 's', 'r', 'u'
	// Definer is SECURITY DEFINER: the body has the privileges of the routine's owner.
	Definer bool `json:",omitempty"`
	Cost    float64
	Rows    float64 `json:",omitempty"` // of a set
	// Body is the text of the body: as written, or if Standard what RETURN or BEGIN ATOMIC stand before.
	Body     string
	Standard bool `json:",omitempty"`
	// Settings are those of the SET clauses.
	Settings []Setting `json:",omitempty"`
	// Uses are the relations that a standard body reads or writes, and the routines that it or an aggregate calls:
	// dropping one of them needs CASCADE.
	Uses []ID `json:",omitempty"`
	// Aggregate is what an aggregate computes with; nil for other routines. It has no body and no language.
	Aggregate *Aggregate `json:",omitempty"`
	// Operator is what an operator is beside its operands and its result; nil for other routines. It has no body and no language.
	Operator *Operator `json:",omitempty"`

	overload *call.Overload
}

// RoutineParam is a parameter of a routine.
type RoutineParam struct {
	Mode    byte // as in pg_proc.proargmodes
	Name    string
	Type    *types.T
	Default string `json:",omitempty"` // SQL text, "" for none
}

// Input reports whether calls give the parameter a value.
func (p *RoutineParam) Input() bool {
	return p.Mode == ast.ParamIn || p.Mode == ast.ParamInOut || p.Mode == ast.ParamVariadic
}

// Output reports whether the parameter is part of the result.
func (p *RoutineParam) Output() bool {
	return p.Mode == ast.ParamOut || p.Mode == ast.ParamInOut || p.Mode == ast.ParamTable
}

// Inputs returns the parameters that calls give values.
func (r *Routine) Inputs() []RoutineParam { return r.params((*RoutineParam).Input) }

// Outputs returns the parameters that are the result.
func (r *Routine) Outputs() []RoutineParam { return r.params((*RoutineParam).Output) }

func (r *Routine) params(is func(*RoutineParam) bool) (list []RoutineParam) {
	for i := range r.Params {
		if is(&r.Params[i]) {
			list = append(list, r.Params[i])
		}
	}
	return list
}

// IdentityTypes returns the types of the inputs: they tell routines of one name apart.
func (r *Routine) IdentityTypes() []*types.T { return r.types((*RoutineParam).Input) }

// ParamTypes returns the types of all parameters but the columns of a table: DROP PROCEDURE may name a procedure by them.
func (r *Routine) ParamTypes() []*types.T {
	return r.types(func(p *RoutineParam) bool { return p.Mode != ast.ParamTable })
}

func (r *Routine) types(is func(*RoutineParam) bool) (list []*types.T) {
	for i := range r.Params {
		if is(&r.Params[i]) {
			list = append(list, r.Params[i].Type)
		}
	}
	return list
}

// Trigger reports whether the routine is a trigger function.
func (r *Routine) Trigger() bool { return r.Returns.Oid == types.Trigger.Oid }

// EventTrigger reports whether the routine is a function of event triggers.
func (r *Routine) EventTrigger() bool { return r.Returns.Oid == types.EventTrigger.Oid }

// routinePrefix begins the names of routines, which have a name space of their own.
const routinePrefix = "function\x00"

// RoutineName is under what name a routine is found in its schema.
func RoutineName(name string, ts []*types.T) string {
	var b strings.Builder
	b.WriteString(routinePrefix + name + "\x00")
	for i, t := range ts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(t.Oid), 10))
	}
	return b.String()
}

// routineNamed returns the bare name in what RoutineName returned.
func routineNamed(stored string) (string, bool) {
	rest, ok := strings.CutPrefix(stored, routinePrefix)
	if !ok {
		rest, ok = strings.CutPrefix(stored, operatorPrefix)
	}
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "\x00")
	return name, true
}

// RoutineFinder is a Resolver that knows user-defined routines.
type RoutineFinder interface {
	// FindRoutines returns the routines of a name, those of schemas that are searched first before others. An empty schema means
	// the search path. Those that others of the same signature hide are left out.
	FindRoutines(ctx context.Context, schema, name string) ([]*Table, error)
}

// namedRoutine is a key of Store.routines.
type namedRoutine struct {
	database ID
	name     string
}

// noteRoutine adds a routine to those of its name, or takes it out.
func (s *Store) noteRoutine(d Descriptor, add bool) {
	t, ok := d.(*Table)
	if !ok || t.Kind != KindRoutine {
		return
	}
	k := namedRoutine{t.Database, t.Name}
	list := slices.DeleteFunc(slices.Clone(s.routines[k]), func(id ID) bool { return id == t.ID })
	if add {
		list = append(list, t.ID)
	}
	if s.routines[k] = list; len(list) == 0 {
		delete(s.routines, k)
	}
}

// routinesNamed returns the ids of the committed routines of a name, which never change in place.
func (s *Store) routinesNamed(db ID, name string) []ID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.routines[namedRoutine{db, name}]
}

// FindRoutines implements RoutineFinder.
func (c *Collection) FindRoutines(ctx context.Context, schema, name string) ([]*Table, error) {
	return c.findRoutines(ctx, schema, name, false)
}

// findRoutines is FindRoutines, or with operators FindOperators.
func (c *Collection) findRoutines(ctx context.Context, schema, name string, operators bool) ([]*Table, error) {
	ids := c.store.routinesNamed(c.db.ID, name)
	if c.changes != nil {
		ids = c.changes.routinesNamed(ids, name)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	schemas, err := c.schemasFor(ctx, schema)
	if err != nil {
		return nil, err
	}
	var list []*Table
	seen := map[string]bool{}
	found, err := c.routinesOf(ctx, ids, name)
	if err != nil {
		return nil, err
	}
	for _, s := range schemas {
		for _, t := range found {
			if t.Schema == s.ID && t.OwnOperator() == operators && !seen[t.StoredName()] {
				seen[t.StoredName()] = true
				list = append(list, t)
			}
		}
	}
	return list, nil
}

// routinesOf returns those of some descriptors that are routines of a name, pinned.
func (c *Collection) routinesOf(ctx context.Context, ids []ID, name string) ([]*Table, error) {
	var list []*Table
	for _, id := range ids {
		d, err := c.get(ctx, id)
		if err != nil {
			return nil, err
		}
		if t, ok := d.(*Table); ok && t.Kind == KindRoutine && t.Name == name {
			list = append(list, t)
		}
	}
	return list, nil
}

// routinesNamed adds the changed routines of a name to ids.
func (ch *changes) routinesNamed(ids []ID, name string) []ID {
	ids = slices.Clip(ids)
	for id, d := range ch.descs {
		if t, ok := d.(*Table); ok && t.Kind == KindRoutine && t.Name == name && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// supersedeRoutines gives the routines that share a name with one that has come, gone or moved, whose
// stored name is k, a new version: plans that call one of them may mean another now.
func (s *Store) supersedeRoutines(k NameKey) {
	name, ok := routineNamed(k.Name)
	if !ok {
		return
	}
	for _, id := range s.routines[namedRoutine{k.Database, name}] {
		s.supersede(id)
	}
}

// Overload is how calls see a routine.
func (t *Table) Overload() *call.Overload { return t.Routine.overload }

var volatilities = map[byte]call.Volatility{'i': call.Immutable, 's': call.Stable, 'v': call.Volatile}

// makeOverload makes what calls of the routine that t describes see.
func (t *Table) makeOverload() *call.Overload {
	r := t.Routine
	o := &call.Overload{Oid: t.Oid, Name: t.Name, Ret: valueType(r.Returns), Strict: r.Strict, Volatility: volatilities[r.Volatility], Leakproof: r.Leakproof, Routine: t}
	in := r.Inputs()
	if r.Procedure {
		in = r.Params
	}
	for _, p := range in {
		a := valueType(p.Type)
		if p.Mode == ast.ParamVariadic {
			o.Variadic = true
			if a.Elem != nil {
				a = a.Elem
			} else if a.Oid == types.AnyArray.Oid {
				a = types.AnyElement
			}
		}
		o.Args, o.ArgNames = append(o.Args, a), append(o.ArgNames, p.Name)
		if p.Default != "" {
			o.Defaults++
			o.DefaultTexts = append(o.DefaultTexts, p.Default)
		}
	}
	switch {
	case r.Operator != nil: // the planner calls the function instead
		o.Operator = true
		return o
	case r.Aggregate != nil: // the planner makes what a call does: see call.StateAggregate
		return o
	}
	out := r.Outputs()
	if len(out) > 1 && r.Returns.Oid == types.Record.Oid && !r.Procedure {
		o.Ret = outputRow(out)
	}
	if r.Set {
		for _, p := range out {
			o.OutNames, o.OutTypes = append(o.OutNames, p.Name), append(o.OutTypes, valueType(p.Type))
		}
	}
	t.bindOverload(o)
	return o
}

// bindOverload sets what a call does.
func (t *Table) bindOverload(o *call.Overload) {
	anyRecord := t.Routine.Returns.Oid == types.Record.Oid && len(t.Routine.Outputs()) < 2
	ofRow := func(row *types.T) call.SRFFunc { return call.RoutineRows(&call.RoutineCall{Fn: o, Row: row}) }
	switch {
	case t.Routine.Set && anyRecord && len(o.OutTypes) == 0:
		o.RecordSRF = ofRow
	case t.Routine.Set:
		o.BindSRF = func(b call.Binding) (call.SRFFunc, error) {
			return call.RoutineRows(&call.RoutineCall{Fn: o, Types: b.Types}), nil
		}
	default:
		if anyRecord {
			o.ListSRF = ofRow
		}
		o.Bind = func(b call.Binding) (call.EvalFunc, error) {
			return call.RoutineValue(&call.RoutineCall{Fn: o, Types: b.Types}), nil
		}
	}
}

// valueType is the type of a parameter's values as expressions have it: a domain stands beside the
// type below it.
func valueType(t *types.T) *types.T {
	if t.OfDomain() {
		return t.BaseType().WithDomain(t)
	}
	return t.WithTypmod(-1)
}

// outputRow is the type of the row that several outputs make.
func outputRow(out []RoutineParam) *types.T {
	fields := make([]types.FieldDef, len(out))
	for i, p := range out {
		name := p.Name
		if name == "" {
			name = "column" + strconv.Itoa(i+1)
		}
		fields[i] = types.FieldDef{Name: name, Type: valueType(p.Type)}
	}
	return types.NewRowType(fields)
}

// routineRecord is a stored Routine, whose types are written by oid.
type routineRecord struct {
	Routine
	Params    []routineParamRecord
	Returns   typeRecord
	Aggregate *aggregateRecord `json:",omitempty"`
}

type routineParamRecord struct {
	RoutineParam
	Type typeRecord
}

func encodeRoutine(r *Routine) *routineRecord {
	if r == nil {
		return nil
	}
	rec := &routineRecord{Routine: *r, Returns: encodeType(r.Returns), Aggregate: encodeAggregate(r.Aggregate)}
	for _, p := range r.Params {
		rec.Params = append(rec.Params, routineParamRecord{p, encodeType(p.Type)})
	}
	return rec
}

func decodeRoutine(id ID, rec *routineRecord) (*Routine, error) {
	if rec == nil {
		return nil, nil
	}
	r := rec.Routine
	var err error
	if r.Returns, err = decodeType(id, rec.Returns, 0); err != nil {
		return nil, err
	}
	if r.Aggregate, err = decodeAggregate(id, rec.Aggregate); err != nil {
		return nil, err
	}
	r.Params = nil
	for _, p := range rec.Params {
		if p.RoutineParam.Type, err = decodeType(id, p.Type, 0); err != nil {
			return nil, err
		}
		r.Params = append(r.Params, p.RoutineParam)
	}
	return &r, nil
}
