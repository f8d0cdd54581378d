package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/workload/ycsb"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newWorkload(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "workload",
		Short: "Load and run benchmark workloads against any PostgreSQL server",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	initCmd := &cobra.Command{Use: "init", Short: "Make and load a workload's tables", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	initCmd.AddCommand(newYCSB(s, true), newDVDRentalInit(s), newECommerceInit(s), newRetailInit(s))
	runCmd := &cobra.Command{Use: "run", Short: "Run a workload's operations", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	runCmd.AddCommand(newYCSB(s, false), newDVDRentalRun(s), newECommerceRun(s))
	c.AddCommand(initCmd, runCmd)
	return c
}

// noArgs returns a usage error for arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return usageError{fmt.Errorf("unknown command %q for %q\nRun '%s --help' for its commands", args[0], c.CommandPath(), c.CommandPath())}
	}
	return usageError{fmt.Errorf("unexpected argument %q\nRun '%s --help' for its flags", args[0], c.CommandPath())}
}

// ycsbFlags are the flags of workload init|run ycsb. Each property of the workload has a flag.
type ycsbFlags struct {
	files, options []string
	displayEvery   time.Duration
	load           ycsb.InitOptions
	loader         string
	exportFile     string
	duration       time.Duration
	security       clientSecurity
}

func newYCSB(s *streams, load bool) *cobra.Command {
	f := &ycsbFlags{}
	c := &cobra.Command{
		Use:   "ycsb [URL]",
		Short: "Yahoo! Cloud Serving Benchmark, core workloads A to F",
		Long: "Yahoo! Cloud Serving Benchmark: the core workloads with YCSB's properties and its report.\n\n" +
			"URL is any PostgreSQL server; without it that of --db.url, of the environment variable " + urlVar + ",\n" +
			"or " + defaultURL + ".\n" +
			"Properties come from -P files, then --workload, then -p, then flags; later ones win.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("give one URL")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(s, c.Flags(), args, load) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.files, "properties", "P", nil, "Java properties file; may be repeated")
	fl.StringArrayVarP(&f.options, "property", "p", nil, "a property as name=value; may be repeated")
	fl.DurationVar(&f.displayEvery, "display-every", time.Second, "time between lines of progress; 0 for none")
	f.security.add(fl)
	f.security.addHost(fl)
	fl.StringVar(&f.exportFile, "exportfile", "", "write the report to a file instead of standard output")
	if load {
		fl.BoolVar(&f.load.Drop, "drop", false, "drop the table first")
		fl.BoolVar(&f.load.Families, "families", false, "make the table with a column family for each field; not for PostgreSQL")
		fl.StringVar(&f.loader, "data-loader", "insert", "insert or copy")
	} else {
		fl.DurationVar(&f.duration, "duration", 0, "do as many operations as this time allows, unless operationcount is given; 0 for no limit")
	}
	for _, p := range ycsb.Known() {
		fl.String(p.Name, p.Default, p.Help)
	}
	printPreset(fl)
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "threads", "concurrency":
			name = "threadcount"
		case "batch-size":
			name = "db.batchsize"
		case "record-count", "insert-count":
			name = "recordcount"
		case "max-ops":
			name = "operationcount"
		case "max-rate":
			name = "target"
		case "url":
			name = "db.url"
		}
		return pflag.NormalizedName(name)
	})
	return c
}

// printPreset makes the help show the defaults of workload A, which apply unless another workload is named.
func printPreset(fl *pflag.FlagSet) {
	preset, err := ycsb.Preset("A")
	must.NoError(err, "the workload A of YCSB")
	fl.Lookup("workload").DefValue = "A, unless proportions are given"
	for name, value := range preset {
		fl.Lookup(name).DefValue = value + ", by workload A"
	}
}

// config returns the configuration by the properties and flags.
func (f *ycsbFlags) config(fl *pflag.FlagSet, args []string) (*ycsb.Config, error) {
	files, options, flags := ycsb.Properties{}, ycsb.Properties{}, ycsb.Properties{}
	for _, name := range f.files {
		if err := files.LoadFile(name); err != nil {
			return nil, err
		}
	}
	for _, o := range f.options {
		if err := options.Set(o); err != nil {
			return nil, usageError{err}
		}
	}
	for _, p := range ycsb.Known() {
		if g := fl.Lookup(p.Name); g != nil && g.Changed {
			flags[p.Name] = g.Value.String()
		}
	}
	if fl.Changed("display-every") {
		flags["status.interval"] = fmt.Sprint(f.displayEvery.Seconds())
	}
	if f.duration > 0 {
		f.setDuration(flags, files, options)
	}
	props, err := ycsb.Merge(files, options, flags)
	if err != nil {
		return nil, usageError{err}
	}
	if name, ok := props["exportfile"]; ok {
		delete(props, "exportfile")
		if f.exportFile == "" {
			f.exportFile = name
		}
	}
	switch {
	case len(args) > 0:
		props["db.url"] = args[0]
	case props["db.url"] == "":
		props["db.url"] = os.Getenv(urlVar)
	}
	if err := f.secure(props); err != nil {
		return nil, usageError{err}
	}
	cfg, err := ycsb.ParseConfig(props)
	if err != nil {
		return nil, usageError{err}
	}
	if _, err := cfg.Target.Config(); err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

// setDuration sets the properties for --duration, which YCSB has in seconds.
func (f *ycsbFlags) setDuration(flags ycsb.Properties, others ...ycsb.Properties) {
	flags["maxexecutiontime"] = strconv.FormatFloat(f.duration.Seconds(), 'f', -1, 64)
	for _, given := range append(others, flags) {
		if _, ok := given["operationcount"]; ok {
			return
		}
	}
	flags["operationcount"] = "0"
}

// secure adds the certificates of the flags to the URL.
func (f *ycsbFlags) secure(props ycsb.Properties) error {
	base := strings.TrimPrefix(props["db.url"], "jdbc:")
	given := base != ""
	if !given {
		base = defaultURL
	}
	target, err := f.security.target(base, given, props["db.user"])
	if err == nil && target != base {
		props["db.url"] = target
	}
	return err
}

func (f *ycsbFlags) run(s *streams, fl *pflag.FlagSet, args []string, load bool) error {
	cfg, err := f.config(fl, args)
	if err != nil {
		return err
	}
	if len(cfg.Ignored) > 0 {
		fmt.Fprintf(s.err, "properties without effect here: %s\n", strings.Join(cfg.Ignored, ", "))
	}
	var report io.Writer = s.out
	if f.exportFile != "" {
		file, err := os.Create(f.exportFile)
		if err != nil {
			return err
		}
		defer file.Close()
		report = file
	}
	// The first signal ends the run with its report, the second ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()
	out := ycsb.Output{Report: report, Progress: s.err}
	if !load {
		if err := cfg.ValidateRun(); err != nil {
			return usageError{err}
		}
		return ycsb.Run(ctx, cfg, out)
	}
	switch f.loader {
	case "insert":
	case "copy":
		f.load.Copy = true
	default:
		return usageError{fmt.Errorf("--data-loader: %q is neither insert nor copy", f.loader)}
	}
	return suggestDrop(ycsb.Init(ctx, cfg, f.load, out), f.load.Drop)
}

// suggestDrop adds a hint to the error of a load that found the tables or rows of an earlier one.
func suggestDrop(err error, dropped bool) error {
	var pe *pgconn.PgError
	if dropped || !errors.As(err, &pe) || pe.Code != "23505" && pe.Code != "42P07" {
		return err
	}
	return fmt.Errorf("%w\nHINT:  The workload was loaded before: --drop drops its tables first", err)
}
