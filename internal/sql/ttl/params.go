package ttl

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Column is the column that says when a row expires, where that is so long after the row was written last.
const Column = "crdb_internal_expiration"

// The defaults of the parameters, which are CockroachDB's.
const (
	defaultSelectBatch = 500
	defaultDeleteBatch = 100
	defaultDeleteRate  = 100
	defaultCron        = "@daily"
)

// Params are the parameters of a table.
type Params struct {
	ExpireAfter string // an interval, "" if Column does not decide
	Expression  string // when a row expires, over its columns
	Cron        string
	Pause       bool
	SelectBatch int64
	DeleteBatch int64
	SelectRate  int64 // rows a second, 0 for no limit
	DeleteRate  int64
}

// The names of the parameters.
const (
	on         = "ttl"
	Automatic  = "ttl_automatic_column"
	After      = "ttl_expire_after"
	Expression = "ttl_expiration_expression"
	cron       = "ttl_job_cron"
	pause      = "ttl_pause"
	selectSize = "ttl_select_batch_size"
	deleteSize = "ttl_delete_batch_size"
	selectRate = "ttl_select_rate_limit"
	deleteRate = "ttl_delete_rate_limit"
)

// Is reports whether a storage parameter is one of row-level TTL, whether there is one of the name or not.
func Is(name string) bool { return name == on || strings.HasPrefix(name, on+"_") }

// Of reads the parameters in the options of a table; ok is false if its rows do not expire.
func Of(options []string) (p Params, ok bool) {
	p = Params{Cron: defaultCron, SelectBatch: defaultSelectBatch, DeleteBatch: defaultDeleteBatch, DeleteRate: defaultDeleteRate}
	numbers := map[string]*int64{selectSize: &p.SelectBatch, deleteSize: &p.DeleteBatch, selectRate: &p.SelectRate, deleteRate: &p.DeleteRate}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case After:
			p.ExpireAfter = value
		case Expression:
			p.Expression = value
		case cron:
			p.Cron = value
		case pause:
			p.Pause = value == "true"
		default:
			if n := numbers[name]; n != nil {
				*n, _ = strconv.ParseInt(value, 10, 64)
			}
		}
	}
	return p, p.ExpireAfter != "" || p.Expression != ""
}

// Expires is the expression that says when a row expires.
func (p *Params) Expires() string {
	if p.Expression != "" {
		return p.Expression
	}
	return Column
}

// Check returns the value of a parameter as it is kept.
func Check(name, value string) (string, error) {
	invalid := func(format string, args ...any) (string, error) {
		return "", pgerr.New(pgerr.InvalidParameterValue, format, args...)
	}
	switch name {
	case on:
		if b, err := typeio.ParseText(types.Bool, value, nil); err != nil || !b.Bool() {
			return invalid("setting \"ttl = '%s'\" is not permitted", value)
		}
		return "on", nil
	case After:
		return interval(value)
	case Expression:
		if strings.TrimSpace(value) == "" {
			return invalid("parameter \"%s\" requires a string value", name)
		}
		return value, nil
	case cron:
		if _, err := ParseSchedule(value); err != nil {
			return invalid("invalid cron expression for \"%s\"", name)
		}
		return value, nil
	case pause:
		b, err := typeio.ParseText(types.Bool, value, nil)
		if err != nil {
			return invalid("parameter \"%s\" requires a Boolean value", name)
		}
		return strconv.FormatBool(b.Bool()), nil
	case selectSize, deleteSize, selectRate, deleteRate:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return invalid("parameter \"%s\" requires an integer value", name)
		}
		if n < 1 {
			return invalid("\"%s\" must be at least 1", name)
		}
		return value, nil
	case "ttl_row_stats_poll_interval", "ttl_label_metrics", "ttl_range_concurrency", "ttl_disable_changefeed_replication":
		return "", pgerr.Unsupported("storage parameter \"%s\" is not supported", name)
	}
	return invalid("unrecognized parameter \"%s\"", name)
}

// interval is the value of ttl_expire_after as it is kept.
func interval(value string) (string, error) {
	d, err := typeio.ParseText(types.Interval, value, nil)
	if err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "value of \"%s\" must be an interval", After)
	}
	zero, err := typeio.ParseText(types.Interval, "0", nil)
	if err != nil {
		return "", err
	}
	if types.Compare(d, zero) < 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "value of \"%s\" must be at least zero", After)
	}
	return typeio.FormatDatum(types.Interval, d, types.NewFormatContext()), nil
}
