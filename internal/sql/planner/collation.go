package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/typefuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// strength says how an expression came by its collation; the stronger one prevails.
type strength uint8

const (
	noCollation strength = iota
	implicitCollation
	conflictingCollations // implicit ones
	explicitCollation
)

// collation is what is derived for an expression, by the rules of PostgreSQL's chapter
// 24.2.1.
type collation struct {
	strength strength
	is       *types.Collation // nil without one
	pos      int              // of what it comes from
	// Two collations conflict: the other one, where that comes from, and for explicit
	// ones the error.
	other    *types.Collation
	otherPos int
	err      error
}

// merge combines the collation of one more operand into c.
func (c *collation) merge(d collation) {
	switch {
	case c.err != nil:
	case d.err != nil:
		c.err = d.err
	case d.strength > c.strength:
		*c = d
	case d.strength < c.strength || d.strength == noCollation || d.strength == conflictingCollations:
	case d.is.Oid == c.is.Oid:
	case d.strength == explicitCollation:
		c.err = pgerr.New(pgerr.CollationMismatch, "collation mismatch between explicit collations \"%s\" and \"%s\"", c.is.Name, d.is.Name).At(d.pos)
	case c.is.Oid == types.DefaultCollation.Oid: // any other one prevails
		*c = d
	case d.is.Oid != types.DefaultCollation.Oid:
		c.strength, c.other, c.otherPos = conflictingCollations, d.is, d.pos
	}
}

// typeCollation is the collation of something that takes it from its type.
func typeCollation(t *types.T, pos int) collation {
	if is := t.Collation(); is != nil && is.Oid != 0 {
		return collation{strength: implicitCollation, is: is, pos: pos}
	}
	return collation{}
}

// collationOf derives the collation of an expression.
func collationOf(x plan.Expr) collation {
	var from []plan.Expr
	switch x := x.(type) {
	case *plan.ColRef:
		return typeCollation(x.T, x.Pos)
	case *plan.Cast:
		if x.Mode == plan.CastCollate {
			return collation{strength: explicitCollation, is: x.T.Collation(), pos: x.Pos, err: collationOf(x.Arg).err}
		}
		if x.Mode == plan.CastExplicit && x.T.Declared() != nil { // a domain's
			return typeCollation(x.T, 0)
		}
		from = []plan.Expr{x.Arg}
	case *plan.Call:
		from = x.Args
	case *plan.Subquery:
		if c := x.T.Collation(); c != nil && c.Oid == 0 { // its own query could not tell
			return collation{strength: conflictingCollations, is: c, other: c}
		}
	case *plan.Coalesce:
		from = x.Args
	case *plan.MinMax:
		from = x.Args
	case *plan.NullIf:
		from = []plan.Expr{x.Left}
	case *plan.ArrayCtor:
		from = x.Elems
	case *plan.Subscript:
		from = []plan.Expr{x.Arg}
	case *plan.Case:
		for i := range x.Whens {
			from = append(from, x.Whens[i].Result)
		}
		if x.Else != nil {
			from = append(from, x.Else)
		}
	}
	c := collationOfAll(from)
	switch t := x.Type(); {
	case !t.Collatable():
		return collation{err: c.err}
	case c.strength == noCollation:
		d := typeCollation(t, 0)
		d.err = c.err
		return d
	}
	return c
}

func collationOfAll(list []plan.Expr) (c collation) {
	for _, x := range list {
		c.merge(collationOf(x))
	}
	return c
}

// outType is the type of a column that holds x, with its collation.
func outType(x plan.Expr) *types.T {
	t := x.Type()
	if _, ok := x.(*plan.ColRef); ok || !t.Collatable() || isUnknown(t) {
		return t
	}
	c := collationOf(x)
	return c.of(t)
}

// of returns t with the collation c, or with none if c is not known.
func (c *collation) of(t *types.T) *types.T {
	switch {
	case !t.Collatable():
		return t
	case c.strength == conflictingCollations || c.is == nil:
		return t.WithCollation(types.NoCollation)
	}
	return t.WithCollation(c.is)
}

// given is x with the collation c, which it does not show by itself.
func (c *collation) given(x plan.Expr) plan.Expr {
	t := x.Type()
	if c.is == nil || !t.Collatable() || c.strength == conflictingCollations {
		return x
	}
	mode := plan.CastExplicit
	if c.strength == explicitCollation {
		mode = plan.CastCollate
	} else if d := collationOf(x); d.is != nil && d.is.Oid == c.is.Oid {
		return x
	}
	return &plan.Cast{Arg: x, T: t.WithCollation(c.is), Mode: mode, Pos: c.pos}
}

// decided fails unless it is clear which collation an operation is to use; what names
// the operation.
func (c *collation) decided(what string) error {
	switch {
	case c.err != nil:
		return c.err
	case c.strength == conflictingCollations || c.strength == noCollation:
		return pgerr.UndecidedCollation(what)
	}
	return nil
}

// sortable fails if there are several collations that a query could sort or group by.
func (c *collation) sortable() error {
	if c.err == nil && c.strength == conflictingCollations && c.is.Oid != 0 && c.other.Oid != 0 {
		return pgerr.New(pgerr.CollationMismatch, "collation mismatch between implicit collations \"%s\" and \"%s\"", c.is.Name, c.other.Name).
			WithHint("You can choose the collation by applying the COLLATE clause to one or both expressions.").At(c.otherPos)
	}
	return c.decided("string comparison")
}

// collate plans X COLLATE name.
func (b *builder) collate(e *ast.Collate, s *scope) (plan.Expr, error) {
	x, err := b.typed(e.X, s)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if !t.Collatable() {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", t.SQLName).At(e.Pos)
	}
	c, d, err := FindCollation(b.ctx, e.Name, b.env.Catalog)
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	if d != nil {
		b.noteTable(d)
	}
	b.explicitCollations = true
	return &plan.Cast{Arg: uncollated(x), T: t.WithCollation(c), Mode: plan.CastCollate, Pos: e.Pos}, nil
}

// uncollated strips a COLLATE clause, which changes no value.
func uncollated(x plan.Expr) plan.Expr {
	if c, ok := x.(*plan.Cast); ok && c.Mode == plan.CastCollate {
		return c.Arg
	}
	return x
}

// collationFor plans COLLATION FOR (x).
func (b *builder) collationFor(x plan.Expr) (plan.Expr, error) {
	t := x.Type()
	switch c := collationOf(x); {
	case isUnknown(t):
	case !t.Collatable():
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", t.SQLName)
	case c.err != nil:
		return nil, c.err
	case c.strength == implicitCollation || c.strength == explicitCollation:
		return &plan.Cast{Arg: plan.NewConst(types.Regcollation, types.NewInt(int64(c.is.Oid))), T: types.Text, Mode: plan.CastExplicit}, nil
	}
	return plan.NewNull(types.Text), nil
}

// FindCollation resolves the name of a collation; the descriptor is that of a user-defined
// one, else nil. A locale without the decoration of PostgreSQL's names ("de", "de_DE") is
// taken for the collation of that locale.
func FindCollation(ctx context.Context, names []ast.Name, cat any) (*types.Collation, *catalog.Table, error) {
	schema, name := "", names[len(names)-1]
	if len(names) > 1 {
		schema = names[len(names)-2]
	}
	if finder, ok := cat.(catalog.CollationFinder); ok {
		d, err := finder.FindCollation(ctx, schema, name)
		if err != nil {
			return nil, nil, err
		}
		if d != nil {
			return d.Collation.Type(d), d, nil
		}
	}
	if schema == "" || schema == "pg_catalog" {
		if c := types.CollationByName(name); c != nil {
			return c, nil, nil
		}
	}
	if schema == "" {
		if c := types.CollationByLocale(name); c != nil {
			return c, nil, nil
		}
	}
	err := types.UndefinedCollation(strings.Join(names, "."))
	if locale := strings.ReplaceAll(name, "_", "-"); strings.Contains(locale, "-u-") {
		err = err.WithHint("Make it: CREATE COLLATION %s (provider = icu, locale = '%s', deterministic = false).", ast.QuoteIdent(name), locale)
	}
	return nil, nil, err
}

// sortKeyOf is the call that computes the key by which values of x order under c: bytes,
// or arrays of them.
func sortKeyOf(x plan.Expr, c *types.Collation) plan.Expr {
	fn := builtin.Functions("collation_key")[0]
	x = uncollated(x)
	return &plan.Call{Fn: fn, T: fn.RetType([]*types.T{x.Type()}), Args: []plan.Expr{
		x, plan.NewConst(types.Text, types.NewString(c.Locale)), plan.NewConst(types.Bool, types.NewBool(!c.Nondeterministic)),
	}}
}

// hasSortKey reports whether x is a sort key, or a row with one.
func hasSortKey(x plan.Expr) bool {
	switch x := x.(type) {
	case *plan.Call:
		return x.Fn.Name == "collation_key"
	case *plan.RowCtor:
		return slices.ContainsFunc(x.Fields, hasSortKey)
	}
	return false
}

// ordering returns what orders as x does under its collation: x itself if that is the order of
// its values, else their sort keys.
func (b *builder) ordering(x plan.Expr) (plan.Expr, error) { return byCollation(x, false) }

// identity returns what is equal where x is under its collation: x itself, or the sort keys
// if the collation is nondeterministic.
func (b *builder) identity(x plan.Expr) (plan.Expr, error) { return byCollation(x, true) }

func byCollation(x plan.Expr, equality bool) (plan.Expr, error) {
	t := x.Type()
	if r, ok := x.(*plan.RowCtor); ok {
		return rowByCollation(r, equality)
	}
	if !t.Collatable() {
		return x, uncollatedParts(t)
	}
	c := collationOf(x)
	if err := c.sortable(); err != nil {
		return nil, err
	}
	if c.is.Bytewise() || equality && !c.is.Nondeterministic {
		return uncollated(x), nil
	}
	return sortKeyOf(x, c.is), nil
}

func rowByCollation(r *plan.RowCtor, equality bool) (plan.Expr, error) {
	out, changed := *r, false
	out.Fields = make([]plan.Expr, len(r.Fields))
	for i, f := range r.Fields {
		var err error
		if out.Fields[i], err = byCollation(f, equality); err != nil {
			return nil, err
		}
		changed = changed || out.Fields[i] != f
	}
	if !changed {
		return r, nil
	}
	return &out, nil
}

// uncollatedParts refuses to compare values whose parts order by a collation.
func uncollatedParts(t *types.T) error {
	if t.Collated() {
		return pgerr.Unsupported("comparing values of type %s, parts of which have a collation of a language, is not supported", t.SQLName)
	}
	return nil
}

// comparisonKinds says which operators compare, and whether for equality only.
var comparisonKinds = map[string]bool{"=": true, "<>": true, "<": false, "<=": false, ">": false, ">=": false}

// collateCall finishes a call whose operands are coerced: it derives the collation and makes
// the call follow it. Comparisons become those of sort keys where bytes do not order as the
// collation does.
func (b *builder) collateCall(c *plan.Call) (plan.Expr, error) {
	if _, compares := comparisonKinds[c.Fn.Name]; compares && c.Fn.Operator && !c.Args[0].Type().Collatable() {
		if fields := b.undecidedFields(c.Args[0], c.Args[1]); len(fields) > 0 {
			return compareUndecided(c, fields)
		}
		return c, uncollatedParts(c.Args[0].Type())
	}
	use := collationUse(c)
	if use == useLike {
		return c, collateLike(c)
	}
	if use == "" {
		if b.explicitCollations {
			return c, collationOfAll(c.Args).err
		}
		return c, nil
	}
	coll := collationOfAll(c.Args)
	if err := coll.decided(use); err != nil {
		return nil, err
	}
	if c.Fn.Operator {
		for i := range c.Args {
			c.Args[i] = uncollated(c.Args[i])
		}
	}
	if coll.is.ASCII() {
		return b.inLanguage(c, &types.Collation{Locale: asciiLocale})
	}
	if coll.is.Bytewise() {
		return c, nil
	}
	equality, compares := comparisonKinds[c.Fn.Name]
	if !compares || !c.Fn.Operator {
		return b.inLanguage(c, coll.is)
	}
	if equality && !coll.is.Nondeterministic {
		return c, nil
	}
	l, r := sortKeyOf(c.Args[0], coll.is), sortKeyOf(c.Args[1], coll.is)
	fn, err := comparator(c.Fn.Name, l.Type(), c.Pos)
	return &plan.Call{Fn: fn, Args: []plan.Expr{l, r}, T: c.T, Pos: c.Pos}, err
}

// undecidedFields numbers the fields that have other collations in one record than in the other.
func (b *builder) undecidedFields(l, r plan.Expr) (list []types.Datum) {
	if l.Type().Family != types.RecordFamily || r.Type().Family != types.RecordFamily {
		return nil
	}
	lf, rf := b.fieldsOf(l), b.fieldsOf(r)
	for i := range min(len(lf), len(rf)) {
		x, y := lf[i].typ.Collation(), rf[i].typ.Collation()
		if x != nil && y != nil && x.Oid != y.Oid {
			list = append(list, types.NewInt(int64(i)))
		}
	}
	return list
}

// compareUndecided makes a comparison of records fail once it meets values of the given fields.
func compareUndecided(c *plan.Call, fields []types.Datum) (plan.Expr, error) {
	order := undecidedOrder(c.Args[0], c.Args[1], fields, false, c.Pos)
	fn, err := comparator(c.Fn.Name, types.Int4, c.Pos)
	return &plan.Call{Fn: fn, Args: []plan.Expr{order, plan.NewConst(types.Int4, types.NewInt(0))}, T: c.T, Pos: c.Pos}, err
}

// undecidedOrder is the order of two records, which fails once it meets values of the given fields; nulls
// says that NULLs have an order as well.
func undecidedOrder(l, r plan.Expr, fields []types.Datum, nulls bool, at int) plan.Expr {
	list := plan.NewConst(types.Int4Array, types.NewArray(fields))
	return &plan.Call{
		Fn: builtin.Functions("collation_record")[0], T: types.Int4, Pos: at,
		Args: []plan.Expr{l, r, list, plan.NewConst(types.Bool, types.NewBool(nulls))},
	}
}

// distinctUndecided is IS [NOT] DISTINCT FROM of records with such fields.
func distinctUndecided(l, r plan.Expr, fields []types.Datum, not bool, at int) (plan.Expr, error) {
	op := "<>"
	if not {
		op = "="
	}
	fn, err := comparator(op, types.Int4, at)
	zero := plan.NewConst(types.Int4, types.NewInt(0))
	return &plan.Call{Fn: fn, Args: []plan.Expr{undecidedOrder(l, r, fields, true, at), zero}, T: types.Bool, Pos: at}, err
}

// asciiLocale is the locale that knows the case of ASCII letters only.
const asciiLocale = "C"

// collationUse names what a call needs the collation of its operands for as PostgreSQL does,
// "" if it needs none.
func collationUse(c *plan.Call) string {
	collatable := false
	for _, a := range c.Args {
		collatable = collatable || a.Type().Collatable()
	}
	if !collatable {
		return ""
	}
	switch {
	case c.Fn.Operator:
		return operatorUses[c.Fn.Name]
	case typefuncs.OrdersText(c.Fn.Name):
		return useComparison
	}
	return functionUses[c.Fn.Name]
}

const (
	useComparison = "string comparison"
	useRegexp     = "regular expression"
	useLike       = "LIKE"
)

var operatorUses = map[string]string{
	"=": useComparison, "<>": useComparison, "<": useComparison, "<=": useComparison, ">": useComparison, ">=": useComparison,
	"@>": useComparison, "<@": useComparison, "&&": useComparison,
	"~~": useLike, "!~~": useLike, "~~*": "ILIKE", "!~~*": "ILIKE", "~": useRegexp, "!~": useRegexp, "~*": useRegexp, "!~*": useRegexp,
}

var functionUses = map[string]string{
	"upper": "upper() function", "lower": "lower() function", "initcap": "initcap() function",
	"strpos": useComparison, "position": useComparison, "replace": useComparison, "split_part": useComparison,
	"string_to_array": useComparison, "string_to_table": useComparison, "array_position": useComparison,
	"array_positions": useComparison, "array_remove": useComparison, "array_replace": useComparison, "starts_with": useComparison,
	"regexp_match": useRegexp, "regexp_matches": useRegexp, "regexp_replace": useRegexp, "regexp_split_to_array": useRegexp,
	"regexp_split_to_table": useRegexp, "regexp_count": useRegexp, "regexp_instr": useRegexp, "regexp_like": useRegexp,
	"regexp_substr": useRegexp, "hashtext": "string hashing",
}

// inLanguage makes a call that is no comparison follow a collation that is not that of bytes.
func (b *builder) inLanguage(c *plan.Call, coll *types.Collation) (plan.Expr, error) {
	name := c.Fn.Name
	if !c.Fn.Operator && typefuncs.OrdersText(name) && coll.Locale != asciiLocale {
		return nil, pgerr.Unsupported("function %s is not supported for collations of a language", name).
			WithHint("Use the operators < and > or the functions greatest and least.")
	}
	if coll.Nondeterministic {
		if what := nondeterministicUse(c); what != "" {
			return nil, pgerr.Unsupported("nondeterministic collations are not supported for %s", what)
		}
	}
	inCase := func(f string, x plan.Expr) plan.Expr {
		locale := plan.NewConst(types.Text, types.NewString(coll.Locale))
		return &plan.Call{Fn: builtin.Functions("collation_" + f)[0], Args: []plan.Expr{x, locale}, T: types.Text, Pos: c.Pos}
	}
	switch {
	case c.Fn.Operator && (name == "~~*" || name == "!~~*"):
		op := ast.Operator{Name: strings.TrimSuffix(name, "*")}
		fn, _, err := b.resolveOperator(op, c.Args, c.Pos)
		return &plan.Call{Fn: fn, Args: []plan.Expr{inCase("lower", c.Args[0]), inCase("lower", c.Args[1])}, T: c.T, Pos: c.Pos}, err
	case !c.Fn.Operator && len(c.Args) == 1 && (name == "upper" || name == "lower" || name == "initcap"):
		return inCase(name, c.Args[0]), nil
	}
	return c, nil
}

// nondeterministicUse names what a call does that does not know which strings a
// nondeterministic collation takes for equal, "" if that does not matter.
func nondeterministicUse(c *plan.Call) string {
	if c.Fn.Operator {
		switch c.Fn.Name {
		case "~~", "!~~":
			return "LIKE"
		case "~~*", "!~~*":
			return "ILIKE"
		case "@>", "<@", "&&":
			return "array operators"
		}
	}
	switch use := collationUse(c); {
	case use == useRegexp:
		return "regular expressions"
	case strings.HasPrefix(c.Fn.Name, "array_"):
		return c.Fn.Name + "()"
	case use == useComparison && !c.Fn.Operator:
		return "substring searches"
	case use == "string hashing":
		return "hash functions"
	}
	return ""
}

// collateLike refuses LIKE under nondeterministic collations; it needs no other one.
func collateLike(c *plan.Call) error {
	if coll := collationOfAll(c.Args); coll.err != nil || coll.strength == noCollation || coll.strength == conflictingCollations || !coll.is.Nondeterministic {
		return coll.err
	}
	return pgerr.Unsupported("nondeterministic collations are not supported for LIKE")
}

// keyed is how a comparison of several operands follows their collation: they are replaced by
// their sort keys if by is set.
type keyed struct{ by *types.Collation }

// keyedBy derives the collation of a comparison that is not a call, for equality only or for
// order.
func keyedBy(equality bool, operands ...plan.Expr) (keyed, error) {
	collatable := false
	for _, x := range operands {
		collatable = collatable || x.Type().Collatable()
		if _, isRow := x.(*plan.RowCtor); !isRow && !equality && !x.Type().Collatable() {
			if err := uncollatedParts(x.Type()); err != nil {
				return keyed{}, err
			}
		}
	}
	if !collatable {
		return keyed{}, nil
	}
	c := collationOfAll(operands)
	if err := c.decided(useComparison); err != nil {
		return keyed{}, err
	}
	if c.is.Bytewise() || equality && !c.is.Nondeterministic {
		return keyed{}, nil
	}
	return keyed{c.is}, nil
}

// keyedList is keyedBy for the equality of left with each of list. Unless they are constants,
// PostgreSQL compares one by one: alike says that all have one collation.
func (b *builder) keyedList(left plan.Expr, list []plan.Expr) (by keyed, alike bool, err error) {
	all := append([]plan.Expr{left}, list...)
	by, err = keyedBy(true, all...)
	columns := false
	for _, x := range list {
		if err := b.step(); err != nil {
			return by, true, err
		}
		plan.Refs(x, func(plan.ColID) { columns = true })
	}
	if !columns || !left.Type().Collatable() {
		return by, true, err
	}
	merged := collationOfAll(all)
	for _, x := range list {
		if err := b.step(); err != nil {
			return by, true, err
		}
		one := collationOfAll([]plan.Expr{left, x})
		if one.err != nil || merged.err != nil || one.is == nil || merged.is == nil || one.strength != merged.strength || one.is.Oid != merged.is.Oid {
			return by, false, err
		}
	}
	return by, true, err
}

// operand is what of x is compared.
func (k keyed) operand(x plan.Expr) plan.Expr {
	if k.by == nil {
		return uncollated(x)
	}
	return sortKeyOf(x, k.by)
}

// operator is the comparison fn for such operands.
func (k keyed) operator(fn *call.Overload, operand plan.Expr, at int) (*call.Overload, error) {
	if k.by == nil {
		return fn, nil
	}
	return comparator(fn.Name, operand.Type(), at)
}

// equalityOf is the equality operator eq for operands that an order made sort keys of.
func (b *builder) equalityOf(eq *call.Overload, operand plan.Expr, at int) (*call.Overload, error) {
	if t := operand.Type(); t.Is(types.Bytea) || t.Is(types.ByteaArray) {
		return comparator("=", t, at)
	}
	return eq, nil
}

// minMax plans GREATEST and LEAST under a collation.
func (k keyed) minMax(m *plan.MinMax, at int) (plan.Expr, error) {
	if k.by == nil {
		return m, nil
	}
	array, ok := types.ArrayOf(m.T.WithTypmod(-1))
	if !ok || m.T.Elem != nil {
		return nil, pgerr.Unsupported("GREATEST and LEAST of arrays are not supported under the collation \"%s\"", k.by.Name).At(at)
	}
	keys := &plan.ArrayCtor{T: types.ByteaArray}
	for _, x := range m.Args {
		keys.Elems = append(keys.Elems, sortKeyOf(x, k.by))
	}
	name := "collation_greatest"
	if m.Least {
		name = "collation_least"
	}
	values := &plan.ArrayCtor{T: array, Elems: m.Args}
	return &plan.Call{Fn: builtin.Functions(name)[0], Args: []plan.Expr{keys, values}, T: m.T.WithCollation(k.by), Pos: at}, nil
}

// setOpCollation checks that set operations which compare rows can do so by their bytes.
func (b *builder) setOpCollation(c *collation, t *types.T) error {
	if !t.Collatable() {
		return nil
	}
	if c.strength == conflictingCollations {
		return c.sortable()
	}
	if c.is != nil && c.is.Nondeterministic {
		return pgerr.Unsupported("UNION, INTERSECT and EXCEPT of columns with a nondeterministic collation are not supported").
			WithHint("Use UNION ALL in a subquery of SELECT DISTINCT.")
	}
	return nil
}

// collateAggregate derives the collation of an aggregate's result, and makes min and max follow
// it.
func (b *builder) collateAggregate(a *plan.Agg, name string, pos int) error {
	c := collationOfAll(a.Args)
	if c.err != nil {
		return c.err
	}
	if a.Out.Type.Collatable() {
		if c.strength == noCollation {
			c = typeCollation(a.Out.Type, 0)
		}
		a.Out.Type = c.of(a.Out.Type)
		if c.strength == explicitCollation {
			if b.explicit == nil {
				b.explicit = map[*plan.Agg]collation{}
			}
			b.explicit[a] = c
		}
	}
	if (name != "min" && name != "max") || len(a.Args) != 1 || a.Fn.Routine != nil {
		return nil
	}
	x := a.Args[0]
	if !x.Type().Collatable() {
		return uncollatedParts(x.Type())
	}
	if err := c.decided(useComparison); err != nil {
		return err
	}
	a.Args[0] = uncollated(x)
	if c.is.Bytewise() {
		return nil
	}
	key := sortKeyOf(x, c.is)
	fn, err := builtin.ResolveAggregate("collation_"+name, []*types.T{key.Type(), x.Type()})
	if err != nil {
		return pgerr.From(err).At(pos)
	}
	a.Fn, a.Args = fn, []plan.Expr{key, uncollated(x)}
	return nil
}
