package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/console"
	"github.com/spf13/cobra"
)

// apiCommands are the commands that show what the console shows, by the API that its pages use.
func apiCommands(s *streams) []*cobra.Command {
	return []*cobra.Command{newOverview(s), newRange(s), newJob(s), newEvent(s), newStatement(s), newAPI(s)}
}

// apiCommand returns a command that calls the API. args is how many arguments it takes.
func apiCommand(s *streams, use, short string, args int, run func(ctx context.Context, c *apiClient, format string, args []string) error) *cobra.Command {
	f, format := &apiFlags{}, ""
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(c *cobra.Command, given []string) error {
			if len(given) != args {
				return usageError{fmt.Errorf("it takes %d arguments: %s", args, c.UseLine())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, given []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			ctx := context.Background()
			api, err := f.open(ctx, s)
			if err != nil {
				return err
			}
			defer api.close(ctx)
			return run(ctx, api, format, given)
		},
	}
	f.add(c)
	addFormat(c.Flags(), &format)
	return c
}

// group returns a command that only has others.
func group(use, short string, of ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(of...)
	return c
}

func newOverview(s *streams) *cobra.Command {
	c := apiCommand(s, "overview", "Show what needs attention in the cluster, and its nodes", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var o console.Overview
		if err := c.get(ctx, "overview", &o); err != nil {
			return err
		}
		if err := printProblems(s.out, format, o.Problems); err != nil {
			return err
		}
		var rows [][]string
		for i := range o.Nodes {
			rows = append(rows, overviewRow(&o.Nodes[i]))
		}
		return printRows(s.out, format, []string{"node", "state", "sql_address", "locality", "replicas", "leaders", "statements_per_second", "p50_ms", "p99_ms", "sessions"}, rows)
	})
	c.Long = "Show what needs attention in the cluster, the worst first, with what to do about it, and its nodes: what the first page\nof the console shows."
	return c
}

// printProblems prints what needs attention: for people as text, which is too long for columns.
func printProblems(w io.Writer, format string, list []console.Problem) error {
	if format != "table" {
		var rows [][]string
		for _, p := range list {
			rows = append(rows, []string{p.Severity, p.Title, p.Detail, p.Action})
		}
		return printRows(w, format, []string{"severity", "problem", "detail", "what_to_do"}, rows)
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "Nothing needs attention.")
	}
	for _, p := range list {
		fmt.Fprintf(w, "%s: %s\n", strings.ToUpper(p.Severity), p.Title)
		if p.Detail != "" {
			fmt.Fprintf(w, "  %s\n", p.Detail)
		}
		fmt.Fprintf(w, "  What to do: %s\n", p.Action)
	}
	fmt.Fprintln(w)
	return nil
}

func overviewRow(n *console.NodeInfo) []string {
	return []string{
		fmt.Sprint(n.ID), n.State, n.SQLAddress, n.Locality, fmt.Sprint(n.Ranges), fmt.Sprint(n.Leaders), fmt.Sprintf("%.1f", n.Statements),
		milliseconds(n.P50), milliseconds(n.P99), fmt.Sprint(n.Sessions),
	}
}

// milliseconds prints seconds as such.
func milliseconds(seconds float64) string { return fmt.Sprintf("%.2f", seconds*1000) }

// at prints a time in milliseconds since 1970; 0 is none.
func at(ms int64) string {
	if ms == 0 {
		return ""
	}
	return statusTime(time.UnixMilli(ms))
}

func newRange(s *streams) *cobra.Command {
	var search string
	var problems bool
	var limit int
	ls := apiCommand(s, "ls", "List ranges, those that serve most requests first", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		q := url.Values{"limit": {strconv.Itoa(limit)}}
		if search != "" {
			q.Set("search", search)
		}
		if problems {
			q.Set("problems", "true")
		}
		var found console.Ranges
		if err := c.get(ctx, "ranges?"+q.Encode(), &found); err != nil {
			return err
		}
		var rows [][]string
		for _, r := range found.Ranges {
			var nodes []string
			for _, x := range r.Replicas {
				nodes = append(nodes, fmt.Sprint(x.Node))
			}
			rows = append(rows, []string{fmt.Sprint(r.ID), r.Start, r.End, fmt.Sprint(r.Bytes), fmt.Sprintf("%.1f", r.Rate), fmt.Sprint(r.Leader), strings.Join(nodes, " "), strings.Join(r.Problems, "; ")})
		}
		return printRows(s.out, format, []string{"range", "start_key", "end_key", "bytes", "requests_per_second", "leader", "replicas", "problems"}, rows)
	})
	fl := ls.Flags()
	fl.StringVar(&search, "search", "", "only ranges with this text in their keys, or this number")
	fl.BoolVar(&problems, "problems", false, "only ranges that are not as they should be")
	fl.IntVar(&limit, "limit", 100, "how many at most")
	return group("range", "List the ranges of the cluster", ls)
}

func newJob(s *streams) *cobra.Command {
	ls := apiCommand(s, "ls", "List long statements that change tables, and removals of unused data", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var found console.Jobs
		if err := c.get(ctx, "jobs", &found); err != nil {
			return err
		}
		var rows [][]string
		for _, j := range found.Jobs {
			rows = append(rows, []string{fmt.Sprint(j.ID), j.Type, j.Status, j.User, j.Database, fmt.Sprint(j.Rows), at(j.Created), at(j.Finished), j.Description, j.Error})
		}
		return printRows(s.out, format, []string{"job", "type", "status", "user", "database", "rows_read", "created", "finished", "description", "error"}, rows)
	})
	c := group("job", "List, pause, resume and cancel jobs", ls)
	for _, x := range [][3]string{
		{"pause", "Pause a job", "paused"}, {"resume", "Have a paused job go on", "resumed"}, {"cancel", "Cancel a job, and undo what it did", "canceled"},
	} {
		c.AddCommand(apiCommand(s, x[0]+" ID", x[1], 1, func(ctx context.Context, c *apiClient, _ string, args []string) error {
			if err := c.call(ctx, http.MethodPost, "jobs/"+url.PathEscape(args[0])+"/"+x[0], nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "job %s is %s\n", args[0], x[2])
			return nil
		}))
	}
	return c
}

func newEvent(s *streams) *cobra.Command {
	limit := 0
	ls := apiCommand(s, "ls", "List what happened in the cluster, the newest first", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var found console.Events
		if err := c.get(ctx, "events?limit="+strconv.Itoa(limit), &found); err != nil {
			return err
		}
		var rows [][]string
		for _, e := range found.Events {
			rows = append(rows, []string{at(e.At), fmt.Sprint(e.Node), e.Kind, e.User, e.Text})
		}
		return printRows(s.out, format, []string{"at", "node", "kind", "user", "event"}, rows)
	})
	ls.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return group("event", "List what happened in the cluster", ls)
}

func newStatement(s *streams) *cobra.Command {
	limit := 0
	ls := apiCommand(s, "ls", "List what statements have cost, by fingerprint", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var found console.Statements
		if err := c.get(ctx, "statements?limit="+strconv.Itoa(limit), &found); err != nil {
			return err
		}
		var rows [][]string
		for _, x := range found.Statements {
			rows = append(rows, []string{
				x.Fingerprint, x.Database, x.User, fmt.Sprint(x.Calls), milliseconds(x.Total), milliseconds(x.Mean), milliseconds(x.P99), milliseconds(x.Contention),
				fmt.Sprint(x.Rows), fmt.Sprint(x.RowsRead), fmt.Sprint(x.Retries), fmt.Sprint(x.Errors), x.Query,
			})
		}
		return printRows(s.out, format, []string{"fingerprint", "database", "user", "calls", "total_ms", "mean_ms", "p99_ms", "contention_ms", "rows", "rows_read", "retries", "errors", "statement"}, rows)
	})
	slow := apiCommand(s, "slow", "List the last statements that took long", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var found console.SlowStatements
		if err := c.get(ctx, "slow-statements?limit="+strconv.Itoa(limit), &found); err != nil {
			return err
		}
		var rows [][]string
		for _, x := range found.Statements {
			rows = append(rows, []string{at(x.Began), fmt.Sprint(x.Node), x.Database, x.User, milliseconds(x.Duration), milliseconds(x.Contention), fmt.Sprint(x.Rows), fmt.Sprint(x.RowsRead), x.Code, x.Query})
		}
		return printRows(s.out, format, []string{"began", "node", "database", "user", "took_ms", "contention_ms", "rows", "rows_read", "sqlstate", "statement"}, rows)
	})
	for _, c := range []*cobra.Command{ls, slow} {
		c.Flags().IntVar(&limit, "limit", 100, "how many at most")
	}
	return group("statement", "List what statements have cost, slow ones, and bundles of EXPLAIN ANALYZE (DEBUG)", ls, slow, newBundles(s), newBundle(s))
}

func newBundles(s *streams) *cobra.Command {
	return apiCommand(s, "bundles", "List the bundles that EXPLAIN ANALYZE (DEBUG) has kept", 0, func(ctx context.Context, c *apiClient, format string, _ []string) error {
		var found console.Diagnostics
		if err := c.get(ctx, "statement-diagnostics", &found); err != nil {
			return err
		}
		var rows [][]string
		for _, d := range found.Diagnostics {
			rows = append(rows, []string{d.ID, at(d.At), fmt.Sprint(d.Node), d.Database, d.User, d.Query})
		}
		return printRows(s.out, format, []string{"bundle", "at", "node", "database", "user", "statement"}, rows)
	})
}

// bundleMode is that of a bundle's file: it has constants of the statement.
const bundleMode = 0o600

func newBundle(s *streams) *cobra.Command {
	return apiCommand(s, "bundle ID FILE", "Write a bundle of EXPLAIN ANALYZE (DEBUG) to a file, as zip", 2, func(ctx context.Context, c *apiClient, _ string, args []string) error {
		var zip []byte
		if err := c.get(ctx, "statement-diagnostics/"+url.PathEscape(args[0]), &zip); err != nil {
			return err
		}
		if err := os.WriteFile(args[1], zip, bundleMode); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: %d bytes\n", args[1], len(zip))
		return nil
	})
}

func newAPI(s *streams) *cobra.Command {
	method, body := "", ""
	c := apiCommand(s, "api PATH", "Call the API of the console, and print what it answers", 1, func(ctx context.Context, c *apiClient, _ string, args []string) error {
		var send any
		if body != "" {
			send = []byte(body)
		}
		path := strings.TrimPrefix(args[0], apiPath)
		if strings.HasPrefix(path, "/") || strings.Contains(path, "://") {
			return usageError{errors.New("name what follows " + apiPath + ", such as overview")}
		}
		var answer []byte
		if err := c.call(ctx, strings.ToUpper(method), path, send, &answer); err != nil {
			return err
		}
		_, err := s.out.Write(answer)
		return err
	})
	c.Long = "Call the API of the console, and print what it answers: lichen api openapi.json describes it."
	c.Flags().StringVarP(&method, "method", "X", http.MethodGet, "method of the request")
	c.Flags().StringVar(&body, "body", "", "body of the request, JSON")
	return c
}
