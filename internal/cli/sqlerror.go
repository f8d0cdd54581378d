package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-runewidth"
)

// caretWidth is the width of the part of a line that is shown around the position of an error.
const caretWidth = 60

// printError prints an error as psql does: the message, the line with a caret below the position, the
// details. verbose adds the SQLSTATE.
func printError(w io.Writer, err error, sql string, verbose bool) {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		fmt.Fprintf(w, "ERROR:  %v\n", err)
		return
	}
	printMessage(w, pe, sql, verbose)
}

func printNotice(w io.Writer, n *pgconn.Notice, verbose bool) {
	printMessage(w, (*pgconn.PgError)(n), "", verbose)
}

func printMessage(w io.Writer, pe *pgconn.PgError, sql string, verbose bool) {
	if verbose {
		fmt.Fprintf(w, "%s:  %s: %s\n", pe.Severity, pe.Code, pe.Message)
	} else {
		fmt.Fprintf(w, "%s:  %s\n", pe.Severity, pe.Message)
	}
	switch {
	case pe.Position > 0:
		printPlace(w, "LINE", sql, int(pe.Position))
	case pe.InternalPosition > 0:
		fmt.Fprintf(w, "QUERY:  %s\n", pe.InternalQuery)
		printPlace(w, "LINE", pe.InternalQuery, int(pe.InternalPosition))
	}
	for _, f := range []struct{ name, text string }{{"DETAIL", pe.Detail}, {"HINT", pe.Hint}, {"CONTEXT", pe.Where}} {
		if f.text != "" {
			fmt.Fprintf(w, "%s:  %s\n", f.name, f.text)
		}
	}
	if verbose {
		for _, f := range []struct{ name, text string }{
			{"SCHEMA NAME", pe.SchemaName}, {"TABLE NAME", pe.TableName}, {"COLUMN NAME", pe.ColumnName},
			{"DATATYPE NAME", pe.DataTypeName}, {"CONSTRAINT NAME", pe.ConstraintName},
		} {
			if f.text != "" {
				fmt.Fprintf(w, "%s:  %s\n", f.name, f.text)
			}
		}
	}
}

// printPlace prints the line of a statement with the character at pos, counted from 1, and a caret below
// it.
func printPlace(w io.Writer, label, sql string, pos int) {
	chars := []rune(sql)
	if pos < 1 || pos > len(chars)+1 {
		return
	}
	at, number, start := pos-1, 1, 0
	for i := range at {
		if chars[i] == '\n' {
			number++
			start = i + 1
		}
	}
	end := start
	for end < len(chars) && chars[end] != '\n' {
		end++
	}
	line := []rune(strings.ReplaceAll(strings.TrimSuffix(string(chars[start:end]), "\r"), "\t", " "))
	col := min(at-start, len(line))
	before, after := "", ""
	if len(line) > caretWidth {
		from := max(min(col-caretWidth/2, len(line)-caretWidth), 0)
		if from > 0 {
			before = "..."
		}
		if from+caretWidth < len(line) {
			after = "..."
		}
		line, col = line[from:min(from+caretWidth, len(line))], col-from
	}
	prefix := fmt.Sprintf("%s %d: %s", label, number, before)
	indent := len(prefix) + runewidth.StringWidth(string(line[:col]))
	fmt.Fprintf(w, "%s%s%s\n%s^\n", prefix, string(line), after, strings.Repeat(" ", indent))
}
