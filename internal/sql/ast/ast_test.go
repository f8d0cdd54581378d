package ast

import (
	"sort"
	"testing"
)

// TestQuoteIdent checks when a name needs quotes.
func TestQuoteIdent(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a_1": "a_1", "_x": "_x", "name": "name", "value": "value",
		"A": `"A"`, "1a": `"1a"`, "a b": `"a b"`, `a"b`: `"a""b"`, "": `""`, "é": `"é"`, "a$": `"a$"`,
		"select": `"select"`, "int": `"int"`, "left": `"left"`, "user": `"user"`,
	} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
	n := TableName{Schema: "S", Table: "order"}
	if got := n.String(); got != `"S"."order"` {
		t.Error(got)
	}
}

// TestQuoteLiteral checks that quotes and backslashes are escaped.
func TestQuoteLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "a": "'a'", "it's": "'it''s'", `a\b`: `E'a\\b'`, `'\`: `E'''\\'`,
	} {
		if got := QuoteLiteral(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}

// TestKeywords checks that the list can be searched and holds each class.
func TestKeywords(t *testing.T) {
	if !sort.SliceIsSorted(Keywords[:], func(i, j int) bool { return Keywords[i].Word < Keywords[j].Word }) {
		t.Error("not sorted")
	}
	for word, want := range map[string]KeywordClass{
		"abort": Unreserved, "int": ColName, "left": TypeFuncName, "select": Reserved,
	} {
		if k, ok := LookupKeyword(word); !ok || k.Class != want {
			t.Errorf("%s: %v %t", word, k, ok)
		}
	}
	if _, ok := LookupKeyword("upsert"); ok {
		t.Error("upsert is no keyword of PostgreSQL")
	}
}

// TestShowKindsHaveNames checks that every list of SHOW prints as words.
func TestShowKindsHaveNames(t *testing.T) {
	for k, name := range showKindNames {
		if name == "" {
			t.Errorf("ShowKind %d has no name", k)
		}
	}
}

// tree is (a + f(1, CASE WHEN b THEN 2 END)) over a query in FROM.
func tree() *Select {
	cond := When{Cond: &ColumnRef{Column: "b"}, Result: &IntLit{Val: 2}}
	call := &FuncCall{Name: FuncName{Name: "f"}, Args: []Expr{&IntLit{Val: 1}, &Case{Whens: []When{cond}}}}
	sum := &BinaryOp{Op: Operator{Name: "+"}, L: &ColumnRef{Column: "a"}, R: call}
	inner := &Select{Values: [][]Expr{{&StrLit{Val: "x"}}}}
	return &Select{Items: []SelectItem{{X: sum}}, From: []TableExpr{&SubqueryRef{Query: inner}}}
}

// TestWalk checks that every node is visited, in order, and that pre prunes.
func TestWalk(t *testing.T) {
	var leaves string
	Walk(tree(), func(n Node) bool {
		switch n := n.(type) {
		case *ColumnRef:
			leaves += n.Column
		case *IntLit:
			leaves += string(rune('0' + n.Val))
		case *StrLit:
			leaves += n.Val
		}
		return true
	})
	if leaves != "a1b2x" {
		t.Error(leaves)
	}
	count := 0
	Walk(tree(), func(n Node) bool {
		count++
		_, isCall := n.(*FuncCall)
		return !isCall
	})
	if count != 7 {
		t.Errorf("%d nodes", count)
	}
	Walk(nil, func(Node) bool { t.Error("visited nil"); return true })
}

// TestHeightWithin checks the measure that bounds recursion.
func TestHeightWithin(t *testing.T) {
	s := tree() // Select, BinaryOp, FuncCall, Case, IntLit
	if !HeightWithin(s, 5) || HeightWithin(s, 4) {
		t.Error("the tree is 5 nodes high")
	}
}

// TestFormat checks the text of nodes that the parser cannot print out of
// context.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		n    Node
		want string
	}{
		{tree(), "SELECT a + f(1, CASE WHEN b THEN 2 END) FROM (VALUES ('x'))"},
		{&TypeName{Names: []Name{"pg_catalog", "varchar"}, Typmods: []Expr{&IntLit{Val: 3}}}, "character varying(3)"},
		{&TypeName{Names: []Name{"pg_catalog", "bpchar"}}, "pg_catalog.bpchar"},
		{&TypeName{Names: []Name{"char"}, ArrayDims: []int{-1, 2}}, `"char"[][2]`},
		{&Join{L: &TableRef{Name: TableName{Table: "a"}}, R: &TableRef{Name: TableName{Table: "b"}}, Using: []Name{"c"}}, "a JOIN b USING (c)"},
		{RoleSpec{Kind: RolePublic}, "PUBLIC"},
	} {
		if got := Format(c.n); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}
