package setting

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Values are what all settings are.
type Values struct {
	DeadAfter    time.Duration
	DrainTimeout time.Duration
	DrainWait    time.Duration

	SlowSync time.Duration

	MetricsRequireAdmin bool
	ConsoleWrites       bool

	HBA          string // rules of host-based authentication, which config/hba has read once
	IdentityMaps string // which config/identmap has read once

	JWTIssuer, JWTAudience, JWTKeys, JWTKeysURL, JWTClaim, JWTMap string // which config/jwt has read once

	// OIDC: a browser may log in at an identity provider.
	OIDC                                               bool
	OIDCProvider, OIDCClient, OIDCRedirect, OIDCScopes string
	OIDCClaim, OIDCMap, OIDCButton                     string

	AuditRules     string // which config/audit has read once
	AuditConstants bool

	MaxConnections      int64
	ReservedConnections int64

	SnapshotRate int64

	SplitByLoad   bool
	SplitQPS      int64
	Merge         bool
	MergeInterval time.Duration

	CountBand     float64
	LoadBand      float64
	LoadRebalance string
	DiskFullAt    float64
	DiskRefuseAt  float64

	StatementTimeout time.Duration
	IdleInTxnTimeout time.Duration
	IdleTimeout      time.Duration
	IntSize          int64
	DateStyle        string
	IntervalStyle    string

	AutoStats bool

	SlowStatement time.Duration

	TraceEndpoint string
	TraceShare    float64

	ReserveMost time.Duration
}

// Default returns the values of a new cluster.
func Default() Values {
	return Values{
		DeadAfter:      5 * time.Minute,
		DrainTimeout:   10 * time.Second,
		DrainWait:      3 * time.Second,
		SlowSync:       100 * time.Millisecond,
		MaxConnections: 10000, ReservedConnections: 3,
		SnapshotRate: 32 << 20,
		SplitByLoad:  true, SplitQPS: 10000,
		Merge: true, MergeInterval: 50 * time.Millisecond,
		CountBand: 0.05, LoadBand: 0.25, LoadRebalance: RebalanceAll,
		DiskFullAt: 0.90, DiskRefuseAt: 0.98,
		IntSize: 4, DateStyle: "ISO, MDY", IntervalStyle: "postgres",
		AutoStats: true, SlowStatement: time.Second, TraceShare: 0.01, ReserveMost: 30 * time.Second,
	}
}

// Values of Values.LoadRebalance.
const (
	RebalanceOff = "off"
	RebalanceAll = "leases and replicas"
)

// With returns the values with what is stored in place of v's own, by name. What a later
// version stored, under a name or with a value that is not known here, is left out and
// told.
func (v Values) With(stored map[string]string) (Values, []error) {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		s, ok := Find(name)
		if !ok {
			problems = append(problems, fmt.Errorf("cluster setting %s is not known to this version", name))
			continue
		}
		if err := s.set(&v, stored[name]); err != nil {
			problems = append(problems, err)
		}
	}
	return v, problems
}

// Live are the values that hold on a node now.
type Live struct {
	base Values
	now  atomic.Pointer[Values]
}

// NewLive returns values as they are where nothing is stored.
func NewLive(base Values) *Live {
	l := &Live{base: base}
	l.now.Store(&base)
	return l
}

// Get returns the values that hold now, which must not be changed.
func (l *Live) Get() *Values { return l.now.Load() }

// Base returns the values that hold where nothing is stored.
func (l *Live) Base() Values { return l.base }

// Update makes what is stored hold. It reports whether that differs from before, and what
// of it this version doesn't know.
func (l *Live) Update(stored map[string]string) (changed bool, problems []error) {
	v, problems := l.base.With(stored)
	old := l.now.Swap(&v)
	return *old != v, problems
}
