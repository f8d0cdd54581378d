package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/sql/ast"
)

const metaHelp = `Statements end with a semicolon.
  \q                 quit (also exit, quit, ctrl-d)
  \?                 this list
  \h [STATEMENT]     the syntax of a statement
Queries
  \g, \gx            execute what was entered, or the last statement again (\gx: one line per column)
  \watch [SECONDS]   execute what was entered, or the last statement, again and again (every 2 s) until ctrl-c
  \p                 show what was entered
  \r                 forget what was entered
  \e [FILE]          edit what was entered, or the last statement, or a file, and execute it
  \o [FILE]          write results to a file, or to the terminal again
Objects
  \l                 databases
  \d [NAME]          a table, view, index or sequence; without NAME all of them (\d+ NAME: a view's query too)
  \dt [NAME]         tables
  \di [NAME]         indexes
  \ds [NAME]         sequences
  \dv [NAME]         views
  \df [NAME]         functions
  \dT [NAME]         data types
  \dn                schemas
  \du                users
Files and programs
  \i FILE            execute the statements of a file
  \copy …            COPY from or to a file of this machine: \copy t FROM 'file' WITH (FORMAT csv)
  \! COMMAND         run a command of the operating system
  \echo TEXT         print a text
Nodes of lichen demo
  \demo ls           the nodes
  \demo shutdown N, restart N, add [LOCALITY], decommission N, recommission N
Display and connection
  \c [DATABASE]      connect to another database
  \conninfo          show the connection
  \x                 one line per column, or one per row again
  \timing            show how long statements take, or no longer
  \set [NAME=VALUE]  options: display_format (table, csv, tsv, json, records), errexit, show_times,
                     expanded, echo, verbosity (default, verbose)
`

// command executes a backslash command.
func (sh *shell) command(line string) error {
	name, arg, _ := strings.Cut(line, " ")
	name = strings.TrimSuffix(strings.TrimSpace(name), ";")
	if strings.HasPrefix(name, `\!`) {
		name, arg = `\!`, strings.TrimPrefix(line, `\!`)
	}
	arg = strings.TrimSpace(arg)
	if name != `\!` && name != `\echo` {
		arg = strings.TrimSpace(strings.TrimSuffix(arg, ";"))
	}
	err := sh.dispatch(name, arg)
	if err == nil || errors.Is(err, errQuit) || errors.Is(err, errShown) {
		return err
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return sh.report(err, "") // the query is not the user's: its text is not shown
	}
	fmt.Fprintf(sh.err, "%s: %v\n", name, err)
	if sh.errexit {
		return errShown
	}
	return nil
}

func (sh *shell) dispatch(name, arg string) error {
	switch name {
	case `\q`:
		return errQuit
	case `\?`:
		fmt.Fprint(sh.out, metaHelp)
	case `\h`:
		return sh.syntax(arg)
	case `\g`, `\gx`:
		return sh.again(name == `\gx`)
	case `\watch`:
		return sh.watch(arg)
	case `\p`:
		fmt.Fprint(sh.out, sh.scan.text.String())
	case `\r`:
		sh.scan = statementScanner{}
	case `\c`, `\connect`:
		return sh.changeDatabase(arg)
	case `\conninfo`:
		fmt.Fprintf(sh.out, "You are connected to database %q as user %q on %s, port %d.\n",
			sh.cfg.Database, sh.cfg.User, sh.cfg.Host, sh.cfg.Port)
	case `\i`:
		return sh.include(arg)
	case `\e`:
		return sh.edit(arg)
	case `\o`:
		return sh.redirect(arg)
	case `\copy`:
		return sh.copyFile(arg)
	case `\demo`:
		if sh.demo == nil {
			return errors.New("only lichen demo has nodes to be shut down and added")
		}
		return sh.demo(arg)
	case `\x`:
		return sh.toggle(&sh.expanded, arg, "Expanded display is %s.\n")
	case `\timing`:
		return sh.toggle(&sh.timing, arg, "Timing is %s.\n")
	case `\!`:
		return sh.shellOut(arg)
	case `\echo`:
		fmt.Fprintln(sh.out, arg)
	case `\set`:
		if arg == "" {
			sh.showOptions()
			return nil
		}
		return sh.set(arg)
	default:
		return sh.describe(name, arg)
	}
	return nil
}

// again executes the query buffer, or the last statement.
func (sh *shell) again(expanded bool) error {
	sql := sh.scan.rest()
	if sql == "" {
		sql = sh.last
	}
	if sql == "" {
		return nil
	}
	if expanded {
		defer func(was bool) { sh.expanded = was }(sh.expanded)
		sh.expanded = true
	}
	return sh.statement(sql)
}

func (sh *shell) changeDatabase(name string) error {
	if name == "" {
		return sh.dispatch(`\conninfo`, "")
	}
	old := sh.cfg
	sh.cfg = old.Copy()
	sh.cfg.Database = strings.Trim(name, `"`)
	if err := sh.connect(); err != nil {
		sh.cfg = old
		return err
	}
	fmt.Fprintf(sh.out, "You are now connected to database %q as user %q.\n", sh.cfg.Database, sh.cfg.User)
	return nil
}

func (sh *shell) include(name string) error {
	if name == "" {
		return errors.New("name a file")
	}
	if sh.includes >= maxIncludes {
		return fmt.Errorf("files include each other more than %d deep", maxIncludes)
	}
	f, err := os.Open(strings.Trim(name, `'"`))
	if err != nil {
		return err
	}
	defer f.Close()
	sh.includes++
	defer func(in lineReader, was bool) { sh.input, sh.interactive, sh.includes = in, was, sh.includes-1 }(sh.input, sh.interactive)
	sh.input = newTextLines(f)
	sh.interactive = false
	return sh.lines()
}

func (sh *shell) toggle(v *bool, arg, message string) error {
	switch strings.ToLower(arg) {
	case "":
		*v = !*v
	case "on", "true", "1":
		*v = true
	case "off", "false", "0":
		*v = false
	default:
		return fmt.Errorf("%q is neither on nor off", arg)
	}
	fmt.Fprintf(sh.out, message, map[bool]string{true: "on", false: "off"}[*v])
	return nil
}

func (sh *shell) shellOut(command string) error {
	if command == "" {
		return errors.New("give a command")
	}
	c := exec.Command("/bin/sh", "-c", command)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, sh.out, sh.err
	return sh.runProgram(c)
}

func (sh *shell) showOptions() {
	verbosity := map[bool]string{true: "verbose", false: "default"}[sh.verbose]
	fmt.Fprintf(sh.out, "display_format = %s\necho = %t\nerrexit = %t\nexpanded = %t\nshow_times = %t\nverbosity = %s\n",
		sh.format, sh.echo, sh.errexit, sh.expanded, sh.timing, verbosity)
}

// syntaxes are the synopses of the statements that users look up most.
var syntaxes = map[string]string{
	"ALTER TABLE":     "ALTER TABLE name { ADD COLUMN col type … | DROP COLUMN col | RENAME … TO … | ADD CONSTRAINT … | ALTER COLUMN … }",
	"BEGIN":           "BEGIN [ISOLATION LEVEL {SERIALIZABLE | REPEATABLE READ | READ COMMITTED}] [READ ONLY | READ WRITE]",
	"COMMIT":          "COMMIT",
	"COPY":            "COPY table [(cols)] {FROM STDIN | TO STDOUT} [WITH (FORMAT {text | csv}, DELIMITER …, NULL …, HEADER)]",
	"CREATE INDEX":    "CREATE [UNIQUE] INDEX [CONCURRENTLY] [IF NOT EXISTS] [name] ON table [USING {btree | hash | gin | gist | brin}] ({col | (expr)} [ASC | DESC | HASH], …) [INCLUDE (cols)] [SPLIT …] [WHERE cond]",
	"CREATE TABLE":    "CREATE TABLE [IF NOT EXISTS] name (col type [NOT NULL] [DEFAULT expr] [PRIMARY KEY | UNIQUE] [CHECK (expr)], … [, PRIMARY KEY (cols)])",
	"DELETE":          "DELETE FROM table [USING …] [WHERE cond] [RETURNING exprs]",
	"DROP TABLE":      "DROP TABLE [IF EXISTS] name [, …]",
	"EXPLAIN":         "EXPLAIN [ANALYZE] statement",
	"INSERT":          "INSERT INTO table [(cols)] {VALUES (…), … | SELECT …} [ON CONFLICT [(cols)] DO {NOTHING | UPDATE SET …}] [RETURNING exprs]",
	"ROLLBACK":        "ROLLBACK [TO SAVEPOINT name]",
	"SAVEPOINT":       "SAVEPOINT name",
	"SELECT":          "SELECT [DISTINCT] exprs [FROM tables [JOIN …]] [WHERE cond] [GROUP BY exprs] [HAVING cond] [ORDER BY exprs] [LIMIT n] [OFFSET n] [FOR UPDATE …] [AS OF SYSTEM TIME t]",
	"SET":             "SET name {= | TO} value",
	"SHOW":            "SHOW {name | ALL | " + strings.Join(ast.ShowKindNames(), " | ") + " | RANGES}",
	"TRUNCATE":        "TRUNCATE [TABLE] name [, …]",
	"UPDATE":          "UPDATE table SET col = expr, … [FROM …] [WHERE cond] [RETURNING exprs]",
	"UPSERT":          "UPSERT INTO table [(cols)] {VALUES (…), … | SELECT …} [RETURNING exprs]",
	"CREATE DATABASE": "CREATE DATABASE [IF NOT EXISTS] name",
}

func (sh *shell) syntax(name string) error {
	names := make([]string, 0, len(syntaxes))
	for n := range syntaxes {
		if strings.HasPrefix(n, strings.ToUpper(name)) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	switch {
	case len(names) == 0:
		return fmt.Errorf("no help for %q; \\h alone lists the statements", name)
	case name == "":
		fmt.Fprintln(sh.out, strings.Join(names, "\n"))
	default:
		for _, n := range names {
			fmt.Fprintln(sh.out, syntaxes[n])
		}
	}
	return nil
}
