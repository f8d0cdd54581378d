package routine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

// program is a compiled body in PL/pgSQL: a tree whose variables have slots.
type program struct {
	r        *Runner
	key      string // begins the keys of its statements
	nextKey  int
	name     string // as lines of context call it
	short    string // without its arguments, as errors of compilation call it
	def      *catalog.Routine
	src      string // the body
	tree     *plpgsql.Function
	conflict planner.Conflict
	slots    []*variable
	records  []int // the slots of those whose structure changes with their values
	queries  []*query
	idle     []*activation
	cur      *frame // for which a statement is being planned
	top      *blockNames
	blocks   map[*plpgsql.Block]*blockNames
	vars     map[any]*variable // that loops declare, by their statements
	exprs    []*query          // by the IDs of expressions
	sqls     map[*plpgsql.SQL]*query
	ends     map[*plpgsql.ForQuery]bool // loops whose bodies may end transactions
	targets  []place                    // by their IDs
	found    *variable
	outputs  []*variable
	acts     bool         // it has statements that do more than to compute
	trigger  *triggerVars // of a function of triggers
	event    *variable    // the first one that a function of event triggers knows
}

// nextProgram numbers the programs of a session.
func (r *Runner) newProgram(name, short string, def *catalog.Routine, src string) (*program, error) {
	tree, err := plpgsql.Parse(src)
	if err != nil {
		return nil, notParsed(err, short, src)
	}
	r.programs++
	return &program{
		r: r, key: "plpgsql." + strconv.Itoa(r.programs), name: name, short: short, def: def, src: src, tree: tree, conflict: planner.ConflictIsError,
		blocks: map[*plpgsql.Block]*blockNames{}, vars: map[any]*variable{},
		exprs: make([]*query, tree.Exprs), sqls: map[*plpgsql.SQL]*query{},
		ends: map[*plpgsql.ForQuery]bool{}, targets: make([]place, tree.Targets),
	}, nil
}

// notParsed tells where a body is none: by a position in it, or by a line.
func notParsed(err error, name, src string) error {
	if at := pgerr.PositionOf(err); at > 0 {
		return inBody(err, src, at)
	}
	var e *pgerr.Error
	if errors.As(err, &e) && e.Context != "" {
		c := *e
		c.Context = "compilation of PL/pgSQL function \"" + name + "\" " + e.Context
		return &c
	}
	return err
}

// compilePL compiles the body of a routine for the types of its arguments.
func compilePL(f *frame) (*program, error) {
	p, err := f.r.newProgram(f.r.host.Signature(f.ctx, f.t), f.t.Name, f.def, f.def.Body)
	if err != nil {
		return nil, err
	}
	p.declareParams(f)
	return p, p.compile(f.ctx)
}

// place is where a target leads: a variable, or a part of one.
type place struct {
	v    *variable
	path []plpgsql.Step
	// The path begins with the field at a position of rows of a type.
	of *types.T
	at int
}

// declareParams declares the parameters of a routine.
func (p *program) declareParams(f *frame) {
	p.top = &blockNames{label: f.t.Name, names: map[string]*variable{}}
	in := 0
	for i := range f.def.Params {
		d := &f.def.Params[i]
		if d.Input() {
			in++
			p.declare(p.top, &variable{name: d.Name, typ: f.args[in-1]})
			p.top.names["$"+itoa(in)] = p.slots[len(p.slots)-1]
		}
	}
	for i := range f.def.Params {
		d := &f.def.Params[i]
		if !d.Output() {
			continue
		}
		v := p.top.names[d.Name]
		if d.Name == "" || v == nil || d.Mode != ast.ParamInOut {
			v = &variable{name: d.Name, typ: f.concrete(d.Type)}
			p.declare(p.top, v)
		}
		p.outputs = append(p.outputs, v)
	}
	p.found = &variable{name: "found", typ: types.Bool}
	p.declare(p.top, p.found)
	if f.def.Trigger() {
		p.declareTrigger()
	}
	if f.def.EventTrigger() {
		p.declareEvent()
	}
}

// declare gives a variable a slot.
func (p *program) declare(b *blockNames, v *variable) {
	if v.typ != nil && v.typ.Oid == types.Record.Oid && v.typ.Fields() == nil {
		v.typ = nil
	}
	p.addSlot(v)
	if b.names[v.name] == nil || v.name != "" {
		b.declare(v)
	}
}

func (p *program) addSlot(v *variable) {
	v.slot = len(p.slots)
	p.slots = append(p.slots, v)
	if v.typ == nil {
		p.records = append(p.records, v.slot)
		return
	}
	v.plain = v.typ.Family != types.RecordFamily && v.typ.Typmod < 0 && domainOf(v.typ) == nil && !v.notNull
}

// compile resolves what the tree names.
func (p *program) compile(ctx context.Context) error {
	switch p.tree.Conflict {
	case "use_variable":
		p.conflict = planner.VariableFirst
	case "use_column":
		p.conflict = planner.ColumnFirst
	}
	c := &compiler{p: p, ctx: ctx}
	c.block(p.tree.Body, p.top)
	return c.err
}

// compiler walks a tree once.
type compiler struct {
	p      *program
	ctx    context.Context
	err    error
	within []*plpgsql.ForQuery // the loops around a statement
}

// endsTransactions notes a statement that may end transactions.
func (c *compiler) endsTransactions() {
	for _, s := range c.within {
		c.p.ends[s] = true
	}
}

// fail notes the first error, on a line.
func (c *compiler) fail(line int, err error) {
	if c.err == nil && err != nil {
		c.err = c.p.r.withContext(c.ctx, err, "compilation of PL/pgSQL function \"%s\" near line %d", c.p.short, line)
	}
}

// failAt notes the first error, at a position in the body in bytes.
func (c *compiler) failAt(pos int, err error) {
	if c.err == nil && err != nil {
		c.err = inBody(c.p.r.host.Translate(c.ctx, err), c.p.src, utf8.RuneCountInString(c.p.src[:pos])+1)
	}
}

func (c *compiler) expr(x *plpgsql.Expr, names *blockNames) {
	if x != nil {
		c.p.exprs[x.ID] = c.p.expression(x, names)
	}
}

func (c *compiler) exprList(list []plpgsql.Expr, names *blockNames) {
	for i := range list {
		c.expr(&list[i], names)
	}
}

func (c *compiler) sql(s *plpgsql.SQL, names *blockNames) {
	if s != nil {
		at := sourceOf(s.Text)
		at.pos = s.Pos
		c.p.sqls[s] = c.p.newQuery(*at, s.Text, s.Text, names)
	}
}

// targets resolves what a row is assigned to: a variable that is a row itself, or several that are not.
func (c *compiler) targets(list []plpgsql.Target, names *blockNames) {
	for i := range list {
		t := &list[i]
		c.target(t, names)
		to := c.p.targets[t.ID]
		if len(list) == 1 || to.v == nil || len(to.path) > 0 || to.v.typ != nil && to.v.typ.BaseType().Family != types.RecordFamily {
			continue
		}
		if i == 0 {
			c.failAt(t.Pos, pgerr.New(pgerr.SyntaxError, "record variable cannot be part of multiple-item INTO list"))
		} else {
			c.failAt(t.Pos, pgerr.New(pgerr.SyntaxError, "\"%s\" is not a scalar variable", joined(t.Parts)))
		}
	}
}

// rowTargets resolves what the rows of a loop are assigned to.
func (c *compiler) rowTargets(list []plpgsql.Target, names *blockNames) {
	if v, _ := names.lookup(list[0].Parts); v == nil && len(list) == 1 {
		c.failAt(list[0].Pos, pgerr.New(pgerr.SyntaxError, "loop variable of loop over rows must be a record variable or list of scalar variables"))
	}
	c.targets(list, names)
}

func (c *compiler) target(t *plpgsql.Target, names *blockNames) {
	for i := range t.Path {
		c.expr(t.Path[i].From, names)
		c.expr(t.Path[i].To, names)
	}
	v, rest := names.lookup(t.Parts)
	switch {
	case v == nil, len(rest) > 0 && v.typ != nil && v.typ.Family != types.RecordFamily:
		c.failAt(t.Pos, pgerr.New(pgerr.SyntaxError, "\"%s\" is not a known variable", joined(t.Parts)))
	case v.constant:
		c.failAt(t.Pos, pgerr.New(pgerr.ErrorInAssignment, "variable \"%s\" is declared CONSTANT", v.name))
	default:
		to := place{v: v}
		for _, field := range rest {
			to.path = append(to.path, plpgsql.Step{Field: field})
		}
		to.path = append(to.path, t.Path...)
		c.p.targets[t.ID] = to
	}
}

// block declares what a block does.
func (c *compiler) block(b *plpgsql.Block, outer *blockNames) {
	names := &blockNames{outer: outer, label: b.Label, names: map[string]*variable{}}
	c.p.blocks[b] = names
	for i := range b.Decls {
		c.decl(&b.Decls[i], names)
	}
	c.stmts(b.Body, names)
	if b.Handlers == nil {
		return
	}
	c.p.acts = true
	inner := &blockNames{outer: names, names: map[string]*variable{}}
	c.p.declare(inner, &variable{name: "sqlstate", typ: types.Text})
	c.p.declare(inner, &variable{name: "sqlerrm", typ: types.Text})
	for i := range b.Handlers {
		h := &b.Handlers[i]
		for _, k := range h.Conditions {
			if _, err := statesOf(k); err != nil && k.Name != "others" {
				c.fail(h.Line, err)
			}
		}
		c.p.vars[h] = inner.names["sqlstate"]
		c.stmts(h.Body, inner)
	}
}

func (c *compiler) decl(d *plpgsql.Decl, names *blockNames) {
	if names.names[d.Name] != nil {
		c.failAt(d.Pos, pgerr.New(pgerr.SyntaxError, "duplicate declaration at or near \"%s\"", d.Name))
		return
	}
	if d.Alias != "" {
		v, _ := names.lookup([]string{d.Alias})
		if v == nil {
			c.failAt(d.Pos, pgerr.New(pgerr.UndefinedObject, "variable \"%s\" does not exist", d.Alias))
			return
		}
		names.names[d.Name] = v
		return
	}
	v := &variable{name: d.Name, constant: d.Constant, notNull: d.NotNull}
	if d.Type.Cursor {
		c.cursor(v, d, names)
	} else {
		t, err := c.typ(&d.Type, names)
		if err != nil {
			c.failAt(d.Type.Pos, err)
			return
		}
		v.typ = t
		if d.Default != nil {
			v.def = c.p.expression(d.Default, names)
		}
	}
	c.p.declare(names, v)
}

// cursor declares a cursor that is bound to a query, with its arguments.
func (c *compiler) cursor(v *variable, d *plpgsql.Decl, names *blockNames) {
	v.typ, v.cursor = types.Refcursor, d
	inner := &blockNames{outer: names, names: map[string]*variable{}}
	for i := range d.Params {
		t, err := c.typ(&d.Params[i].Type, names)
		if err != nil {
			c.failAt(d.Params[i].Type.Pos, err)
			return
		}
		a := &variable{name: d.Params[i].Name, typ: t}
		c.p.declare(inner, a)
		v.args = append(v.args, a)
	}
	c.sql(d.Query, inner)
}

// typ resolves a type: nil for RECORD.
func (c *compiler) typ(t *plpgsql.Type, names *blockNames) (*types.T, error) {
	switch {
	case t.Record:
		return nil, nil
	case t.Of == "type":
		parts := splitNames(t.Text)
		if v, rest := names.lookup(parts); v != nil {
			if len(rest) == 1 && v.typ != nil {
				if k := v.typ.FieldByName(rest[0]); k >= 0 {
					return v.typ.Fields()[k].Type, nil
				}
			}
			return v.typ, nil
		}
		return c.p.r.host.Type(c.ctx, t.Text, "type")
	}
	return c.p.r.host.Type(c.ctx, t.Text, t.Of)
}

func splitNames(s string) []string {
	parts := strings.Split(s, ".")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		if q, ok := strings.CutPrefix(parts[i], "\""); ok {
			parts[i] = strings.TrimSuffix(q, "\"")
		} else {
			parts[i] = strings.ToLower(parts[i])
		}
	}
	return parts
}

func (c *compiler) stmts(list []plpgsql.Stmt, names *blockNames) {
	for _, s := range list {
		if c.err != nil {
			return
		}
		c.stmt(s, names)
	}
}

// stmt resolves what a statement names.
func (c *compiler) stmt(s plpgsql.Stmt, names *blockNames) {
	switch s := s.(type) {
	case *plpgsql.Block:
		c.block(s, names)
	case *plpgsql.Assign:
		c.target(&s.Target, names)
		c.expr(&s.Value, names)
		c.p.exprs[s.Value.ID].at.assigns(s.Before)
	case *plpgsql.If:
		for i := range s.Branches {
			c.expr(&s.Branches[i].Cond, names)
			c.stmts(s.Branches[i].Body, names)
		}
		c.stmts(s.Else, names)
	case *plpgsql.Case:
		c.caseStmt(s, names)
	case *plpgsql.Loop:
		c.expr(s.Cond, names)
		c.stmts(s.Body, c.loopNames(s.Label, names))
	case *plpgsql.ForInt:
		c.expr(&s.From, names)
		c.expr(&s.To, names)
		c.expr(s.By, names)
		inner := c.loopNames(s.Label, names)
		v := &variable{name: s.Var, typ: types.Int4}
		c.p.declare(inner, v)
		c.p.vars[s] = v
		c.stmts(s.Body, inner)
	case *plpgsql.ForQuery:
		c.forQuery(s, names)
	case *plpgsql.ForEach:
		c.targets(s.Targets, names)
		c.expr(&s.Array, names)
		c.stmts(s.Body, c.loopNames(s.Label, names))
	case *plpgsql.Exit:
		c.expr(s.When, names)
		c.exit(s, names)
	default:
		c.simple(s, names)
	}
}

func (c *compiler) loopNames(label string, names *blockNames) *blockNames {
	return &blockNames{outer: names, label: label, loop: true, names: map[string]*variable{}}
}

// exit checks that EXIT and CONTINUE have a loop or block to go to.
func (c *compiler) exit(s *plpgsql.Exit, names *blockNames) {
	what := "EXIT"
	if s.Continue {
		what = "CONTINUE"
	}
	known := false
	for n := names; n != nil && n != c.p.top; n = n.outer {
		switch {
		case n.loop && (s.Label == "" || n.label == s.Label):
			return
		case n.label == s.Label && s.Label != "":
			if !s.Continue {
				return
			}
			known = true
		}
	}
	switch {
	case known:
		c.failAt(s.Pos, pgerr.New(pgerr.SyntaxError, "block label \"%s\" cannot be used in CONTINUE", s.Label))
	case s.Label != "":
		c.failAt(s.Pos, pgerr.New(pgerr.SyntaxError, "there is no label \"%s\" attached to any block or loop enclosing this statement", s.Label))
	case s.Continue:
		c.failAt(s.Pos, pgerr.New(pgerr.SyntaxError, "%s cannot be used outside a loop", what))
	default:
		c.failAt(s.Pos, pgerr.New(pgerr.SyntaxError, "%s cannot be used outside a loop, unless it has a label", what))
	}
}

func (c *compiler) caseStmt(s *plpgsql.Case, names *blockNames) {
	c.expr(s.Value, names)
	inner := names
	if s.Value != nil {
		inner = &blockNames{outer: names, names: map[string]*variable{}}
		v := &variable{name: "__case__"}
		c.p.addSlot(v)
		inner.declare(v)
		c.p.vars[s] = v
	}
	for i := range s.Branches {
		b := &s.Branches[i]
		if s.Value != nil {
			x := &b.Cond
			const before = `"__case__" IN (`
			at := source{kind: "SQL expression", pos: x.Pos, shown: before + x.Text + ")", before: len(before), lead: len(selects + before)}
			c.p.exprs[x.ID] = c.p.newQuery(at, x.Text, selects+at.shown, inner)
		} else {
			c.expr(&b.Cond, names)
		}
		c.stmts(b.Body, names)
	}
	c.stmts(s.Else, names)
}

func (c *compiler) forQuery(s *plpgsql.ForQuery, names *blockNames) {
	c.p.acts = true
	c.sql(s.Query, names)
	c.expr(s.Dynamic, names)
	c.exprList(s.Using, names)
	inner := c.loopNames(s.Label, names)
	if s.Cursor != "" { // the row is a variable of the loop
		v, _ := names.lookup([]string{s.Cursor})
		if v == nil || v.cursor == nil {
			c.fail(s.At(), pgerr.New(pgerr.SyntaxError, "cursor FOR loop must use a bound cursor variable"))
			return
		}
		row := &variable{name: s.Targets[0].Parts[0]}
		c.p.declare(inner, row)
		c.p.vars[s] = v
	}
	c.rowTargets(s.Targets, inner)
	c.within = append(c.within, s)
	c.stmts(s.Body, inner)
	c.within = c.within[:len(c.within)-1]
}

// simple resolves what a statement without others in it names.
func (c *compiler) simple(s plpgsql.Stmt, names *blockNames) {
	c.p.acts = c.p.acts || !computes(s)
	switch s := s.(type) {
	case *plpgsql.Return:
		c.returns(s, names)
	case *plpgsql.ReturnNext:
		c.expr(s.Value, names)
		if !c.p.def.Set {
			c.failAt(s.Pos, pgerr.New(pgerr.DatatypeMismatch, "cannot use RETURN NEXT in a non-SETOF function"))
		}
	case *plpgsql.ReturnQuery:
		if !c.p.def.Set {
			c.failAt(s.Pos, pgerr.New(pgerr.DatatypeMismatch, "cannot use RETURN QUERY in a non-SETOF function"))
		}
		c.sql(s.Query, names)
		c.expr(s.Dynamic, names)
		c.exprList(s.Using, names)
	case *plpgsql.Raise:
		c.exprList(s.Args, names)
		for i := range s.Options {
			c.expr(&s.Options[i].Value, names)
		}
		if _, err := statesOf(s.Cond); err != nil && s.Cond.Name != "" {
			c.fail(s.At(), err)
		}
	case *plpgsql.Assert:
		c.expr(&s.Cond, names)
		c.expr(s.Message, names)
	case *plpgsql.Transaction:
		c.endsTransactions()
	case *plpgsql.Execute:
		if s.Call {
			c.endsTransactions()
		}
		c.sql(&s.SQL, names)
		c.targets(s.Into, names)
	case *plpgsql.Dynamic:
		c.expr(&s.Text, names)
		c.exprList(s.Using, names)
		c.targets(s.Into, names)
	case *plpgsql.Diagnostics:
		for i := range s.Items {
			c.target(&s.Items[i].Target, names)
		}
	case *plpgsql.Open:
		c.target(&s.Cursor, names)
		if v := c.p.targets[s.Cursor.ID].v; v != nil && (v.typ == nil || v.typ.Oid != types.Refcursor.Oid) {
			c.failAt(s.Cursor.Pos, pgerr.New(pgerr.DatatypeMismatch, "variable \"%s\" must be of type cursor or refcursor", v.name))
		}
		if v := c.p.targets[s.Cursor.ID].v; v != nil && len(v.args) > 0 && s.Query == nil && s.Dynamic == nil && len(s.Args) == 0 {
			c.failAt(s.End, pgerr.New(pgerr.SyntaxError, "cursor \"%s\" has arguments", v.name))
		}
		c.sql(s.Query, names)
		c.expr(s.Dynamic, names)
		c.exprList(s.Using, names)
		c.exprList(s.Args, names)
	case *plpgsql.Fetch:
		c.target(&s.Cursor, names)
		c.targets(s.Into, names)
	case *plpgsql.Close:
		c.target(&s.Cursor, names)
	}
}

func (c *compiler) returns(s *plpgsql.Return, names *blockNames) {
	c.expr(s.Value, names)
	void := c.p.def.Returns.Oid == types.Void.Oid || c.p.def.EventTrigger()
	var err error
	switch {
	case s.Value != nil && c.p.def.Set:
		err = pgerr.New(pgerr.DatatypeMismatch, "RETURN cannot have a parameter in function returning set").WithHint("Use RETURN NEXT or RETURN QUERY.")
	case s.Value != nil && c.p.def.Procedure:
		err = pgerr.New(pgerr.SyntaxError, "RETURN cannot have a parameter in a procedure")
	case s.Value != nil && void:
		err = pgerr.New(pgerr.DatatypeMismatch, "RETURN cannot have a parameter in function returning void")
	case s.Value != nil && len(c.p.outputs) > 0:
		err = pgerr.New(pgerr.DatatypeMismatch, "RETURN cannot have a parameter in function with OUT parameters")
	case s.Value == nil && !void && !c.p.def.Set && !c.p.def.Procedure && len(c.p.outputs) == 0:
		err = pgerr.New(pgerr.SyntaxError, "missing expression at or near \";\"")
	}
	c.failAt(s.Pos, err)
}
