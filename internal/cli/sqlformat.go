package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/mattn/go-runewidth"
)

// formats are the formats of printed rows.
var formats = []string{"table", "csv", "tsv", "json", "records"}

// rowPrinter prints the rows of one result. Values have the server's text form; nil is NULL. A value is valid
// only during the call.
type rowPrinter interface {
	row(values [][]byte)
	end() error
}

func newRowPrinter(format string, w io.Writer, cols []pgconn.FieldDescription) rowPrinter {
	b := bufio.NewWriter(w)
	switch format {
	case "csv":
		p := &linePrinter{b, ",", quoteCSV, ""}
		p.header(cols)
		return p
	case "tsv":
		p := &linePrinter{b, "\t", escapeTSV, `\N`}
		p.header(cols)
		return p
	case "json":
		return &jsonPrinter{w: b, cols: cols}
	case "records":
		return &recordPrinter{w: b, names: columnNames(cols)}
	}
	return &tablePrinter{w: b, cols: cols}
}

func columnNames(cols []pgconn.FieldDescription) []string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	return names
}

// linePrinter prints one row per line.
type linePrinter struct {
	w      *bufio.Writer
	sep    string
	encode func(string) string
	null   string
}

func (p *linePrinter) header(cols []pgconn.FieldDescription) {
	names := columnNames(cols)
	for i := range names {
		names[i] = p.encode(names[i])
	}
	fmt.Fprintln(p.w, strings.Join(names, p.sep))
}

func (p *linePrinter) row(values [][]byte) {
	for i, v := range values {
		if i > 0 {
			p.w.WriteString(p.sep)
		}
		if v == nil {
			p.w.WriteString(p.null)
		} else {
			p.w.WriteString(p.encode(string(v)))
		}
	}
	p.w.WriteByte('\n')
}

func (p *linePrinter) end() error { return p.w.Flush() }

// quoteCSV quotes a value if necessary. It quotes an empty string, since NULL is printed as nothing.
func quoteCSV(s string) string {
	if s != "" && s != `\.` && !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// escapeTSV escapes as COPY's text format does.
func escapeTSV(s string) string {
	if !strings.ContainsAny(s, "\\\t\r\n") {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\r", `\r`, "\n", `\n`).Replace(s)
}

// jsonPrinter prints an array of objects, one per line.
type jsonPrinter struct {
	w    *bufio.Writer
	cols []pgconn.FieldDescription
	rows int
}

func (p *jsonPrinter) row(values [][]byte) {
	p.w.WriteString([]string{"[\n", ",\n"}[min(p.rows, 1)])
	p.rows++
	p.w.WriteString("  {")
	for i, v := range values {
		if i > 0 {
			p.w.WriteString(", ")
		}
		p.w.WriteString(jsonString(p.cols[i].Name) + ": " + jsonValue(v, p.cols[i].DataTypeOID))
	}
	p.w.WriteByte('}')
}

func (p *jsonPrinter) end() error {
	p.w.WriteString([]string{"[]\n", "\n]\n"}[min(p.rows, 1)])
	return p.w.Flush()
}

func jsonString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func jsonValue(v []byte, oid uint32) string {
	switch {
	case v == nil:
		return "null"
	case oid == pgtype.BoolOID && string(v) == "t":
		return "true"
	case oid == pgtype.BoolOID && string(v) == "f":
		return "false"
	case (oid == pgtype.JSONOID || oid == pgtype.JSONBOID || isNumber(oid)) && json.Valid(v):
		return string(v)
	}
	return jsonString(string(v)) // NaN and Infinity too
}

// isNumber reports whether psql aligns values of a type to the right.
func isNumber(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID,
		pgtype.OIDOID, pgtype.XIDOID, pgtype.CIDOID, moneyOID:
		return true
	}
	return false
}

const moneyOID = 790

// tablePrinter aligns columns as psql does. It keeps all rows to know their width.
type tablePrinter struct {
	w    *bufio.Writer
	cols []pgconn.FieldDescription
	rows [][]string
}

func (p *tablePrinter) row(values [][]byte) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = printable(string(v))
	}
	p.rows = append(p.rows, row)
}

// printable escapes control characters, which would disturb a terminal.
func printable(s string) string {
	if strings.IndexFunc(s, isControl) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, isControl(r) && r < 0x80:
			if r == '\r' {
				b.WriteString(`\r`)
			} else {
				fmt.Fprintf(&b, `\x%02X`, s[i])
			}
		case isControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0
}

// expandTabs replaces tabs by blanks up to multiples of eight columns, so that widths can be computed.
func expandTabs(s string) string {
	if !strings.ContainsRune(s, '\t') {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", 8-runewidth.StringWidth(b.String())%8))
		}
		b.WriteString(part)
	}
	return b.String()
}

func cellLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = expandTabs(lines[i])
	}
	return lines
}

func cellWidth(s string) int {
	w := 0
	for _, l := range cellLines(s) {
		w = max(w, runewidth.StringWidth(l))
	}
	return w
}

func (p *tablePrinter) end() error {
	widths := make([]int, len(p.cols))
	for i, c := range p.cols {
		widths[i] = cellWidth(c.Name)
	}
	for _, r := range p.rows {
		for i, v := range r {
			widths[i] = max(widths[i], cellWidth(v))
		}
	}
	if len(p.cols) > 0 {
		p.line(columnNames(p.cols), widths, true)
		for i, w := range widths {
			if i > 0 {
				p.w.WriteByte('+')
			}
			p.w.WriteString(strings.Repeat("-", w+2))
		}
		p.w.WriteByte('\n')
	} else {
		p.w.WriteString("--\n")
	}
	for _, r := range p.rows {
		p.line(r, widths, false)
	}
	p.w.WriteString(rowCount(len(p.rows)) + "\n\n")
	return p.w.Flush()
}

func rowCount(n int) string {
	if n == 1 {
		return "(1 row)"
	}
	return fmt.Sprintf("(%d rows)", n)
}

// line prints a row, or the centered names of the columns. A value with several lines takes several lines,
// marked with + at their ends.
func (p *tablePrinter) line(cells []string, widths []int, header bool) {
	lines, height := make([][]string, len(cells)), 1
	for i, c := range cells {
		lines[i] = cellLines(c)
		height = max(height, len(lines[i]))
	}
	for n := range height {
		for i := range cells {
			if i > 0 {
				p.w.WriteByte('|')
			}
			text := ""
			if n < len(lines[i]) {
				text = lines[i][n]
			}
			mark, pad := " ", widths[i]-runewidth.StringWidth(text)
			if n+1 < len(lines[i]) {
				mark = "+"
			}
			left := 0
			switch {
			case header:
				left = pad / 2
			case isNumber(p.cols[i].DataTypeOID):
				left = pad
			}
			right := strings.Repeat(" ", pad-left) + mark
			if i == len(cells)-1 && mark == " " && !header {
				right = "" // no blanks at the end of a line
			}
			p.w.WriteString(" " + strings.Repeat(" ", left) + text + right)
		}
		p.w.WriteByte('\n')
	}
}

// recordPrinter prints one line per column, as psql's expanded display does.
type recordPrinter struct {
	w     *bufio.Writer
	names []string
	rows  [][]string
}

func (p *recordPrinter) row(values [][]byte) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = printable(string(v))
	}
	p.rows = append(p.rows, row)
}

func (p *recordPrinter) end() error {
	if len(p.rows) == 0 {
		p.w.WriteString("(0 rows)\n\n")
		return p.w.Flush()
	}
	nameWidth, valueWidth := 0, 0
	for _, n := range p.names {
		nameWidth = max(nameWidth, cellWidth(n))
	}
	for _, r := range p.rows {
		for _, v := range r {
			valueWidth = max(valueWidth, cellWidth(v))
		}
	}
	for n, r := range p.rows {
		head := fmt.Sprintf("-[ RECORD %d ]", n+1)
		if len(head) < nameWidth+1 {
			head += strings.Repeat("-", nameWidth+1-len(head)) + "+" + strings.Repeat("-", valueWidth+1)
		} else if total := nameWidth + valueWidth + 3; len(head) < total {
			tail := []byte(strings.Repeat("-", total-len(head)))
			if at := nameWidth + 1 - len(head); at >= 0 {
				tail[at] = '+'
			}
			head += string(tail)
		}
		p.w.WriteString(head + "\n")
		for i, v := range r {
			p.field(p.names[i], nameWidth, v, valueWidth)
		}
	}
	p.w.WriteByte('\n')
	return p.w.Flush()
}

func (p *recordPrinter) field(name string, width int, value string, valueWidth int) {
	lines := cellLines(value)
	for n, l := range lines {
		label := ""
		if n == 0 {
			label = name
		}
		if n+1 < len(lines) {
			l += strings.Repeat(" ", valueWidth-runewidth.StringWidth(l)) + "+"
		}
		text := " " + l
		if l == "" {
			text = " "
		}
		fmt.Fprintf(p.w, "%s%s |%s\n", label, strings.Repeat(" ", width-runewidth.StringWidth(label)), text)
	}
}
