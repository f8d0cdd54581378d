package plpgsql

import (
	"reflect"
	"strings"
	"testing"
)

// outline prints a tree: the kinds of statements with what they hold as text.
func outline(v reflect.Value, b *strings.Builder) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			outline(v.Elem(), b)
		}
	case reflect.Struct:
		name := v.Type().Name()
		b.WriteString(strings.ToLower(name) + "(")
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "Line" && n != "EndLine" && n != "Pos" && n != "ID" && n != "Before" && !v.Field(i).IsZero() {
				outline(v.Field(i), b)
				b.WriteString(" ")
			}
		}
		b.WriteString(")")
	case reflect.Slice:
		for i := range v.Len() {
			outline(v.Index(i), b)
		}
	case reflect.String:
		b.WriteString("‹" + v.String() + "›")
	case reflect.Bool:
		b.WriteString("yes")
	case reflect.Int:
		b.WriteString("n")
	}
}

// TestParse: what bodies consist of, as text.
func TestParse(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"BEGIN x := 1 + 2; END", "assign(target(‹x› ) expr(‹1 + 2› ) )"},
		{"BEGIN r.a[i + 1] := f(a, b); END", "assign(target(‹r›‹a› step(expr(‹i + 1› ) ) ) expr(‹f(a, b)› ) )"},
		{"BEGIN r[1].b[:2] := 3; END", "assign(target(‹r› step(expr(‹1› ) )step(‹b› )step(yes expr(‹2› ) ) ) expr(‹3› ) )"},
		{"BEGIN SELECT a, b INTO STRICT x, y FROM t; END", "execute(sql(‹SELECT a, b                  FROM t› ) target(‹x› )target(‹y› ) yes )"},
		{"BEGIN INSERT INTO t VALUES (1) RETURNING a INTO x; END", "execute(sql(‹INSERT INTO t VALUES (1) RETURNING a› ) target(‹x› ) )"},
		{"BEGIN PERFORM f(';', $$;$$); END", "execute(sql(‹SELECT f(';', $$;$$)› ) yes )"},
		{"BEGIN FOR i IN REVERSE 10..1 BY 2 LOOP NULL; END LOOP; END", "forint(‹i› yes expr(‹10› ) expr(‹1› ) expr(‹2› ) null() )"},
		{"BEGIN FOR r IN SELECT 1 LOOP NULL; END LOOP; END", "forquery(target(‹r› ) sql(‹SELECT 1› ) null() )"},
		{"BEGIN IF CASE WHEN a THEN b ELSE c END THEN NULL; END IF; END", "if(branch(expr(‹CASE WHEN a THEN b ELSE c END› ) null() ) )"},
		{"BEGIN RAISE NOTICE 'a % b', x + 1 USING HINT = 'h'; END", "raise(‹notice› ‹a % b› expr(‹x + 1› ) raiseoption(‹hint› expr(‹'h'› ) ) )"},
		{"BEGIN EXECUTE 'x' || y INTO a USING 1, 2; END", "dynamic(expr(‹'x' || y› ) target(‹a› ) expr(‹1› )expr(‹2› ) )"},
		{"BEGIN /* c; */ NULL; -- d;\n END", "null()"},
	} {
		f, err := Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		var b strings.Builder
		outline(reflect.ValueOf(f.Body.Body), &b)
		if b.String() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.src, b.String(), c.want)
		}
	}
}

// TestParseErrors: what is no body.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"BEGIN", "syntax error at end of input"},
		{"BEGIN x := ; END", "missing expression at or near \";\""},
		{"BEGIN IF a THEN NULL; END; END", "syntax error at or near \";\""},
		{"DECLARE a int NOT NULL; BEGIN END", "variable \"a\" must have a default value, since it's declared NOT NULL"},
		{"BEGIN PERFORM (1; END", "mismatched parentheses at or near \";\""},
		{"BEGIN SELECT 1 INTO a INTO b; END", "INTO specified more than once at or near \"INTO\""},
		{"DECLARE x int BEGIN END", "incomplete data type declaration at end of input"},
		{"BEGIN GET DIAGNOSTICS x = message_text; END", "diagnostics item MESSAGE_TEXT is not allowed in GET CURRENT DIAGNOSTICS"},
		{"BEGIN RAISE 'a %'; END", "too few parameters specified for RAISE"},
		{"<<a>> BEGIN END b", "end label \"b\" differs from block's label \"a\""},
		{strings.Repeat("BEGIN ", 300), "blocks are nested more than 200 levels deep"},
	} {
		if _, err := Parse(c.src); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.src, err, c.want)
		}
	}
}

// FuzzParse: every text is parsed or refused.
func FuzzParse(f *testing.F) {
	f.Add("DECLARE a int := 1; BEGIN FOR i IN 1..a LOOP RAISE NOTICE '%', i; END LOOP; EXCEPTION WHEN others THEN NULL; END")
	f.Add("<<x>> BEGIN CASE a WHEN 1 THEN EXIT x; END CASE; OPEN c FOR SELECT 1; FETCH c INTO a; CLOSE c; END")
	f.Fuzz(func(_ *testing.T, src string) { _, _ = Parse(src) })
}
