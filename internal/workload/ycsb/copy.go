package ycsb

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// copyRows is how many records go into one COPY.
const copyRows = 2000

// copyAll loads a thread's share of the records with COPY. Every COPY counts as one
// operation of the report; progress counts records.
func (c *client) copyAll(ctx context.Context, s share) {
	sql := fmt.Sprintf("COPY %s (ycsb_key, %s) FROM STDIN", c.cfg.Table, strings.Join(c.cfg.fieldNames(), ", "))
	for i := int64(0); i < s.n && s.next(i); {
		n := min(copyRows, s.n-i)
		text := c.copyText(s.first+i, n)
		begun := time.Now()
		got, err := c.conn.CopyFrom(ctx, sql, text)
		if err == nil && got != n {
			err = fmt.Errorf("COPY of %d records wrote %d", n, got)
		}
		status := statusOK
		if err != nil {
			status = c.failed("INSERT", err)
		}
		c.run.ops.insert.Record(time.Since(begun), status, err == nil)
		c.run.ops.insert.Retried(c.conn.TakeRetries())
		if err != nil {
			c.run.errs.GiveUp(fmt.Errorf("loading: %w", err))
			return
		}
		i += n
		c.run.done.Add(n)
	}
}

var copyEscape = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

func (c *client) copyText(first, n int64) string {
	var b strings.Builder
	for k := first; k < first+n; k++ {
		key := c.cfg.key(k)
		b.WriteString(key)
		for f := range c.cfg.Fields {
			b.WriteByte('\t')
			b.WriteString(copyEscape.Replace(string(c.value(key, f))))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
