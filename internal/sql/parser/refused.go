package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// refusedText is the grammar of the statements of PostgreSQL that Lichen reads
// and refuses, each behind the name of its feature, whose first word is consumed
// already. Shared rules are in rulesText. ebnf.go says how it is written.
const refusedText = `
CREATE OPERATOR CLASS: OPERATOR CLASS any_name [DEFAULT] FOR TYPE type USING name [FAMILY any_name] AS opclass_item,
CREATE OPERATOR FAMILY: OPERATOR FAMILY any_name USING name
CREATE TYPE (base type): TYPE any_name [definition]
CREATE TEXT SEARCH: text_search any_name definition
CREATE CONVERSION: [DEFAULT] CONVERSION any_name FOR string TO string FROM any_name
CREATE LANGUAGE: [OR REPLACE] [TRUSTED] [PROCEDURAL] LANGUAGE name
	[HANDLER handler [INLINE handler] [VALIDATOR handler | NO VALIDATOR]]
CREATE PUBLICATION: PUBLICATION name [FOR (ALL TABLES | published)] [WITH definition]
CREATE SUBSCRIPTION: SUBSCRIPTION name CONNECTION string PUBLICATION name, [WITH definition]
CREATE TRANSFORM: [OR REPLACE] TRANSFORM FOR type LANGUAGE name '(' (FROM transform [',' TO transform] | TO transform [',' FROM transform]) ')'
CREATE SERVER: SERVER [IF NOT EXISTS] name [TYPE string] [version] FOREIGN DATA WRAPPER name [options]
CREATE USER MAPPING: USER MAPPING [IF NOT EXISTS] FOR (USER | role) SERVER name [options]
CREATE FOREIGN DATA WRAPPER: FOREIGN DATA WRAPPER name {fdw_option} [options]
CREATE FOREIGN TABLE: FOREIGN TABLE [IF NOT EXISTS] table
	('(' [table_element,] ')' [INHERITS '(' table, ')'] | PARTITION OF table typed_elements bound) SERVER name [options]
CREATE ACCESS METHOD: ACCESS METHOD name TYPE (INDEX | TABLE) HANDLER handler
CREATE ASSERTION: ASSERTION any_name CHECK '(' expr ')' constraint_attributes no_assertions
CREATE RULE: [OR REPLACE] RULE name AS ON (SELECT | UPDATE | DELETE | INSERT) TO table [WHERE expr] DO [INSTEAD | ALSO]
	(NOTHING | '(' [rule_action] {';' [rule_action]} ')' | rule_action)

ALTER OPERATOR CLASS: OPERATOR CLASS any_name USING name (rename | owner | move)
ALTER OPERATOR FAMILY: OPERATOR FAMILY any_name USING name (rename | owner | move | ADD opclass_item, | DROP opclass_drop,)
ALTER TYPE: TYPE any_name SET '(' operator_def, ')'
ALTER CONVERSION: CONVERSION any_name (rename | owner | move)
ALTER LANGUAGE: [PROCEDURAL] LANGUAGE name (rename | owner)
ALTER LARGE OBJECT: LARGE OBJECT number owner
ALTER PUBLICATION: PUBLICATION name (rename | owner | SET definition | ADD published | SET published | DROP published)
ALTER SUBSCRIPTION: SUBSCRIPTION name (rename | owner | SET definition | CONNECTION string | REFRESH PUBLICATION [WITH definition]
	| (ADD | DROP | SET) PUBLICATION name, [WITH definition] | ENABLE | DISABLE | SKIP definition)
ALTER TABLESPACE: TABLESPACE name (rename | owner | (SET | RESET) reloptions)
ALTER SERVER: SERVER name (rename | owner | version [alter_options] | alter_options)
ALTER USER MAPPING: USER MAPPING FOR (USER | role) SERVER name alter_options
ALTER FOREIGN DATA WRAPPER: FOREIGN DATA WRAPPER name (rename | owner | {fdw_option} alter_options | fdw_option {fdw_option})
ALTER FOREIGN TABLE: FOREIGN TABLE alter_foreign_table
ALTER TEXT SEARCH: (TEXT SEARCH (PARSER | TEMPLATE) any_name (rename | move)
	| TEXT SEARCH DICTIONARY any_name (rename | owner | move | definition)
	| TEXT SEARCH CONFIGURATION any_name (rename | owner | move | alter_mapping))
ALTER RULE: RULE name ON table rename
ALTER EXTENSION: EXTENSION name (move | (ADD | DROP) (object | cast | operator_object | TRANSFORM FOR type LANGUAGE name))
ALTER SYSTEM: SYSTEM (SET set_generic | RESET (ALL | var_name))
ALTER TABLE ALL IN TABLESPACE: TABLE space_move
ALTER INDEX ALL IN TABLESPACE: INDEX space_move
ALTER MATERIALIZED VIEW ALL IN TABLESPACE: MATERIALIZED VIEW space_move

DROP OPERATOR CLASS: OPERATOR CLASS drop_using
DROP OPERATOR FAMILY: OPERATOR FAMILY drop_using
DROP TRANSFORM: TRANSFORM [IF EXISTS] FOR type LANGUAGE name [behavior]
DROP SUBSCRIPTION: SUBSCRIPTION [IF EXISTS] name [behavior]
DROP USER MAPPING: USER MAPPING [IF EXISTS] FOR (USER | role) SERVER name
DROP RULE: RULE drop_from_table
DROP CONVERSION: CONVERSION [IF EXISTS] any_name, [behavior]
DROP TEXT SEARCH: text_search [IF EXISTS] any_name, [behavior]
DROP FOREIGN TABLE: FOREIGN TABLE [IF EXISTS] any_name, [behavior]
DROP FOREIGN DATA WRAPPER: FOREIGN DATA WRAPPER [IF EXISTS] name, [behavior]
DROP SERVER: SERVER [IF EXISTS] name, [behavior]
DROP ACCESS METHOD: ACCESS METHOD [IF EXISTS] name, [behavior]
DROP LANGUAGE: [PROCEDURAL] LANGUAGE [IF EXISTS] name, [behavior]
DROP PUBLICATION: PUBLICATION [IF EXISTS] name, [behavior]

COMMENT ON OPERATOR CLASS: OPERATOR (CLASS | FAMILY) any_name USING name IS text
COMMENT ON TRANSFORM: TRANSFORM FOR type LANGUAGE name IS text
COMMENT ON LARGE OBJECT: LARGE OBJECT number IS text
COMMENT ON TEXT SEARCH: text_search any_name IS text
COMMENT ON FOREIGN TABLE: FOREIGN TABLE any_name IS text
COMMENT ON FOREIGN DATA WRAPPER: FOREIGN DATA WRAPPER name IS text
COMMENT ON ACCESS METHOD: ACCESS METHOD name IS text
COMMENT ON LANGUAGE: PROCEDURAL LANGUAGE name IS text

EXPRESSION XMLCONCAT: XMLCONCAT '(' expr, ')'
EXPRESSION XMLELEMENT: XMLELEMENT '(' NAME label [',' (XMLATTRIBUTES '(' xml_attribute, ')' [',' expr,] | expr,)] ')'
EXPRESSION XMLEXISTS: XMLEXISTS '(' operand passing ')'
EXPRESSION XMLFOREST: XMLFOREST '(' xml_attribute, ')'
EXPRESSION XMLPARSE: XMLPARSE '(' (DOCUMENT | CONTENT) expr [(PRESERVE | STRIP) WHITESPACE] ')'
EXPRESSION XMLPI: XMLPI '(' NAME label [',' expr] ')'
EXPRESSION XMLROOT: XMLROOT '(' expr ',' VERSION (NO VALUE | expr) [',' STANDALONE (YES | NO [VALUE])] ')'
EXPRESSION XMLSERIALIZE: XMLSERIALIZE '(' (DOCUMENT | CONTENT) expr AS simple_type ')'
FROM XMLTABLE: XMLTABLE '(' [XMLNAMESPACES '(' (DEFAULT b_expr | b_expr AS label), ')' ','] operand passing COLUMNS xml_column, ')'

SECURITY LABEL: LABEL [FOR (string | word)] ON (object | COLUMN any_name | LARGE OBJECT number) IS text
IMPORT FOREIGN SCHEMA: FOREIGN SCHEMA name [(LIMIT TO | EXCEPT) '(' relation, ')'] FROM SERVER name INTO name [options]
LOAD: string
`

// rulesText holds what the statements of refusedText share.
const rulesText = `
definition = '(' (label ['=' def_arg]), ')'
reloptions = '(' (label ['.' label] ['=' def_arg]), ')'
operator_def = label '=' def_arg
options = OPTIONS '(' (label string), ')'
alter_options = OPTIONS '(' (SET label string | ADD label string | DROP label | label string), ')'
rename = RENAME TO name
owner = OWNER TO role
move = SET SCHEMA name
behavior = CASCADE | RESTRICT
numbers = number,
parameters = (name {'.' name}),
text = string | NULL
version = VERSION (string | NULL)
handler = name {'.' label}
fdw_option = HANDLER handler | NO HANDLER | VALIDATOR handler | NO VALIDATOR
text_search = TEXT SEARCH (PARSER | DICTIONARY | TEMPLATE | CONFIGURATION)
cast = CAST '(' type AS type ')'
space_move = ALL IN TABLESPACE name [OWNED BY role,] SET TABLESPACE name [NOWAIT]
func_type = [SETOF] label_word '.' label {'.' label} '%' TYPE | type
arg = arg_mode (label_word func_type | func_type) | label_word arg_mode func_type | label_word func_type | func_type
signature = func_name '(' [arg,] ')' | bare_function
aggr_args = '(' ('*' | ORDER BY arg, | arg, [ORDER BY arg,]) ')'
drop_from_table = [IF EXISTS] name ON any_name [behavior]
drop_using = [IF EXISTS] any_name USING name [behavior]
opclass_item = OPERATOR count (operator_types | any_operator) [FOR SEARCH | FOR ORDER BY any_name] [RECHECK]
	| FUNCTION count ('(' type, ')' signature | signature) | STORAGE type
opclass_drop = (OPERATOR | FUNCTION) count '(' type, ')'
operator_types = any_operator '(' (NONE ',' type | type (',' (NONE | type) | one_type)) ')'
operator_object = OPERATOR (CLASS | FAMILY) any_name USING name | OPERATOR operator_types
transform = SQL WITH FUNCTION signature
rule_action = query_action | NOTIFY name [',' string]
alter_mapping = ADD MAPPING FOR name, any_with any_name, | DROP MAPPING [IF EXISTS] FOR name,
	| ALTER MAPPING (REPLACE any_name any_with any_name | FOR name, (any_with any_name, | REPLACE any_name any_with any_name))
xml_attribute = expr [AS label]
xml_column = name (FOR ORDINALITY | type {ident b_expr | DEFAULT b_expr | NOT NULL | NULL})
passing = PASSING [mechanism] operand [mechanism]
mechanism = BY (REF | VALUE)
object = (TABLE | SEQUENCE | VIEW | MATERIALIZED VIEW | INDEX | FOREIGN TABLE | COLLATION | CONVERSION | STATISTICS) any_name
	| text_search any_name
	| (ACCESS METHOD | EVENT TRIGGER | EXTENSION | FOREIGN DATA WRAPPER | [PROCEDURAL] LANGUAGE | PUBLICATION | SCHEMA | SERVER
	| DATABASE | ROLE | SUBSCRIPTION | TABLESPACE) name
	| (TYPE | DOMAIN) type | (FUNCTION | PROCEDURE | ROUTINE) signature | AGGREGATE func_name aggr_args
`

// primitives returns the rules that are written in Go.
func primitives() map[string]func(p *parser) {
	return map[string]func(p *parser){
		"name":                  func(p *parser) { p.colID() },
		"label":                 func(p *parser) { p.colLabel() },
		"word":                  func(p *parser) { p.nonReserved() },
		"label_word":            (*parser).functionName,
		"ident":                 func(p *parser) { p.expect(tokIdent) },
		"string":                func(p *parser) { p.str() },
		"number":                func(p *parser) { p.numericOnly() },
		"integer":               func(p *parser) { p.signedInt() },
		"count":                 func(p *parser) { p.smallInt() },
		"any_name":              func(p *parser) { p.anyName() },
		"table":                 func(p *parser) { p.tableName() },
		"relation":              func(p *parser) { p.relationName(&ast.TableRef{}) },
		"role":                  func(p *parser) { p.roleSpec() },
		"expr":                  func(p *parser) { p.expr() },
		"b_expr":                func(p *parser) { p.bExpr() },
		"operand":               func(p *parser) { p.primary() },
		"simple_type":           func(p *parser) { p.simpleType(false) },
		"type":                  func(p *parser) { p.typeName() },
		"def_arg":               func(p *parser) { p.defArg() },
		"from_list":             func(p *parser) { p.fromList() },
		"var_name":              func(p *parser) { p.varName() },
		"set_generic":           func(p *parser) { p.setGeneric(&ast.SetVar{}) },
		"table_element":         func(p *parser) { p.tableDef() },
		"typed_elements":        func(p *parser) { p.optTypedDefs() },
		"bound":                 func(p *parser) { p.partitionBound() },
		"constraint_attributes": func(p *parser) { p.constraintSpec(&ast.Constraint{}) },
		"func_name":             (*parser).qualifiedFunction,
		"bare_function":         (*parser).bareFunction,
		"any_operator":          (*parser).qualifiedOperator,
		"one_type":              (*parser).oneOperandType,
		"query_action":          (*parser).ruleAction,
		"permissive":            (*parser).permissive,
		"published":             (*parser).published,
		"any_with":              func(p *parser) { p.expect(kwWith) },
		"alter_foreign_table":   (*parser).alterForeignTable,
		"arg_mode":              (*parser).argMode,
		"no_assertions": func(p *parser) {
			p.failf(pgerr.FeatureNotSupported, 0, "CREATE ASSERTION is not yet implemented")
		},
	}
}

// argMode parses the mode of a function's argument.
func (p *parser) argMode() {
	switch {
	case p.accept(kwIn):
		p.accept(kwOut)
	case p.accept(kwOut), p.accept(kwInout):
	default:
		p.expect(kwVariadic)
	}
}

// functionName parses type_function_name.
func (p *parser) functionName() {
	if !isFuncName(p.tok.kind) {
		p.syntaxError()
		return
	}
	p.advance()
}

// qualifiedFunction parses func_name, where words like COALESCE need a schema.
func (p *parser) qualifiedFunction() {
	switch loc, k := p.loc(), p.tok.kind; {
	case isColID(k) && (p.peek() == '.' || p.peek() == '['):
		p.qualifiedName(loc, p.colID())
	case isColID(k) && !isFuncName(k):
		p.advance()
		p.syntaxError()
	default:
		p.functionName()
	}
}

// bareFunction parses a function's name that no arguments follow.
func (p *parser) bareFunction() {
	if isColID(p.tok.kind) {
		p.tableName()
		return
	}
	p.functionName()
}

// qualifiedOperator parses any_operator, with the schemas before it.
func (p *parser) qualifiedOperator() {
	for isColID(p.tok.kind) {
		p.advance()
		p.expect('.')
	}
	p.operatorSymbol()
}

// oneOperandType refuses an operator's signature of one type.
func (p *parser) oneOperandType() {
	if p.tok.kind != ')' {
		p.syntaxError()
		return
	}
	if p.err == nil {
		p.fail(pgerr.New(pgerr.SyntaxError, "missing argument").
			WithHint("Use NONE to denote the missing argument of a unary operator."), p.pos())
	}
}

// ruleAction parses what a rule may do but NOTIFY.
func (p *parser) ruleAction() {
	switch p.tok.kind {
	case kwSelect, kwValues, kwTable, kwWith, '(', kwInsert, kwUpdate, kwDelete:
		p.preparable()
	default:
		p.syntaxError()
	}
}

// permissive parses PERMISSIVE or RESTRICTIVE.
func (p *parser) permissive() {
	if p.tok.kind != tokIdent {
		p.syntaxError()
		return
	}
	if s := p.tok.str; s != "permissive" && s != "restrictive" {
		p.fail(pgerr.New(pgerr.SyntaxError, "unrecognized row security option \"%s\"", s).
			WithHint("Only PERMISSIVE or RESTRICTIVE policies are supported currently."), p.pos())
		return
	}
	p.advance()
}

// alterForeignTable parses ALTER FOREIGN TABLE after these words.
func (p *parser) alterForeignTable() {
	p.alterTable(p.loc(), ast.ObjForeignTable)
}

// published parses the list of what a publication holds: tables with columns and
// conditions, and schemas, each kind named before the first of a run.
func (p *parser) published() {
	late := p.late
	var schemas, tables bool // what the run is of
	for {
		pos := p.pos()
		named := true
		switch {
		case p.accept(kwTable):
			schemas, tables = false, true
		case p.accept2(kwTables, kwIn):
			p.expect(kwSchema)
			schemas, tables, named = true, false, false
		}
		p.publishedObject(pos, named, schemas, tables)
		if p.err != nil || !p.accept(',') {
			break
		}
	}
	if p.late != late && p.tok.kind != kwWith { // nothing of the statement is left
		p.fail(p.late, p.late.Position)
	}
}

// publishedObject parses one object of a publication. What does not fit a run of
// schemas or tables is an error after the statement is read.
func (p *parser) publishedObject(pos int, mayBeTable, schemas, tables bool) {
	current := p.accept(kwCurrentSchema)
	plain := true // a name alone
	if !current {
		start := p.tok
		var t ast.TableRef
		p.relationName(&t)
		plain = start.kind != kwOnly && p.prevEnd == start.end
	}
	cols := !current && mayBeTable && p.optParenNames() != nil
	where := !current && mayBeTable && p.accept(kwWhere)
	if where {
		p.expect('(')
		p.expr()
		p.expect(')')
	}
	late := func(msg string) { p.failLate(pgerr.New(pgerr.SyntaxError, "%s", msg), pos) }
	switch {
	case !schemas && !tables:
		late("invalid publication object list")
	case tables && current:
		late("invalid table name")
	case schemas && where:
		late("WHERE clause not allowed for schema")
	case schemas && cols:
		late("column specification not allowed for schema")
	case schemas && !plain:
		late("invalid schema name")
	}
}
