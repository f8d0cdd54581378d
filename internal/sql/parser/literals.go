package parser

// Literal is an integer in a statement's text, with the minus that is folded into
// it, if there is one.
type Literal struct {
	// Start and End are byte offsets. Pos is the position of the literal in AST.
	Start, End, Pos int
	Val             int64
}

// Limits of the texts that Literals looks at.
const (
	maxLiteralText = 4 << 10
	maxLiterals    = 64
)

// Literals appends to dst the integers in sql that are operands of an operator or
// members of a list, in the order of the text: what a client may put there in
// place of a parameter. It answers false for texts in which that makes little
// sense: long ones, several statements, those with parameters, and all but SELECT,
// INSERT, UPDATE and DELETE. That it answers true does not mean that the text can
// be parsed.
func Literals(sql string, dst []Literal) ([]Literal, bool) {
	if len(sql) > maxLiteralText || !isASCII(sql) {
		return dst, false
	}
	l := lexer{sql: sql}
	t := l.next()
	switch t.kind {
	case kwSelect, kwInsert, kwUpdate, kwDelete:
	default:
		return dst, false
	}
	// The kinds of the two tokens before t, and where the last one starts.
	before, last := kind(tokEOF), t.kind
	lastStart := int32(0)
	for t = l.next(); t.kind != tokEOF; t = l.next() {
		switch t.kind {
		case tokError, tokParam, 0: // a zero byte is an error of the parser
			return dst, false
		case ';':
			for t.kind == ';' {
				t = l.next()
			}
			return dst, t.kind == tokEOF && len(dst) > 0
		case tokInt:
			if !takesOperand(last) {
				break
			}
			if len(dst) == maxLiterals {
				return dst, false
			}
			lit := Literal{Start: int(t.start), End: int(t.end), Pos: int(t.start) + 1, Val: t.num}
			if last == '-' && takesOperand(before) {
				lit.Start, lit.Pos, lit.Val = int(lastStart), int(lastStart)+1, -t.num
			}
			dst = append(dst, lit)
		}
		before, last, lastStart = last, t.kind, t.start
	}
	return dst, len(dst) > 0
}

// takesOperand reports whether an operand can follow a token of kind k. It need not
// know them all.
func takesOperand(k kind) bool {
	switch k {
	case '=', '<', '>', tokLE, tokGE, tokNE, '+', '-', '(', ',', kwBetween, kwAnd:
		return true
	}
	return false
}
