package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// errIndexesDiffer makes the command fail when an index differs from its table.
var errIndexesDiffer = errors.New("indexes differ from their tables: REINDEX TABLE makes them anew, and debug zip collects what we need to find out why")

type indexFlags struct {
	nodeFlags
	database, format string
}

func newDebugIndexes(s *streams) *cobra.Command {
	f := &indexFlags{}
	c := &cobra.Command{
		Use:   "check-indexes",
		Short: "Compare every index with the rows of its table",
		Long: "Run INSPECT DATABASE in every database, or in that of --database: compare the entries of every index with the rows\n" +
			"of its table, in one snapshot, while others read and write. Nothing is repaired. Ends with an error if an index\n" +
			"differs.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.add(c)
	c.Flags().StringVar(&f.database, "database", "", "inspect this database only")
	addFormat(c.Flags(), &f.format)
	return c
}

func (f *indexFlags) run(s *streams) error {
	ctx := context.Background()
	databases := []string{f.database}
	if f.database == "" {
		var err error
		if databases, err = f.databases(ctx); err != nil {
			return err
		}
	}
	differ := 0
	for _, db := range databases {
		began := time.Now()
		n, err := f.inspect(ctx, s, db)
		if err != nil {
			return fmt.Errorf("database %s: %w", db, err)
		}
		differ += n
		fmt.Fprintf(s.err, "database %s: %d differences (%v)\n", db, n, time.Since(began).Round(time.Millisecond))
	}
	if differ > 0 {
		return errIndexesDiffer
	}
	return nil
}

// databases returns the names of the databases that take connections.
func (f *indexFlags) databases(ctx context.Context) (names []string, err error) {
	conn, err := f.connectSQL(ctx, "", "debug check-indexes")
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := readRows(ctx, conn, "SELECT datname FROM pg_catalog.pg_database WHERE datallowconn ORDER BY datname")
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}

// inspect prints the differences of a database and returns their number.
func (f *indexFlags) inspect(ctx context.Context, s *streams, database string) (int, error) {
	conn, err := f.connectSQL(ctx, database, "debug check-indexes")
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	rows, err := readRows(ctx, conn, "INSPECT DATABASE "+pgx.Identifier{database}.Sanitize())
	if err != nil || len(rows.Rows) == 0 {
		return 0, err
	}
	p := newRowPrinter(f.format, s.out, rows.FieldDescriptions)
	for _, row := range rows.Rows {
		p.row(row)
	}
	return len(rows.Rows), p.end()
}

// readRows returns the rows of one statement.
func readRows(ctx context.Context, conn *pgconn.PgConn, query string) (*pgconn.Result, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return nil, err
	}
	return results[0], nil
}
