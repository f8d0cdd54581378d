package pgcatalog

import (
	"cmp"
	_ "embed" // for procs.txt
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// procsText lists PostgreSQL's functions, but those of types that do not exist here: oid and name; prokind,
// provolatile, proparallel and flags (S strict, R returns a set, L leakproof, P only
// superusers may call it); procost, prorows, provariadic, prorettype, proargtypes,
// proallargtypes, proargmodes, proargnames, pronargdefaults, prosrc (= for the name).
//
//go:embed procs.txt
var procsText string

// routine is a row of pg_proc: a function, an aggregate or a window function, or what
// a type is made of and SQL cannot call.
type routine struct {
	oid, schema uint32
	name        string
	kind        byte // prokind
	volatility  byte
	parallel    byte
	strict, set bool
	leakproof   bool
	restricted  bool // to superusers
	cost, rows  float64
	variadic    uint32
	ret         *types.T
	args        []*types.T // those of the input
	all         []*types.T // all, if any is not plain input
	modes       string     // of all
	names       []string   // of all, or of args
	defaults    int
	source      string
	overload    *call.Overload // nil if calls have another form, or none
	user        *catalog.Table // of one that a user has made, with its language and the name of its schema
	catalog     *Catalog       // which has it
	language    uint32
	schemaText  string
}

// routineList is pg_proc by what it is looked up by.
type routineList struct {
	all    []*routine // by oid
	byOid  map[uint32]*routine
	byName map[string][]*routine
}

var routines = sync.OnceValue(func() *routineList {
	l := &routineList{byOid: map[uint32]*routine{}, byName: map[string][]*routine{}}
	known := map[uint32]*routine{}
	for line := range strings.Lines(procsText) {
		r := parseRoutine(strings.Fields(line))
		known[r.oid] = r
	}
	for _, o := range builtin.All() {
		if !o.Operator {
			l.attach(known[o.Oid], o, 'f')
		}
	}
	for _, a := range builtin.AllAggregates() {
		l.attach(known[a.Oid], &a.Overload, 'a')
	}
	parts := partsOfTypes()
	for _, r := range known {
		if r.overload == nil && (parts[r.oid] || r.calledOtherwise() || r.estimates()) {
			l.add(r)
		}
	}
	slices.SortFunc(l.all, func(a, b *routine) int { return cmp.Compare(a.oid, b.oid) })
	return l
})

func (l *routineList) add(r *routine) {
	l.all = append(l.all, r)
	l.byOid[r.oid] = r
	l.byName[r.name] = append(l.byName[r.name], r)
}

// attach adds a function with its row, or one made for what PostgreSQL lacks.
func (l *routineList) attach(r *routine, o *call.Overload, kind byte) {
	switch {
	case r != nil:
		r.overload = o
		l.add(r)
	case o.Listed():
		l.add(ownRoutine(o, kind))
	}
}

// calledOtherwise reports whether calls of the routine, which has no overload of its own, mean
// something all the same.
func (r *routine) calledOtherwise() bool {
	switch r.kind {
	case 'w':
		return slices.Contains(planner.WindowFunctions(), r.name)
	case 'a':
		_, _, ok := r.orderedSet()
		return ok
	}
	return false
}

// estimates reports whether the routine estimates how many rows an operator leaves, which only operators have a use for.
func (r *routine) estimates() bool {
	return len(r.args) >= 4 && r.args[0].Oid == types.Internal.Oid && r.args[1].Oid == types.Oid.Oid && r.args[2].Oid == types.Internal.Oid && r.ret.Oid == types.Float8.Oid
}

// partsOfTypes are the functions that types, casts and text search are made of.
func partsOfTypes() map[uint32]bool {
	parts := map[uint32]bool{oidDomainIn: true, oidDomainRecv: true}
	add := func(s *typeSupport) { parts[s.in], parts[s.out], parts[s.recv], parts[s.send] = true, true, true, true }
	for _, t := range types.All() {
		s := supportOf(t)
		add(&s)
		mod := typmodFunctions(t)
		parts[mod[0]], parts[mod[1]], parts[subscriptOf(t)] = true, true, true
	}
	for _, s := range userSupport {
		add(&s)
	}
	for _, f := range builtin.FunctionsOfCasts() {
		parts[f.Oid] = true
	}
	for _, oid := range textSearchParts {
		parts[oid] = true
	}
	return parts
}

// parseRoutine reads a line of procs.txt.
func parseRoutine(f []string) *routine {
	r := &routine{
		oid: number(f[0]), schema: oidPgCatalog, name: f[1], kind: f[2][0], volatility: f[2][1], parallel: f[2][2],
		strict: strings.Contains(f[2][3:], "S"), set: strings.Contains(f[2][3:], "R"),
		leakproof: strings.Contains(f[2][3:], "L"), restricted: strings.Contains(f[2][3:], "P"),
		cost: float64(number(f[3])), rows: float64(number(f[4])), variadic: number(f[5]), ret: listedTypes(f[6])[0],
		args: listedTypes(f[7]), all: listedTypes(f[8]), defaults: int(number(f[11])), source: f[12],
	}
	if f[9] != "-" {
		r.modes = f[9]
	}
	if f[10] != "-" {
		r.names = strings.Split(f[10], ",")
	}
	if r.source == "=" {
		r.source = r.name
	}
	if builtin.SchemaOf(r.name) == nameInformationSchema {
		r.schema = oidInformationSchema
	}
	return r
}

func number(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	must.NoError(err, "procs.txt: number %q", s)
	return uint32(n)
}

func listedTypes(s string) []*types.T {
	if s == "-" {
		return nil
	}
	var list []*types.T
	for _, f := range strings.Split(s, ",") {
		t, ok := types.ByOid(number(f))
		must.True(ok, "procs.txt: no type %s", f)
		list = append(list, t)
	}
	return list
}

// ownRoutine is the row of a function that PostgreSQL does not have.
func ownRoutine(o *call.Overload, kind byte) *routine {
	r := &routine{
		oid: o.Oid, schema: oidPgCatalog, name: o.Name, kind: kind, volatility: "isv"[o.Volatility], parallel: 's',
		strict: o.Strict, set: o.IsSRF() && !o.OneRow, restricted: o.Restricted, cost: 1, ret: types.Record, args: o.Args, names: builtin.ArgNames(o),
		defaults: o.Defaults, source: o.Name, overload: o,
	}
	if o.Ret != nil {
		r.ret = o.Ret
	}
	if r.set {
		r.rows = 1000
	}
	if o.Variadic {
		r.variadic = o.Args[len(o.Args)-1].Oid
	}
	if len(o.OutNames) > 0 {
		declared := r.names
		r.names = nil
		for i, t := range o.Args {
			name := ""
			if i < len(declared) {
				name = declared[i]
			}
			r.all, r.names, r.modes = append(r.all, t), append(r.names, name), r.modes+"i"
		}
		for i, t := range o.OutTypes {
			r.all, r.names, r.modes = append(r.all, t), append(r.names, o.OutNames[i]), r.modes+"o"
		}
	}
	return r
}

func (r *routine) schemaName() string {
	switch {
	case r.schemaText != "":
		return r.schemaText
	case r.schema == oidInformationSchema:
		return nameInformationSchema
	}
	return namePgCatalog
}

// qualifiedName prints the name, with the schema if the name alone does not tell the routine
// from others.
func (r *routine) qualifiedName() string {
	if r.schema != oidPgCatalog || len(routines().byName[r.name]) > 1 {
		return r.schemaName() + "." + ast.QuoteIdent(r.name)
	}
	return ast.QuoteIdent(r.name)
}

// signature prints the name with the types of the arguments.
func (r *routine) signature() string {
	name := ast.QuoteIdent(r.name)
	if r.schema != oidPgCatalog {
		name = r.schemaName() + "." + name
	}
	return name + "(" + strings.Join(typeNames(r.args), ",") + ")"
}

func typeNames(list []*types.T) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.SQLName
	}
	return names
}

// parameter is an argument or a column of the result.
type parameter struct {
	t    *types.T
	name string
	mode byte // as in proargmodes
	// defaultText prints the value that it has if it is left out, "" for none.
	defaultText string
}

// parameters lists all of a routine's.
func (r *routine) parameters() []parameter {
	list := r.all
	if list == nil {
		list = r.args
	}
	out := make([]parameter, len(list))
	in := 0
	for i, t := range list {
		p := parameter{t: t, mode: 'i'}
		if r.modes != "" {
			p.mode = r.modes[i]
		}
		if i < len(r.names) {
			p.name = r.names[i]
		}
		if p.mode != 'o' && p.mode != 't' {
			if r.modes == "" && r.variadic != 0 && i == len(list)-1 {
				p.mode = 'v'
			}
			p.defaultText = r.defaultText(in)
			in++
		}
		out[i] = p
	}
	return out
}

// defaultText prints the default of an input argument.
func (r *routine) defaultText(i int) string {
	if r.user != nil {
		return r.userDefault(i)
	}
	d := i - (len(r.args) - r.defaults)
	if d < 0 || r.overload == nil || d >= len(r.overload.DefaultArgs) {
		return ""
	}
	return defaultText(r.args[i], r.overload.DefaultArgs[d])
}

// defaultList prints the defaults, as pg_get_expr shows proargdefaults.
func (r *routine) defaultList() string {
	var list []string
	for i := range r.args {
		if d := r.defaultText(i); d != "" {
			list = append(list, d)
		}
	}
	return strings.Join(list, ", ")
}

// text prints a parameter as in a definition.
func (p *parameter) text(defaults bool) string {
	s := p.t.SQLName
	if p.name != "" {
		s = ast.QuoteIdent(p.name) + " " + s
	}
	switch p.mode {
	case 'v':
		s = "VARIADIC " + s
	case 'o':
		s = "OUT " + s
	case 'b':
		s = "INOUT " + s
	}
	if defaults && p.defaultText != "" {
		s += " DEFAULT " + p.defaultText
	}
	return s
}

// orderedSet describes an aggregate that is called with WITHIN GROUP: aggkind, and how
// many arguments stand before it.
func (r *routine) orderedSet() (kind byte, direct int, ok bool) {
	if r.kind != 'a' || r.user != nil {
		return 0, 0, false
	}
	_, hypothetical, ok := aggfuncs.OrderedSet(r.name)
	switch {
	case hypothetical:
		return 'h', 1, true
	case r.name == "mode":
		return 'o', 0, true
	}
	return 'o', 1, ok
}

// arguments prints the arguments, with or without their defaults.
func (r *routine) arguments(defaults bool) string {
	var parts []string
	for _, p := range r.parameters() {
		if p.mode != 't' {
			text := p.text(defaults)
			if r.kind == 'p' && p.mode == 'i' {
				text = "IN " + text
			}
			parts = append(parts, text)
		}
	}
	kind, direct, ok := r.orderedSet()
	if !ok {
		return strings.Join(parts, ", ")
	}
	ordered := parts[direct:]
	if kind == 'h' { // the ordered arguments are like the direct ones
		ordered = parts
	}
	return strings.TrimLeft(strings.Join(parts[:direct], ", ")+" ORDER BY "+strings.Join(ordered, ", "), " ")
}

// result prints what the routine returns.
func (r *routine) result() string {
	var columns []string
	for _, p := range r.parameters() {
		if p.mode == 't' {
			columns = append(columns, p.text(false))
		}
	}
	switch {
	case columns != nil:
		return "TABLE(" + strings.Join(columns, ", ") + ")"
	case r.set:
		return "SETOF " + r.ret.SQLName
	}
	return r.ret.SQLName
}

// definition prints the routine as pg_get_functiondef does: its code is a name of this
// system's.
func (r *routine) definition() string {
	if r.user != nil {
		return r.userDefinition()
	}
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + namePgCatalog + "." + ast.QuoteIdent(r.name) + "(" + r.arguments(true) + ")\n")
	b.WriteString(" RETURNS " + r.result() + "\n LANGUAGE internal\n")
	if a := r.attributes(1); a != "" {
		b.WriteString(a + "\n")
	}
	b.WriteString("AS $function$" + r.source + "$function$\n")
	return b.String()
}

// attributes prints what is not as it is by default; cost is the usual one.
func (r *routine) attributes(cost float64) string {
	var attributes strings.Builder
	for _, w := range []struct {
		text string
		on   bool
	}{
		{" WINDOW", r.kind == 'w'}, {" IMMUTABLE", r.volatility == 'i'}, {" STABLE", r.volatility == 's'},
		{" PARALLEL SAFE", r.parallel == 's'}, {" PARALLEL RESTRICTED", r.parallel == 'r'}, {" STRICT", r.strict},
		{" SECURITY DEFINER", r.user != nil && r.user.Routine.Definer},
		{" LEAKPROOF", r.leakproof}, {" COST " + formatCost(r.cost), r.cost != cost},
		{" ROWS " + formatCost(r.rows), r.rows != 0 && r.rows != 1000},
	} {
		if w.on {
			attributes.WriteString(w.text)
		}
	}
	return attributes.String()
}

func formatCost(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
