package ddl

import (
	"context"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The limits and defaults of routines, as PostgreSQL has them.
const (
	maxRoutineParams = 100
	defaultCost      = 100
	defaultRows      = 1000
)

// createRoutine is CREATE FUNCTION and CREATE PROCEDURE.
func createRoutine(ctx context.Context, e *statement.Env, st *ast.CreateRoutine) error {
	schema, err := e.TargetSchema(ctx, st.Name)
	if err != nil {
		return err
	}
	r := &catalog.Routine{Procedure: st.Kind == ast.Procedure, Volatility: 'v', Parallel: 'u', Cost: defaultCost}
	if err := routineParams(ctx, e, st, r); err != nil {
		return err
	}
	if err := routineResult(ctx, e, st, r); err != nil {
		return err
	}
	if err := routineOptions(e, r, st.Options); err != nil {
		return err
	}
	if err := routineBody(ctx, e, st, r); err != nil {
		return err
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Owner: e.User, Kind: catalog.KindRoutine, Name: st.Name.Table,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1, Routine: r, ACL: e.DefaultACL(schema.Database, schema.ID, privilege.Function),
	}
	if err := putRoutine(ctx, e, st.OrReplace, t); err != nil || e.CheckRoutine == nil {
		return err
	}
	return e.CheckRoutine(ctx, t) // which may call itself
}

// putRoutine stores a new routine, or one in the place of another of its signature.
func putRoutine(ctx context.Context, e *statement.Env, orReplace bool, t *catalog.Table) error {
	k := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	entry, found, err := e.Coll.LockName(ctx, k)
	switch {
	case err != nil:
		return err
	case found && !orReplace:
		return pgerr.New(pgerr.DuplicateFunction, "function \"%s\" already exists with same argument types", t.Name) // PostgreSQL calls procedures so too
	case found:
		return replaceRoutine(ctx, e, entry.ID, t)
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return err
	}
	if t.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	if _, err := e.Coll.AddName(ctx, k, catalog.NameEntry{ID: t.ID}); err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

// replaceRoutine is CREATE OR REPLACE of a routine that there is: what calls of it depend on must stay.
func replaceRoutine(ctx context.Context, e *statement.Env, id catalog.ID, t *catalog.Table) error {
	if d, err := e.Coll.Peek(ctx, id); err != nil {
		return err
	} else if t, ok := d.(*catalog.Table); ok {
		if err := e.Owns(t); err != nil {
			return err
		}
	}
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	old, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	o, n := old.Routine, t.Routine
	hint := "Use DROP " + routineWord(o) + " " + e.Signature(ctx, old) + " first."
	switch {
	case o.Procedure != n.Procedure, (o.Aggregate == nil) != (n.Aggregate == nil):
		kind := "a " + strings.ToLower(routineWord(o))
		if o.Aggregate != nil {
			kind = "an aggregate function"
		}
		return pgerr.New(pgerr.WrongObjectType, "cannot change routine kind").WithDetail("\"%s\" is %s.", t.Name, kind)
	case o.Returns.Oid != n.Returns.Oid || o.Set != n.Set:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot change return type of existing function").WithHint("%s", hint)
	case o.Returns.Oid == types.Record.Oid && !sameOutputs(o, n):
		return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot change return type of existing function").
			WithDetail("Row type defined by OUT parameters is different.").WithHint("%s", hint)
	}
	if err := keepsParams(o, n, hint); err != nil {
		return err
	}
	c := old.Clone()
	c.Routine = n
	return e.Coll.Put(ctx, c)
}

func routineWord(r *catalog.Routine) string {
	switch {
	case r.Procedure:
		return "PROCEDURE"
	case r.Aggregate != nil:
		return "AGGREGATE"
	}
	return "FUNCTION"
}

func sameOutputs(o, n *catalog.Routine) bool {
	a, b := o.Outputs(), n.Outputs()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Type.Oid != b[i].Type.Oid {
			return false
		}
	}
	return true
}

// keepsParams refuses to rename parameters, by which calls may name them, and to remove defaults, which
// calls may rely on.
func keepsParams(o, n *catalog.Routine, hint string) error {
	a, b := o.Inputs(), n.Inputs()
	for i := range a {
		if a[i].Name != "" && a[i].Name != b[i].Name {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot change name of input parameter \"%s\"", a[i].Name).WithHint("%s", hint)
		}
		if a[i].Default != "" && b[i].Default == "" {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot remove parameter defaults from existing function").WithHint("%s", hint)
		}
	}
	return nil
}

// routineParams reads the parameters.
func routineParams(ctx context.Context, e *statement.Env, st *ast.CreateRoutine, r *catalog.Routine) error {
	names := map[ast.Name][]byte{}
	defaults, variadic := false, false
	for i := range st.Params {
		d := &st.Params[i]
		p := catalog.RoutineParam{Mode: d.Mode, Name: d.Name}
		var err error
		if p.Type, err = paramType(ctx, e, d); err != nil {
			return err
		}
		if variadic && p.Input() {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "VARIADIC parameter must be the last input parameter")
		}
		if variadic = variadic || d.Mode == ast.ParamVariadic; d.Mode == ast.ParamVariadic && p.Type.Elem == nil && p.Type.Oid != types.AnyArray.Oid {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "VARIADIC parameter must be an array")
		}
		if err := uniqueParam(names, d); err != nil {
			return err
		}
		switch {
		case d.Default != nil && !p.Input():
			return pgerr.New(pgerr.InvalidFunctionDefinition, "only input parameters can have default values")
		case d.Default != nil:
			defaults = true
			if p.Default, err = paramDefault(ctx, e, d, p.Type); err != nil {
				return err
			}
		case defaults && p.Input():
			return pgerr.New(pgerr.InvalidFunctionDefinition, "input parameters after one with a default value must also have defaults")
		case defaults && r.Procedure && p.Mode == ast.ParamOut:
			return pgerr.New(pgerr.InvalidFunctionDefinition, "procedure OUT parameters cannot appear after one with a default value")
		}
		r.Params = append(r.Params, p)
	}
	if len(r.Inputs()) > maxRoutineParams {
		return pgerr.New(pgerr.TooManyArguments, "functions cannot have more than %d arguments", maxRoutineParams)
	}
	return nil
}

// uniqueParam refuses a name that an input, or an output, has already.
func uniqueParam(names map[ast.Name][]byte, d *ast.RoutineParam) error {
	if d.Name == "" {
		return nil
	}
	input := func(m byte) bool { return m == ast.ParamIn || m == ast.ParamVariadic }
	output := func(m byte) bool { return m == ast.ParamOut || m == ast.ParamTable }
	for _, m := range names[d.Name] {
		if input(m) && output(d.Mode) && d.Mode != ast.ParamTable || output(m) && input(d.Mode) && m != ast.ParamTable {
			continue // one of each
		}
		return pgerr.New(pgerr.InvalidFunctionDefinition, "parameter name \"%s\" used more than once", d.Name)
	}
	names[d.Name] = append(names[d.Name], d.Mode)
	return nil
}

// paramDefault returns the text of a default.
func paramDefault(ctx context.Context, e *statement.Env, d *ast.RoutineParam, t *types.T) (string, error) {
	if err := noVariables(d.Default); err != nil {
		return "", err
	}
	if _, null := d.Default.(*ast.NullLit); null && t.Family == types.AnyFamily {
		return "NULL", nil
	} else if null {
		return "NULL::" + types.FormatType(t), nil
	}
	text, err := storedtext.DefaultText(ctx, e, d.Default, t)
	if err != nil {
		return "", err
	}
	if t.Family == types.AnyFamily {
		return text, nil
	}
	c := catalog.Column{Name: d.Name, Type: t.BaseType(), Default: text}
	return text, planner.CheckDefault(ctx, storedtext.PlannerEnv(e, e.Coll), &c)
}

// noVariables refuses names of columns and variables in a default.
func noVariables(x ast.Expr) (err error) {
	ast.Walk(x, func(n ast.Node) bool {
		if ref, ok := n.(*ast.ColumnRef); ok && err == nil {
			err = pgerr.New(pgerr.InvalidColumnReference, "cannot use table references in parameter default value").At(ref.Pos)
		}
		return err == nil
	})
	return err
}

// paramType resolves the type of a parameter.
func paramType(ctx context.Context, e *statement.Env, d *ast.RoutineParam) (*types.T, error) {
	t, err := routineType(ctx, e, d.Type)
	switch {
	case err != nil:
		return nil, err
	case d.Type.Setof:
		return nil, pgerr.New(pgerr.InvalidFunctionDefinition, "functions cannot accept set arguments")
	case t.Oid == types.Void.Oid || t.Oid == types.Trigger.Oid || t.Oid == types.EventTrigger.Oid:
		return nil, pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot have arguments of type %s", t.SQLName)
	}
	return t.WithTypmod(-1), nil
}

// routineType resolves a type, or the type of a column.
func routineType(ctx context.Context, e *statement.Env, tn *ast.TypeName) (*types.T, error) {
	n := *tn
	n.Setof = false
	if !n.PctType {
		t, err := planner.FindType(ctx, &n, e.DefaultIntSize, e.Coll)
		if err != nil && pgerr.CodeOf(err) == pgerr.UndefinedObject {
			e := *pgerr.From(err)
			e.Position = 0
			return nil, &e
		}
		if err == nil {
			err = e.MayUseType(t)
		}
		return t, err
	}
	t, err := planner.ColumnTypeOf(ctx, e.Coll, n.Names)
	if err == nil {
		err = e.MayUseType(t)
	}
	if err == nil {
		e.Notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "type reference %s%%TYPE converted to %s", strings.Join(n.Names, "."), types.FormatType(t)))
	}
	return t, err
}

// routineResult determines what the routine returns.
func routineResult(ctx context.Context, e *statement.Env, st *ast.CreateRoutine, r *catalog.Routine) error {
	out := r.Outputs()
	implied := types.Void
	switch {
	case len(out) > 1 || r.Procedure && len(out) == 1:
		implied = types.Record
	case len(out) == 1:
		implied = out[0].Type
	}
	r.Set = st.Table || st.Returns != nil && st.Returns.Setof
	if r.Set {
		r.Rows = defaultRows
	}
	switch {
	case st.Returns == nil && (r.Procedure || len(out) > 0):
		r.Returns = implied
		return polymorphicResult(r)
	case st.Returns == nil:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "function result type must be specified")
	}
	t, err := routineType(ctx, e, st.Returns)
	if err != nil {
		return err
	}
	if r.Returns = t.WithTypmod(-1); len(out) > 0 && t.Oid != implied.Oid {
		return pgerr.New(pgerr.InvalidFunctionDefinition, "function result type must be %s because of OUT parameters", types.FormatType(implied))
	}
	return polymorphicResult(r)
}

// polymorphicResult refuses a result whose type no argument tells.
func polymorphicResult(r *catalog.Routine) error {
	poly := func(t *types.T) bool {
		return t.Family == types.AnyFamily && (strings.HasPrefix(t.Name, "any") && t.Oid != types.Any.Oid)
	}
	for _, p := range r.Inputs() {
		if poly(p.Type) {
			return nil
		}
	}
	unknown := poly(r.Returns)
	for _, p := range r.Outputs() {
		unknown = unknown || poly(p.Type)
	}
	if !unknown {
		return nil
	}
	return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot determine result data type").
		WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.", r.Returns.SQLName)
}

// routineOptions applies the options of CREATE and ALTER.
func routineOptions(e *statement.Env, r *catalog.Routine, list []ast.RoutineOption) error {
	seen := map[string]bool{}
	for i := range list {
		o := &list[i]
		if seen[o.Name] && o.Name != "set" {
			return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(o.Pos)
		}
		seen[o.Name] = true
		if r.Procedure && (o.Name == "strict" || o.Name == "volatility" || o.Name == "leakproof" || o.Name == "cost" || o.Name == "rows" || o.Name == "parallel" || o.Name == "window" || o.Name == "support") {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "invalid attribute in procedure definition").At(o.Pos)
		}
		if err := routineOption(e, r, o); err != nil {
			return err
		}
	}
	if seen["rows"] && !r.Set {
		return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	}
	return nil
}

func routineOption(e *statement.Env, r *catalog.Routine, o *ast.RoutineOption) (err error) {
	switch o.Name {
	case "language":
		r.Language = strings.ToLower(o.Text)
	case "as":
		if r.Body = o.Text; o.Text2 != "" {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "only one AS item needed for language \"%s\"", r.Language)
		}
	case "volatility":
		r.Volatility = o.Text[0]
	case "strict":
		r.Strict = o.On
	case "leakproof":
		if r.Leakproof = o.On; o.On && !e.Coll.Me().Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "only superuser can define a leakproof function")
		}
	case "parallel":
		switch strings.ToLower(o.Text) {
		case "safe", "restricted", "unsafe":
			r.Parallel = strings.ToLower(o.Text)[0]
		default:
			return pgerr.New(pgerr.SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
		}
	case "cost":
		r.Cost, err = positive("COST", o.Value)
	case "rows":
		r.Rows, err = positive("ROWS", o.Value)
	case "security":
		r.Definer = o.Text == "definer"
	case "set":
		return routineSetting(e, r, o.Set)
	default:
		return pgerr.Unsupported("%s in CREATE FUNCTION is not supported", strings.ToUpper(o.Name)).At(o.Pos)
	}
	return err
}

func positive(what string, x ast.Expr) (float64, error) {
	f, err := strconv.ParseFloat(ast.Format(x), 64)
	if err != nil || f <= 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "%s must be positive", what)
	}
	return f, nil
}

// routineSetting applies a SET clause, or RESET of ALTER.
func routineSetting(e *statement.Env, r *catalog.Routine, st *ast.SetVar) error {
	if st.Reset && (st.Name == "all" || st.Name == "") {
		r.Settings = nil
		return nil
	}
	s, err := e.Setting(st)
	if err != nil {
		return err
	}
	var kept []catalog.Setting
	for _, o := range r.Settings {
		if !strings.EqualFold(o.Name, s.Name) {
			kept = append(kept, o)
		}
	}
	if r.Settings = kept; !st.Reset && !st.Default {
		r.Settings = append(r.Settings, s)
	}
	return nil
}

// routineBody checks that there is one body, in a language that is there.
func routineBody(ctx context.Context, e *statement.Env, st *ast.CreateRoutine, r *catalog.Routine) error {
	hasText := false
	for i := range st.Options {
		hasText = hasText || st.Options[i].Name == "as"
	}
	if r.Language == "" && st.Body != nil {
		r.Language = catalog.LanguageSQL
	}
	switch {
	case r.Language == "":
		return pgerr.New(pgerr.InvalidFunctionDefinition, "no language specified")
	case r.Language == "c" || r.Language == "internal":
		return pgerr.Unsupported("language \"%s\" is not supported", r.Language)
	case r.Language != catalog.LanguageSQL && r.Language != catalog.LanguagePLpgSQL:
		return pgerr.New(pgerr.UndefinedObject, "language \"%s\" does not exist", r.Language)
	case st.Body != nil && r.Language != catalog.LanguageSQL:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "inline SQL function body only valid for language SQL")
	case st.Body != nil && hasText:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "duplicate function body specified")
	case st.Body == nil && !hasText:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "no function body specified")
	case r.Trigger() && r.Language == catalog.LanguageSQL:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot return type trigger")
	case r.EventTrigger() && r.Language == catalog.LanguageSQL:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot return type event_trigger")
	case r.EventTrigger() && len(r.Inputs()) > 0:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "event trigger functions cannot have declared arguments")
	case r.Trigger() && len(r.Inputs()) > 0:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "trigger functions cannot have declared arguments").
			WithHint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")
	case st.Body != nil:
		return standardBody(ctx, e, st.Body, r)
	}
	return access.MustUseLanguage(e.Coll, r.Language)
}

// standardBody stores a body that is part of the statement: its names are looked up now.
func standardBody(ctx context.Context, e *statement.Env, b *ast.RoutineBody, r *catalog.Routine) error {
	r.Standard = true
	if b.Return != nil {
		b = &ast.RoutineBody{Stmts: []ast.Statement{&ast.Select{Items: []ast.SelectItem{{X: b.Return}}}}}
	}
	var text strings.Builder
	for _, st := range b.Stmts {
		switch st.(type) {
		case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete:
		default:
			return pgerr.Unsupported("%s is not yet supported in unquoted SQL function body", st.Tag())
		}
		if err := storedtext.PinNames(ctx, e, st); err != nil {
			return err
		}
		text.WriteString(ast.Format(st) + ";\n")
	}
	r.Body = text.String()
	return nil
}

// lockRoutine finds a routine by its name and arguments and locks it.
func lockRoutine(ctx context.Context, e *statement.Env, ref *ast.RoutineRef, k ast.RoutineKind) (*catalog.Table, error) {
	return alter.LockRoutine(ctx, e, ref, k, false, e.Owns)
}

// alterRoutine is ALTER FUNCTION, PROCEDURE and ROUTINE.
func alterRoutine(ctx context.Context, e *statement.Env, st *ast.AlterRoutine) error {
	t, err := lockRoutine(ctx, e, &st.Ref, st.Kind)
	if err != nil {
		return err
	}
	c := t.Clone()
	switch {
	case st.Extension != "":
		return pgerr.Unsupported("DEPENDS ON EXTENSION is not supported").At(st.Pos)
	case st.Owner != nil:
		var to catalog.Owner
		if to, err = e.Role(st.Owner); err == nil {
			err = e.NewOwner(ctx, to, t.Schema)
		}
		c.SetOwner(to)
	case st.NewSchema != "":
		var to *catalog.Schema
		if to, err = e.SchemaNamed(ctx, st.NewSchema, 0); err == nil {
			err = statement.NotBuiltIn(to, t.Name)
		}
		if err == nil {
			c.Schema, err = to.ID, e.MayCreateIn(to)
		}
	case st.NewName != "":
		c.Name = st.NewName
	case st.Set != nil:
		err = alterOperator(e, c.Routine, st.Set)
	case t.Routine.Aggregate != nil:
		err = pgerr.New(pgerr.WrongObjectType, "\"%s\" is an aggregate function", st.Ref.Name.String())
	default:
		err = routineOptions(e, c.Routine, st.Options)
	}
	if err != nil {
		return err
	}
	if c.Schema != t.Schema || c.Name != t.Name {
		if err := moveRoutine(ctx, e, t, c); err != nil {
			return err
		}
	}
	return e.Coll.Put(ctx, c)
}

// moveRoutine gives a routine the name, or the schema, of its copy.
func moveRoutine(ctx context.Context, e *statement.Env, t, c *catalog.Table) error {
	key := func(t *catalog.Table) catalog.NameKey {
		return catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	}
	schema, err := e.Coll.SchemaByID(ctx, c.Schema)
	if err != nil {
		return err
	}
	if used, err := alter.RoutineReaders(ctx, e, t); err != nil {
		return err
	} else if len(used) > 0 {
		return pgerr.Unsupported("renaming %s, which %s calls, is not supported", e.Describe(ctx, t), used[0])
	}
	taken := pgerr.New(pgerr.DuplicateFunction, "function %s already exists in schema \"%s\"", e.Signature(ctx, c), schema.Name)
	if t.OwnOperator() {
		taken = pgerr.New(pgerr.DuplicateFunction, "operator %s already exists in schema \"%s\"", e.Signature(ctx, c), schema.Name)
	}
	return e.MoveName(ctx, key(t), key(c), catalog.NameEntry{ID: t.ID}, taken)
}

// commentRoutine is COMMENT ON FUNCTION, PROCEDURE and ROUTINE.
func commentRoutine(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	ref := &ast.RoutineRef{Loc: st.Loc, Name: qualified(st.Name, st.Loc), Bare: st.Args == nil, Prefix: st.Prefix}
	for _, a := range st.Args {
		ref.Params = append(ref.Params, ast.RoutineParam{Mode: ast.ParamIn, Type: a})
	}
	k := map[ast.ObjectKind]ast.RoutineKind{ast.ObjFunction: ast.Function, ast.ObjProcedure: ast.Procedure, ast.ObjRoutine: ast.AnyRoutine, ast.ObjAggregate: ast.Aggregate, ast.ObjOperator: ast.OwnOperator}[st.Kind]
	t, err := lockRoutine(ctx, e, ref, k)
	if err != nil {
		return err
	}
	t = t.Clone()
	t.Comment = st.Text
	return e.Coll.Put(ctx, t)
}
