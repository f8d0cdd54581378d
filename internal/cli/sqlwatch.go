package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// watchEvery is the default interval of \watch.
	watchEvery = 2 * time.Second
	// maxWatch is the longest interval.
	maxWatch = 24 * time.Hour
)

// watch executes the query buffer, or the last statement, repeatedly until an interrupt or the first error.
func (sh *shell) watch(arg string) error {
	every, err := watchInterval(arg)
	if err != nil {
		return err
	}
	sql := cmp.Or(sh.scan.rest(), sh.last)
	if sql == "" {
		return errors.New("there is no statement to execute")
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	sh.endWatch.Store(&end)
	defer sh.endWatch.Store(nil)
	for {
		fmt.Fprintf(sh.out, "%s (every %s)\n\n", time.Now().Format(time.ANSIC), every)
		if ok, err := sh.execute(sql); !ok || err != nil {
			return err
		}
		if sleep.For(ctx, every) != nil {
			return nil
		}
	}
}

// watchInterval parses the seconds between two executions.
func watchInterval(arg string) (time.Duration, error) {
	if arg == "" {
		return watchEvery, nil
	}
	s, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(s > 0 && s <= maxWatch.Seconds()) {
		return 0, fmt.Errorf("%q is no number of seconds between 0 and %.0f", arg, maxWatch.Seconds())
	}
	return time.Duration(s * float64(time.Second)), nil
}
