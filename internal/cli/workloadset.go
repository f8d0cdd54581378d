package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/workload"
	"github.com/lichendb/lichen/internal/workload/dataset"
	"github.com/lichendb/lichen/internal/workload/dvdrental"
	"github.com/lichendb/lichen/internal/workload/ecommerce"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// setFlags are the flags of the workloads with schemas of their own, dvdrental and ecommerce.
type setFlags struct {
	url        string
	security   clientSecurity
	threads    int
	seed       uint64
	every      time.Duration
	drop       bool
	scale      float64
	postgreSQL bool
	operations int64
	maxTime    time.Duration
	mix        string
}

// newSetCommand returns a command with the parts that these workloads share.
func newSetCommand(f *setFlags, name, short, long string, run func(context.Context, workload.Target) error) *cobra.Command {
	c := &cobra.Command{
		Use: name + " [URL]", Short: short,
		Long: long + "\n\nURL is any PostgreSQL server; without it that of the environment variable " + urlVar + ",\nor " + defaultURL + ".",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("give one URL")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			target, err := f.target(args)
			if err != nil {
				return usageError{err}
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// The first signal ends the run with its report, the second ends the program.
			go func() { <-ctx.Done(); stop() }()
			return run(ctx, target)
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	f.addURL(fl)
	f.security.add(fl)
	f.security.addHost(fl)
	fl.Uint64Var(&f.seed, "seed", 1, "what the random values follow from")
	fl.DurationVar(&f.every, "display-every", time.Second, "time between lines of progress; 0 for none")
	return c
}

// addURL adds --url, which may be given instead of the argument, as with lichen sql.
func (f *setFlags) addURL(fl *pflag.FlagSet) {
	fl.StringVar(&f.url, "url", "", "URL of the server, as the argument gives it")
}

func (f *setFlags) target(args []string) (workload.Target, error) {
	base := cmp.Or(f.url, os.Getenv(urlVar))
	if len(args) > 0 {
		if f.url != "" {
			return workload.Target{}, errors.New("give the URL once")
		}
		base = args[0]
	}
	given := base != ""
	if !given {
		base = defaultURL
	}
	url, err := f.security.target(base, given, "")
	t := workload.Target{URL: url}
	if err == nil {
		_, err = t.Config()
	}
	return t, err
}

// addLoad adds the flags of workload init.
func (f *setFlags) addLoad(c *cobra.Command, scaleHelp string) {
	fl := c.Flags()
	fl.Float64Var(&f.scale, "scale", 1, scaleHelp)
	fl.BoolVar(&f.drop, "drop", false, "drop the tables first")
	fl.IntVar(&f.threads, "threads", 4, "connections that load")
}

// addRun adds the flags of workload run.
func (f *setFlags) addRun(c *cobra.Command, threads int, operations int64) {
	fl := c.Flags()
	fl.IntVar(&f.threads, "threads", threads, "connections")
	fl.Int64Var(&f.operations, "operations", operations, "how many operations all connections do together")
	fl.DurationVar(&f.maxTime, "max-time", 0, "end after this time; 0 for no limit")
}

func (f *setFlags) init(ctx context.Context, s *streams, t workload.Target, set func() *dataset.Set) error {
	if f.scale <= 0 || f.scale > 1000 || f.threads < 1 {
		return usageError{errors.New("--scale must be above 0 and at most 1000, --threads at least 1")}
	}
	err := set().Init(ctx, dataset.InitOptions{
		Target: t, Drop: f.drop, Threads: f.threads, Seed: f.seed, Report: s.out, Progress: s.err, Every: f.every,
	})
	return suggestDrop(err, f.drop)
}

func (f *setFlags) run(ctx context.Context, s *streams, t workload.Target, ops []dataset.Operation) error {
	if f.threads < 1 || f.operations < 1 {
		return usageError{errors.New("--threads and --operations must be at least 1")}
	}
	return dataset.Run(ctx, ops, dataset.RunOptions{
		Target: t, Threads: f.threads, Operations: f.operations, MaxTime: f.maxTime,
		Seed: f.seed, Report: s.out, Progress: s.err, Every: f.every,
	})
}

const dvdrentalShort = "A DVD-rental business of 15 tables: inserts, select with a join"

func newDVDRentalInit(s *streams) *cobra.Command {
	f := &setFlags{}
	c := newSetCommand(f, "dvdrental", dvdrentalShort,
		"Make and fill the 15 tables of a DVD-rental business. Equal seeds and scales give equal rows.",
		func(ctx context.Context, t workload.Target) error {
			return f.init(ctx, s, t, func() *dataset.Set { return dvdrental.Set(f.scale, f.postgreSQL) })
		})
	f.addLoad(c, "size: 1 is 100,000 payments, 10 a million")
	c.Flags().BoolVar(&f.postgreSQL, "postgresql", false, "make the tables without what a PostgreSQL server doesn't know (STRING, FAMILY, INDEX)")
	return c
}

func newDVDRentalRun(s *streams) *cobra.Command {
	f := &setFlags{}
	c := newSetCommand(f, "dvdrental", dvdrentalShort,
		"Run operations on the tables of workload init dvdrental:\n\n"+
			"  select-join            the payments of a member of the staff, by a join on the staff's key\n"+
			"  select-join-redundant  the same with the condition repeated for the other table\n"+
			"  insert                 a payment for a rental, with its three foreign keys",
		func(ctx context.Context, t workload.Target) error {
			ops, err := dvdrental.Operations(ctx, t, f.mix)
			if err != nil {
				return err
			}
			return f.run(ctx, s, t, ops)
		})
	f.addRun(c, 10, 20_000)
	c.Flags().StringVar(&f.mix, "mix", dvdrental.Mixes[0], "what to run: "+strings.Join(dvdrental.Mixes, ", "))
	c.PreRunE = func(*cobra.Command, []string) error {
		for _, m := range dvdrental.Mixes {
			if m == f.mix {
				return nil
			}
		}
		return usageError{fmt.Errorf("--mix: %q is none of %s", f.mix, strings.Join(dvdrental.Mixes, ", "))}
	}
	return c
}

const ecommerceShort = "A shop's products, customers and sales: five analytical questions"

func newECommerceInit(s *streams) *cobra.Command {
	f := &setFlags{}
	c := newSetCommand(f, "ecommerce", ecommerceShort,
		"Make and fill the tables of a shop. Equal seeds and scales give equal rows.",
		func(ctx context.Context, t workload.Target) error {
			return f.init(ctx, s, t, func() *dataset.Set { return ecommerce.Set(f.scale) })
		})
	f.addLoad(c, "size: 1 is 10,000 products, 30,000 customers and 100,000 sales")
	return c
}

func newECommerceRun(s *streams) *cobra.Command {
	f := &setFlags{}
	c := newSetCommand(f, "ecommerce", ecommerceShort,
		"Ask five questions in turn, on the tables of workload init ecommerce: the monthly trend of a product, a year's\n"+
			"sales by category, the ten best customers, the products close to out of stock, sales by region.",
		func(ctx context.Context, t workload.Target) error { return f.run(ctx, s, t, ecommerce.Questions()) })
	f.addRun(c, 1, 50)
	return c
}
