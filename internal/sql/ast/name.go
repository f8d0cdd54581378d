package ast

import "strings"

// Name is an identifier, already case-folded (unless quoted) and truncated to
// MaxIdentLen bytes.
type Name = string

// MaxIdentLen is the number of bytes of an identifier that count.
const MaxIdentLen = 63

// TableName names a relation or any other schema object: table, index, view,
// sequence. Catalog and Schema are "" when not written.
type TableName struct {
	Loc
	Catalog Name
	Schema  Name
	Table   Name
}

// Parts returns the parts of the name that are given.
func (n TableName) Parts() (parts []Name) {
	for _, part := range []Name{n.Catalog, n.Schema, n.Table} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// String prints the name with quotes where needed.
func (n TableName) String() string { return joinIdents(n.Catalog, n.Schema, n.Table) }

// FuncName names a function, with the qualification that was written.
type FuncName struct {
	Catalog Name
	Schema  Name
	Name    Name
}

// String prints the name with quotes where needed.
func (n FuncName) String() string { return joinIdents(n.Catalog, n.Schema, n.Name) }

// Operator is an operator's text with the schema of OPERATOR(schema.op), ""
// when written plainly. != is stored as <>.
type Operator struct {
	Schema Name
	Name   string
}

// joinIdents prints the last part and those before it that are not empty.
func joinIdents(parts ...Name) string {
	var b strings.Builder
	for i, p := range parts {
		if p == "" && i < len(parts)-1 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(QuoteIdent(p))
	}
	return b.String()
}
