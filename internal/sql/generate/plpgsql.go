package generate

import (
	"fmt"
	"strings"
)

const (
	// maxBodyDepth bounds how deep statements of PL/pgSQL nest.
	maxBodyDepth = 3
	// maxBodyStatements bounds the statements of a body, whatever they are nested in.
	maxBodyStatements = 10
)

// plpgsql writes the body of a routine. All its loops end: those without a bound of their own count their rounds.
type plpgsql struct {
	g    *Generator
	vars []Column
	// result is the type that RETURN gives, "" for none; set has the columns of the rows that RETURN NEXT gives.
	result string
	set    []Column
	void   bool // RETURN gives nothing
	// trigger says that RETURN gives NEW, OLD or NULL.
	trigger    string
	tables     []Table
	loops      []string // labels of the loops around
	handler    bool     // within an exception handler
	statements int
	numbers    int
}

// body returns what writes a body with parameters.
func (g *Generator) body(vars []Column) *plpgsql {
	return &plpgsql{g: g, vars: append([]Column{}, vars...), tables: g.Schema.Tables}
}

// text is the whole body.
func (b *plpgsql) text() string {
	g := b.g
	var declared []string
	for i := range 2 + g.IntN(3) {
		c := Column{fmt.Sprintf("v%d", i), g.Pick(routineTypes...)}
		b.vars = append(b.vars, c)
		def := ""
		if g.OneIn(2) {
			def = g.Pick(" := ", " = ", " DEFAULT ") + g.SmallLiteral(c.Type)
		}
		declared = append(declared, c.Name+g.Pick(" ", " ", " ")+TypeSQL(c.Type)+def)
	}
	t := b.table()
	declared = append(declared, fmt.Sprintf("cu SCROLL CURSOR FOR SELECT id, %s FROM %s ORDER BY id", t.Cols[1].Name, t.Name), "row0 "+t.Name+"%ROWTYPE", "any0 record", "typed0 "+t.Name+".id%TYPE")
	b.vars = append(b.vars, Column{"typed0", "int4"}, Column{"row0.id", "int4"}, Column{"row0." + t.Cols[1].Name, t.Cols[1].Type})
	return "DECLARE " + strings.Join(declared, "; ") + "; BEGIN " + b.list(maxBodyDepth) + b.last() + "END"
}

// last is the RETURN at the end, at times none.
func (b *plpgsql) last() string {
	if b.result != "" || b.trigger != "" {
		if b.g.OneIn(12) {
			return ""
		}
		return b.returning(1)
	}
	return ""
}

func (b *plpgsql) table() Table { return b.tables[b.g.IntN(len(b.tables))] }

func (b *plpgsql) scope() *Scope { return &Scope{Cols: b.vars} }

func (b *plpgsql) expr(typ string, depth int) string { return b.g.Expr(b.scope(), typ, depth) }

// label is a name that nothing else in the body has.
func (b *plpgsql) label(prefix string) string {
	b.numbers++
	return fmt.Sprintf("%s%d", prefix, b.numbers)
}

// variable draws a variable that may be assigned to.
func (b *plpgsql) variable() Column {
	var fit []Column
	for _, c := range b.vars {
		if !strings.HasPrefix(c.Name, "old.") {
			fit = append(fit, c)
		}
	}
	return fit[b.g.IntN(len(fit))]
}

// typed draws a variable of a type; false if there is none.
func (b *plpgsql) typed(typ string) (Column, bool) {
	var fit []Column
	for _, c := range b.vars {
		if c.Type == typ && !strings.HasPrefix(c.Name, "old.") {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return Column{}, false
	}
	return fit[b.g.IntN(len(fit))], true
}

// list is some statements.
func (b *plpgsql) list(depth int) string {
	var out strings.Builder
	for range 1 + b.g.IntN(3) {
		out.WriteString(b.statement(depth) + "\n") // errors tell the line
	}
	return out.String()
}

// statement is one statement.
func (b *plpgsql) statement(depth int) string {
	b.statements++
	flat := []func() string{b.assign, b.assign, b.assign, b.part, b.selectInto, b.change, b.perform, b.raise, b.diagnostics, b.execute, b.cursor, b.give, b.leave, b.assertion}
	nested := []func(int) string{b.ifs, b.ifs, b.cases, b.counted, b.while, b.forRange, b.forQuery, b.foreach, b.forExecute, b.block, b.block, b.forCursor}
	for range 8 {
		text := ""
		if depth > 0 && b.statements < maxBodyStatements && b.g.OneIn(2) {
			text = nested[b.g.IntN(len(nested))](depth - 1)
		} else {
			text = flat[b.g.IntN(len(flat))]()
		}
		if text != "" {
			return text
		}
	}
	return "NULL;"
}

func (b *plpgsql) assign() string {
	c := b.variable()
	value := b.g.untyped(b.scope(), c.Type, 2)
	if b.g.OneIn(8) { // of another type
		value = b.expr(b.g.Pick("int4", "text", "numeric"), 1)
	}
	return c.Name + b.g.Pick(" := ", " = ") + value + ";"
}

// part assigns to an element, a field or a key.
func (b *plpgsql) part() string {
	c := b.variable()
	list := columnParts[c.Type]
	if len(list) == 0 || strings.Contains(c.Name, ".") {
		return ""
	}
	p := list[b.g.IntN(len(list))]
	if strings.Contains(p.path, "id") {
		return ""
	}
	return c.Name + p.path + " := " + b.g.untyped(b.scope(), p.typ, 1) + ";"
}

// selectInto reads a row of a table, or a count of its rows.
func (b *plpgsql) selectInto() string {
	t, g := b.table(), b.g
	s := &Scope{Cols: append(append([]Column{}, b.vars...), qualified(t.Cols, "t")...)}
	strict := g.Pick("", "", "STRICT ")
	where := g.Pick("t.id = "+b.expr("int4", 1), "t.id = 3", "t.id < 3 ORDER BY t.id", "false")
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("SELECT t.* INTO %sany0 FROM %s t WHERE %s;", strict, t.Name, where)
	case 1:
		return fmt.Sprintf("SELECT count(*) INTO %s FROM %s t WHERE %s;", b.variable().Name, t.Name, g.Pick("t.id > 2", "true", "t.id = "+b.expr("int4", 1)))
	case 2:
		c, d := b.variable(), b.variable()
		if c == d {
			return ""
		}
		return fmt.Sprintf("SELECT %s, %s INTO %s%s, %s FROM %s t WHERE %s;", g.untyped(s, c.Type, 1), g.untyped(s, d.Type, 1), strict, c.Name, d.Name, t.Name, where)
	}
	c := b.variable()
	return fmt.Sprintf("SELECT %s INTO %s%s FROM %s t WHERE %s;", g.Expr(s, c.Type, 1), strict, c.Name, t.Name, where)
}

// change changes rows of a table, one at most where it says so.
func (b *plpgsql) change() string {
	if b.trigger != "" { // the order in which rows are changed is not the same everywhere
		return ""
	}
	t, g := b.table(), b.g
	s := &Scope{Cols: append(append([]Column{}, b.vars...), qualified(t.Cols, t.Name)...)}
	c := t.Cols[1+g.IntN(len(t.Cols)-1)]
	into := ""
	if v := b.variable(); g.OneIn(3) {
		into = " RETURNING " + g.untyped(s, v.Type, 1) + " INTO " + g.Pick("", "STRICT ") + v.Name
	}
	one := " WHERE " + t.Name + ".id = " + b.expr("int4", 1)
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, %s)%s;", t.Name, c.Name, 50+b.numbers+g.IntN(4), g.untyped(b.scope(), c.Type, 1), into)
	case 1:
		return fmt.Sprintf("DELETE FROM %s%s%s;", t.Name, one, into)
	case 2:
		return fmt.Sprintf("INSERT INTO %s (id) VALUES (%d) ON CONFLICT (id) DO UPDATE SET %s = %s%s;", t.Name, g.IntN(12), c.Name, g.untyped(s, c.Type, 1), into)
	}
	if into == "" && g.OneIn(3) {
		one = " WHERE " + t.Name + ".id > 2"
	}
	return fmt.Sprintf("UPDATE %s SET %s = %s%s%s;", t.Name, c.Name, g.untyped(s, c.Type, 1), one, into)
}

func (b *plpgsql) perform() string {
	t := b.table()
	text := b.g.Pick("PERFORM "+b.expr(b.g.Pick(routineTypes...), 2), "PERFORM t.id FROM "+t.Name+" t WHERE t.id > "+b.expr("int4", 1), "PERFORM 1 WHERE false") + ";"
	if v, ok := b.typed("bool"); ok {
		text += " " + v.Name + " := FOUND;"
	}
	return text
}

// conditions are names of errors.
var conditions = []string{"division_by_zero", "others", "unique_violation", "SQLSTATE '22003'", "data_exception", "check_violation", "case_not_found", "no_data_found", "too_many_rows", "raise_exception", "assert_failure",
	"null_value_not_allowed", "SQLSTATE 'U0001'", "invalid_text_representation", "integrity_constraint_violation", "foreign_key_violation", "not_null_violation", "array_subscript_error", "numeric_value_out_of_range"}

func (b *plpgsql) raise() string {
	g := b.g
	with := g.Pick("", " USING HINT = 'try ' || 1", " USING DETAIL = "+b.expr("text", 1)+", ERRCODE = '22012'", " USING ERRCODE = 'unique_violation', TABLE = 'x', COLUMN = 'y', CONSTRAINT = 'z'")
	level := g.Pick("NOTICE", "NOTICE", "NOTICE", "WARNING", "INFO", "EXCEPTION", "EXCEPTION", "DEBUG", "")
	if b.handler && g.OneIn(3) {
		return "RAISE;"
	}
	switch g.IntN(6) {
	case 0:
		return "RAISE " + level + " " + g.Pick("division_by_zero", "unique_violation", "SQLSTATE 'U0001'", "no_data_found") + g.Pick("", " USING MESSAGE = 'told'") + ";"
	case 1:
		return "RAISE " + level + " USING MESSAGE = 'm' || 2" + g.Pick("", ", ERRCODE = 'U0001'") + ";"
	}
	return fmt.Sprintf("RAISE %s 'says %% and %%%%', %s%s;", level, b.expr(g.Pick("int4", "text", "bool", "_int4", "date"), 1), with)
}

func (b *plpgsql) diagnostics() string {
	v, ok := b.typed("text")
	if b.handler && ok && b.g.OneIn(2) {
		return "GET STACKED DIAGNOSTICS " + v.Name + " = " + b.g.Pick("RETURNED_SQLSTATE", "CONSTRAINT_NAME", "COLUMN_NAME", "TABLE_NAME", "SCHEMA_NAME", "PG_DATATYPE_NAME", "PG_EXCEPTION_HINT", "PG_EXCEPTION_CONTEXT") + ";"
	}
	if b.handler && ok {
		return v.Name + " := SQLSTATE;"
	}
	if ok && b.g.OneIn(3) {
		return "GET DIAGNOSTICS " + v.Name + " = PG_CONTEXT;"
	}
	if v, ok = b.typed("int4"); !ok {
		return ""
	}
	return "GET " + b.g.Pick("", "CURRENT ") + "DIAGNOSTICS " + v.Name + b.g.Pick(" = ", " := ") + "ROW_COUNT;"
}

func (b *plpgsql) execute() string {
	g, t, v := b.g, b.table(), b.variable()
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("EXECUTE 'SELECT $1' INTO %s USING %s;", v.Name, b.expr(v.Type, 1))
	case 1:
		return fmt.Sprintf("EXECUTE format('SELECT count(*) FROM %%I WHERE id < %%s', '%s', %d) INTO %s%s;", t.Name, g.IntN(9), g.Pick("", "STRICT "), v.Name)
	case 2:
		return "EXECUTE " + g.Pick("'SELECT 1'", "NULL", "'nosuch'", "'SELECT 1/0'", b.expr("text", 1)) + ";"
	}
	return fmt.Sprintf("EXECUTE 'SELECT id FROM %s WHERE id = $1 OR id = $2 ORDER BY id' INTO %s USING %s, 4;", t.Name, v.Name, b.expr("int4", 1))
}

// cursor opens, reads or closes the cursor.
func (b *plpgsql) cursor() string {
	v, ok := b.typed("int4")
	if !ok {
		return ""
	}
	move := b.g.Pick("NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE 2", "RELATIVE 2", "FORWARD", "BACKWARD")
	return b.g.Pick("OPEN cu;", "OPEN cu; FETCH cu INTO any0;", "CLOSE cu;", "OPEN cu; FETCH "+move+" FROM cu INTO any0; "+v.Name+" := any0.id; CLOSE cu;",
		"OPEN cu; MOVE "+move+" FROM cu; FETCH cu INTO any0; IF FOUND THEN "+v.Name+" := any0.id; END IF; CLOSE cu;")
}

// give adds a row to the result.
func (b *plpgsql) give() string {
	switch len(b.set) {
	case 0:
		return ""
	case 1:
		if b.g.OneIn(3) {
			return "RETURN QUERY " + b.g.Query(b.scope(), []string{b.set[0].Type}, 1) + ";"
		}
		return "RETURN NEXT " + b.expr(b.set[0].Type, 1) + ";"
	}
	if b.g.OneIn(3) {
		return "RETURN QUERY " + b.g.Query(b.scope(), []string{b.set[0].Type, b.set[1].Type}, 1) + ";"
	}
	return fmt.Sprintf("%s := %s; RETURN NEXT;", b.set[0].Name, b.expr(b.set[0].Type, 1))
}

// leave leaves a loop, a round of it, or the routine.
func (b *plpgsql) leave() string {
	when := b.g.Pick(" WHEN "+b.expr("bool", 1), " WHEN "+b.expr("bool", 1), "")
	if n := len(b.loops); n > 0 && !b.g.OneIn(4) {
		return b.g.Pick("EXIT", "CONTINUE", "EXIT "+b.loops[b.g.IntN(n)], "CONTINUE "+b.loops[b.g.IntN(n)]) + when + ";"
	}
	if !b.g.OneIn(3) {
		return ""
	}
	return "IF (" + b.expr("bool", 1) + ") THEN " + b.returning(1) + " END IF;"
}

// returning is RETURN.
func (b *plpgsql) returning(depth int) string {
	switch {
	case b.trigger != "":
		return "RETURN " + b.trigger + ";"
	case b.result == "":
		return "RETURN;"
	}
	return "RETURN " + b.g.untyped(b.scope(), b.result, depth) + ";"
}

func (b *plpgsql) assertion() string {
	return "ASSERT " + b.g.Pick(b.expr("bool", 1), "true", "NULL", "v0 IS NULL OR true") + b.g.Pick("", ", 'not so'") + ";"
}

func (b *plpgsql) ifs(depth int) string {
	text := "IF (" + b.expr("bool", 2) + ") THEN " + b.list(depth) // a CASE outside of parentheses would end at its THEN
	for b.g.OneIn(3) {
		text += b.g.Pick("ELSIF (", "ELSEIF (") + b.expr("bool", 1) + ") THEN " + b.list(depth)
	}
	if b.g.OneIn(2) {
		text += "ELSE " + b.list(depth)
	}
	return text + "END IF;"
}

func (b *plpgsql) cases(depth int) string {
	text, typ := "CASE", ""
	if b.g.OneIn(2) {
		typ = b.g.Pick("int4", "text", "mood", "bool")
		text += " (" + b.expr(typ, 1) + ")"
	}
	for range 1 + b.g.IntN(2) {
		if typ == "" {
			text += " WHEN (" + b.expr("bool", 1) + ") THEN " + b.list(depth)
		} else {
			text += " WHEN (" + b.expr(typ, 1) + ")" + b.g.Pick("", ", ("+b.expr(typ, 1)+")") + " THEN " + b.list(depth)
		}
	}
	if !b.g.OneIn(4) {
		text += " ELSE " + b.list(depth)
	}
	return text + "END CASE;"
}

// within writes a loop's statements, with more variables.
func (b *plpgsql) within(label string, vars []Column, depth int) string {
	before := len(b.vars)
	b.vars, b.loops = append(b.vars, vars...), append(b.loops, label)
	text := b.list(depth)
	b.vars, b.loops = b.vars[:before], b.loops[:len(b.loops)-1]
	return text
}

// counted is LOOP, which ends after some rounds.
func (b *plpgsql) counted(depth int) string {
	l, n := b.label("l"), b.label("n")
	return fmt.Sprintf("DECLARE %s int := 0; BEGIN <<%s>> LOOP %[1]s := %[1]s + 1; EXIT WHEN %[1]s > %[3]d; %[4]sEND LOOP%[5]s; END;", n, l, 1+b.g.IntN(3), b.within(l, nil, depth), b.g.Pick("", " "+l))
}

func (b *plpgsql) while(depth int) string {
	l, n := b.label("l"), b.label("n")
	return fmt.Sprintf("DECLARE %s int := 0; BEGIN <<%s>> WHILE %[1]s < %[3]d AND %[4]s LOOP %[1]s := %[1]s + 1; %[5]sEND LOOP %[2]s; END;", n, l, 1+b.g.IntN(3), b.expr("bool", 1), b.within(l, nil, depth))
}

func (b *plpgsql) forRange(depth int) string {
	l, i := b.label("l"), b.label("i")
	bounds := b.g.Pick("1..3", "REVERSE 3..1", "1..10 BY 4", "REVERSE 10..1 BY 3", "3..1", "-1..1", "NULL..2", "1..least("+b.expr("int4", 1)+", 3)", "1..3 BY 0", "1..1 + 1")
	return fmt.Sprintf("<<%s>> FOR %s IN %s LOOP %sEND LOOP %[1]s;", l, i, bounds, b.within(l, []Column{{i, "int4"}}, depth))
}

// rowsOf is a query of a few rows of a table in order, with what a record of it has.
func (b *plpgsql) rowsOf(record string) (query string, fields []Column) {
	t := b.table()
	c := t.Cols[1+b.g.IntN(len(t.Cols)-1)]
	fields = []Column{{record + ".id", "int4"}, {record + "." + c.Name, c.Type}}
	return fmt.Sprintf("SELECT t.id, t.%s FROM %s t WHERE %s ORDER BY t.id LIMIT 3", c.Name, t.Name, b.g.Pick("true", "t.id > 2", "false", "t.id <= "+b.expr("int4", 1))), fields
}

func (b *plpgsql) forQuery(depth int) string {
	l := b.label("l")
	if v, ok := b.typed("int4"); ok && b.g.OneIn(3) {
		q, fields := b.rowsOf("x")
		if w, ok := b.typed(fields[1].Type); ok && w != v {
			return fmt.Sprintf("<<%s>> FOR %s, %s IN %s LOOP %sEND LOOP;", l, v.Name, w.Name, q, b.within(l, nil, depth))
		}
	}
	r := b.label("r")
	q, fields := b.rowsOf(r)
	return fmt.Sprintf("DECLARE %s record; BEGIN <<%s>> FOR %[1]s IN %[3]s LOOP %[4]sEND LOOP %[2]s; END;", r, l, q, b.within(l, fields, depth))
}

func (b *plpgsql) forExecute(depth int) string {
	l, r, t := b.label("l"), b.label("r"), b.table()
	fields := []Column{{r + ".id", "int4"}}
	return fmt.Sprintf("DECLARE %s record; BEGIN <<%s>> FOR %[1]s IN EXECUTE 'SELECT id FROM %[3]s WHERE id < $1 ORDER BY id LIMIT 3' USING %[4]s LOOP %[5]sEND LOOP; END;", r, l, t.Name, b.expr("int4", 1), b.within(l, fields, depth))
}

func (b *plpgsql) forCursor(depth int) string {
	l := b.label("l")
	return fmt.Sprintf("<<%s>> FOR rc IN cu LOOP %sEND LOOP;", l, b.within(l, []Column{{"rc.id", "int4"}}, depth))
}

func (b *plpgsql) foreach(depth int) string {
	l := b.label("l")
	if v, ok := b.typed("_int4"); ok && b.g.OneIn(4) {
		return fmt.Sprintf("<<%s>> FOREACH %s SLICE 1 IN ARRAY %s LOOP %sEND LOOP;", l, v.Name, b.g.Pick("ARRAY[[1,2],[3,4]]", "'{{1},{2}}'::int[]", b.expr("_int4", 1)), b.within(l, nil, depth))
	}
	elem := b.g.Pick("int4", "text")
	v, ok := b.typed(elem)
	if !ok {
		return ""
	}
	return fmt.Sprintf("<<%s>> FOREACH %s IN ARRAY %s LOOP %sEND LOOP;", l, v.Name, b.expr("_"+elem, 1), b.within(l, nil, depth))
}

// block is a block of its own, with variables and perhaps with handlers of exceptions.
func (b *plpgsql) block(depth int) string {
	before := len(b.vars)
	c := Column{b.label("w"), b.g.Pick(routineTypes...)}
	text := fmt.Sprintf("DECLARE %s %s := %s; BEGIN ", c.Name, TypeSQL(c.Type), b.g.untyped(b.scope(), c.Type, 1))
	b.vars = append(b.vars, c)
	text += b.list(depth)
	if !b.g.OneIn(3) {
		text += "EXCEPTION"
		handler := b.handler
		b.handler = true
		for range 1 + b.g.IntN(2) {
			text += " WHEN " + b.g.Pick(conditions...) + b.g.Pick("", " OR "+b.g.Pick(conditions...)) + " THEN " + b.list(depth)
		}
		b.handler = handler
	}
	b.vars = b.vars[:before]
	return text + "END;"
}
