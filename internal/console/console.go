package console

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/timeseries"
)

// Options are what a Console is built over.
type Options struct {
	Node *node.Node
	// Secure: users log in. Otherwise everybody is root.
	Secure func() bool
	// Certificate returns the verified client certificate of a request, nil if it has none.
	Certificate func(*http.Request) *x509.Certificate
	// OIDCSecret returns the secret that an identity provider has given the console, "" if there is none.
	OIDCSecret func() (string, error)
	// Transport carries requests to identity providers; nil is the usual one.
	Transport http.RoundTripper
	// Recent returns the metrics that were taken last.
	Recent func() Recent
	// History has the metrics of the past; nil while there is none.
	History func() *timeseries.DB
	Events  *eventlog.Log
	// Log returns the end of the node's log, at most so many bytes; nil: there is none.
	Log    func(most int64) (string, error)
	Logger *slog.Logger
	// Configuration returns how the node was started.
	Configuration func() []NodeOption
}

// Recent are the metrics of a node that were taken last.
type Recent struct {
	At time.Time
	// Per is the time that the rates are of.
	Per time.Duration
	// Values are the metrics by name.
	Values map[string]float64
	// Latency counts the statements that have ended within Per.
	Latency obs.Counts
}

// Console serves the console of a node.
type Console struct {
	o       Options
	logins  logins
	oidc    *oidc
	queries chan struct{} // a place for each query that may run
	token   string        // against genuine requests, where nobody logs in
	ranges  rangeCache

	endpoints []endpoint
	routes    map[string][]*route
	once      sync.Once
	doc       []byte // the description, once it was asked for
}

const (
	// maxQueries bounds the queries that run for the console at a time, queryTimeout the time of each, and queueTimeout the
	// wait for a place.
	maxQueries   = 16
	queryTimeout = 30 * time.Second
	queueTimeout = 5 * time.Second
	// maxBody bounds what a request brings.
	maxBody = 1 << 20
)

// New returns a console, and has the node answer what those of other nodes ask.
func New(o Options) *Console {
	c := &Console{o: o, oidc: newOIDC(o.Transport), queries: make(chan struct{}, maxQueries), token: randomText(), endpoints: allEndpoints()}
	c.addRoutes()
	c.handlePeers()
	return c
}

// randomText returns a text that nobody guesses.
func randomText() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // which never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Mux takes handlers by patterns, as an http.ServeMux does.
type Mux interface {
	HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request))
}

// Register adds the console to a server's paths. If its pages were not built, plain is shown in their place.
func (c *Console) Register(mux Mux, plain http.HandlerFunc) {
	mux.HandleFunc(apiPrefix, c.serveAPI)
	mux.HandleFunc("GET "+oidcLogin, c.serveOIDC)
	mux.HandleFunc("GET "+oidcCallback, c.serveOIDC)
	pages := builtPages()
	if pages == nil {
		mux.HandleFunc("GET /{$}", plain)
		return
	}
	mux.HandleFunc("GET /{$}", pages.serve)
	mux.HandleFunc("GET /assets/", pages.serve)
}

// place waits for a place to run a query.
func (c *Console) place(ctx context.Context) (release func(), err error) {
	wait := time.NewTimer(queueTimeout)
	defer wait.Stop()
	select {
	case c.queries <- struct{}{}:
		return func() { <-c.queries }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, &Error{Status: http.StatusServiceUnavailable, Message: "the node runs many queries of consoles already", Hint: "Try again in a moment."}
	}
}
