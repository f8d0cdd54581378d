package support

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// Runner runs a statement in a session and returns its notices.
type Runner interface {
	Run(ctx context.Context, statement string) (notices []string, err error)
}

// runAll runs statements up to the first that fails, and returns the notices of all.
func runAll(ctx context.Context, r Runner, statements string) (notices []string, err error) {
	for s := range strings.SplitSeq(statements, ";") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := r.Run(ctx, s)
		notices = append(notices, n...)
		if err != nil {
			return notices, err
		}
	}
	return notices, nil
}

const intro = `# What SQL there is

This page is written by ` + "`lichen debug sql-support`" + ` and checked by a test: forms of statements and types were tried, the rest comes
from the registries. "yes" says that the statement works; "no effect" that it is accepted, says so in a NOTICE and does nothing; "no" that
it is refused, with SQLSTATE 0A000 unless the remark is of another kind. Names are PostgreSQL 15's; beside them stand the dialects' additions.
`

// Write writes the page.
func Write(ctx context.Context, w io.Writer, r Runner) error {
	b := bufio.NewWriter(w)
	b.WriteString(intro)
	if _, err := runAll(ctx, r, setup); err != nil {
		return fmt.Errorf("setup.sql: %w", err)
	}
	if err := writeStatements(ctx, b, r); err != nil {
		return err
	}
	if err := writeTypes(ctx, b, r); err != nil {
		return err
	}
	writeOperators(b)
	writeFunctions(b)
	writeNoEffect(b)
	writeParameters(b)
	return b.Flush()
}

// cell makes a text fit for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(s)
}

// code makes a text fit for a cell of a table, as code.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

func writeNoEffect(b *bufio.Writer) {
	b.WriteString("\n## Accepted without effect\n\nEach use is answered with a NOTICE.\n\n| what | why |\n|---|---|\n")
	for _, n := range noeffect.All() {
		fmt.Fprintf(b, "| %s | %s |\n", cell(n.What), cell(n.Why))
	}
}

func writeParameters(b *bufio.Writer) {
	b.WriteString("\n## Parameters\n\nSET of another name is an error, unless it has a dot.\n\n| parameter | default | effect |\n|---|---|---|\n")
	for _, p := range settings.All() {
		effect := "yes"
		switch {
		case p.NoEffect:
			effect = "no effect: " + p.Why
		case p.ReadOnly:
			effect = "shown only"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.Name, cell(p.Default), cell(effect))
	}
}
