package raftlog

import (
	"runtime"
	"time"
)

const (
	// maxCompanyWait bounds how long a writer holds its sync back for another append,
	// companyShare is the part of a sync's time that this may take at the most.
	maxCompanyWait = 200 * time.Microsecond
	companyShare   = 4
	// companyYields is how often it lets others run where time stands still meanwhile, as
	// in tests in virtual time.
	companyYields = 16
	// companyLikely is how many lone appends must have been followed at once until writers
	// wait, companySure how far that is counted.
	companyLikely = 2
	companySure   = 4
)

// company predicts whether an append to a log at rest is followed by another one at once,
// as the parts of one transaction in two ranges are: then both take one sync instead of
// one after the other. Who appends alone never waits. It is guarded by Log.mu.
type company struct {
	seen  int           // lone appends that were followed, less those that were not
	sync  time.Duration // moving average
	alone time.Time     // when the last sync of a lone append began; zero if known what followed it
}

// limit is how much later a companion may come.
func (c *company) limit() time.Duration { return min(c.sync/companyShare, maxCompanyWait) }

func (c *company) synced(took time.Duration) { c.sync += (took - c.sync) / 8 }

func (c *company) note(followed bool) {
	c.alone = time.Time{}
	if followed {
		c.seen = min(c.seen+1, companySure)
	} else {
		c.seen = max(c.seen-1, 0)
	}
}

// arrived hears of each append.
func (c *company) arrived() {
	if !c.alone.IsZero() {
		c.note(time.Since(c.alone) < c.limit())
	}
}

// awaitCompany holds the sync of the only append in the queue back for a moment if another
// one is likely to come. mu is held, but not throughout.
func (l *Log) awaitCompany() {
	c := &l.company
	if !c.alone.IsZero() {
		c.note(false) // nothing has followed
	}
	began := time.Now()
	if c.seen >= companyLikely {
		limit := c.limit()
		for n := 0; len(l.next.reqs) == 1; n++ {
			if past := time.Since(began); past >= limit || past == 0 && n >= companyYields {
				break
			}
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		c.note(len(l.next.reqs) > 1)
		return
	}
	if len(l.next.reqs) == 1 {
		c.alone = began
	}
}
