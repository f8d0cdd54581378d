package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// missingArgument stands in a regoperator for the operand that a prefix operator lacks.
const missingArgument = "NONE"

// callableName prints a function with its argument types, or an operator with or
// without them: the text of regprocedure, regoperator and regoper.
func (c *Catalog) callableName(t *types.T, oid uint32) (string, bool) {
	if t.Is(types.Regprocedure) {
		r := c.routineByOid(oid)
		if r == nil {
			return "", false
		}
		return c.signature(r), true
	}
	o := operatorByOid(oid)
	switch {
	case o == nil:
		return c.userOperatorName(t, oid)
	case t.Is(types.Regoper):
		if len(operatorsNamed(o.Name)) > 1 { // alone the name would not be found again
			return namePgCatalog + "." + o.Name, true
		}
		return o.Name, true
	}
	return o.Name + "(" + strings.Join(operandNames(o), ",") + ")", true
}

func operatorByOid(oid uint32) *call.Overload {
	for _, o := range builtin.All() {
		if o.Operator && o.Oid == oid {
			return o
		}
	}
	return extensionOperator(oid)
}

func operatorsNamed(name string) []*call.Overload {
	return slices.Concat(builtin.Operators(name, true), builtin.Operators(name, false))
}

// operandNames are the types of an operator's operands as format_type prints them.
func operandNames(o *call.Overload) []string {
	names := typeNames(o.Args)
	if len(names) == 1 {
		return []string{missingArgument, names[0]}
	}
	return names
}

// splitCall takes "name(type, type)" apart; the name may have a schema.
func splitCall(text string) (name string, args []string, err error) {
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return "", nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected a left parenthesis")
	}
	rest := strings.TrimRight(text[open+1:], " \t\n")
	list, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return "", nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected a right parenthesis")
	}
	name = strings.TrimSpace(text[:open])
	if list = strings.TrimSpace(list); list == "" {
		return name, nil, nil
	}
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				args, from = append(args, strings.TrimSpace(list[from:i])), i+1
			}
		}
	}
	return name, append(args, strings.TrimSpace(list[from:])), nil
}

// argumentOids resolves the types of a call; NONE is 0.
func (c *Catalog) argumentOids(args []string, none bool) ([]uint32, error) {
	oids := make([]uint32, len(args))
	for i, a := range args {
		if none && strings.EqualFold(a, missingArgument) {
			continue
		}
		var err error
		if oids[i], err = c.typeOid(a); err != nil {
			return nil, err
		}
	}
	return oids, nil
}

func hasArguments(args []*types.T, oids []uint32) bool {
	if len(args) != len(oids) {
		return false
	}
	for i, a := range args {
		if a.Oid != oids[i] {
			return false
		}
	}
	return true
}

// procedureOid resolves "lower(text)".
func (c *Catalog) procedureOid(text string) (uint32, error) {
	name, args, err := splitCall(text)
	if err != nil {
		return 0, err
	}
	oids, err := c.argumentOids(args, false)
	if err != nil {
		return 0, err
	}
	undefined := pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", text)
	names, err := parts(name)
	if err != nil {
		return 0, err
	}
	schema := ""
	if len(names) > 1 {
		schema = names[len(names)-2]
		if err := c.checkSchema(schema); err != nil {
			return 0, err
		}
	}
	for _, r := range c.routinesNamed(names[len(names)-1]) {
		if (schema == r.schemaName() || schema == "" && c.onPath(r)) && hasArguments(r.args, oids) {
			return r.oid, nil
		}
	}
	return 0, undefined
}

// operatorName takes the schema off an operator's name, "" for none.
func operatorName(s string) (schema, name string, err error) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", strings.TrimSpace(s), nil
	}
	names, err := parts(s[:i])
	if err != nil {
		return "", "", err
	}
	return names[len(names)-1], strings.TrimSpace(s[i+1:]), nil
}

func undefinedOperator(s string) error {
	return pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", s)
}

// operatorOid resolves the name of an operator that there is once.
func (c *Catalog) operatorOid(text string) (uint32, error) {
	schema, name, err := operatorName(text)
	if err != nil {
		return 0, err
	}
	var found []uint32
	if schema == "" || schema == namePgCatalog {
		for _, o := range operatorsNamed(name) {
			found = append(found, o.Oid)
		}
	}
	for _, t := range c.userOperators(schema, name) {
		found = append(found, t.Oid)
	}
	switch len(found) {
	case 0:
		return 0, undefinedOperator(text)
	case 1:
		return found[0], nil
	}
	return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one operator named %s", name)
}

// operatorWithOid resolves "+(integer,integer)" and "-(NONE,integer)".
func (c *Catalog) operatorWithOid(text string) (uint32, error) {
	name, args, err := splitCall(text)
	if err != nil {
		return 0, err
	}
	switch {
	case len(args) == 1:
		return 0, pgerr.New(pgerr.UndefinedParameter, "missing argument").
			WithHint("Use NONE to denote the missing argument of a unary operator.")
	case len(args) != 2:
		return 0, pgerr.New(pgerr.TooManyArguments, "too many arguments").WithHint("Provide two argument types for operator.")
	}
	oids, err := c.argumentOids(args, true)
	if err != nil {
		return 0, err
	}
	schema, name, err := operatorName(name)
	if err != nil {
		return 0, err
	}
	unary := oids[0] == 0
	if unary {
		oids = oids[1:]
	}
	if schema == "" || schema == namePgCatalog {
		for _, o := range builtin.Operators(name, unary) {
			if hasArguments(o.Args, oids) {
				return o.Oid, nil
			}
		}
	}
	for _, t := range c.userOperators(schema, name) {
		if hasArguments(t.Routine.IdentityTypes(), oids) {
			return t.Oid, nil
		}
	}
	return 0, undefinedOperator(text)
}
