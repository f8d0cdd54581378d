package idp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/config/jwt"
)

// The limits of what is fetched.
const (
	// fetchTimeout bounds a request.
	fetchTimeout = 10 * time.Second
	// maxDocument bounds an answer, in bytes.
	maxDocument = 256 << 10
	// maxDocuments bounds the addresses whose documents are kept: one is forgotten for another.
	maxDocuments = 8
	// freshFor is how long a document is used without asking again, usableFor how long if the provider doesn't answer.
	freshFor  = 15 * time.Minute
	usableFor = 24 * time.Hour
	// retryAfter is how long nothing is asked again after a try.
	retryAfter = 30 * time.Second
)

// newClient returns a client that follows no redirections. transport is nil for the usual one.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// fetch returns the body of the answer to a request. Errors name no secret: they don't quote requests.
func fetch(client *http.Client, r *http.Request) (body []byte, status int, err error) {
	if err := jwt.CheckURL(r.URL.String()); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", r.URL.Redacted(), err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(body) > maxDocument:
		return nil, 0, fmt.Errorf("%s answers with more than %d bytes", r.URL.Host, maxDocument)
	}
	return body, answer.StatusCode, nil
}

// cache keeps the documents of some addresses.
type cache[T any] struct {
	client *http.Client
	read   func(address string, body []byte) (T, error)

	mu sync.Mutex
	by map[string]*document[T]
}

// document is what an address has shown. Its mutex is held while it is fetched, so that others wait for the answer.
type document[T any] struct {
	mu             sync.Mutex
	value          T
	fetched, tried time.Time // zero: never
	err            error     // of the last try
}

// get returns the document of an address; lacks, if not nil, says that one that is kept does not do if there is a newer one.
func (c *cache[T]) get(ctx context.Context, address string, lacks func(T) bool) (T, error) {
	d := c.document(address)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	usable := !d.fetched.IsZero() && now.Sub(d.fetched) < usableFor
	if usable && now.Sub(d.fetched) < freshFor && (lacks == nil || !lacks(d.value)) {
		return d.value, nil
	}
	if d.tried.IsZero() || now.Sub(d.tried) >= retryAfter {
		d.tried = now
		var value T
		if value, d.err = c.fetch(ctx, address); d.err == nil {
			d.value, d.fetched = value, now
			return value, nil
		}
	}
	if usable {
		return d.value, nil
	}
	return d.value, d.err
}

// fetch asks for a document. Who is waiting for it may go away: others use it too.
func (c *cache[T]) fetch(ctx context.Context, address string) (value T, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return value, err
	}
	r.Header.Set("Accept", "application/json")
	body, status, err := fetch(c.client, r)
	switch {
	case err != nil:
		return value, err
	case status != http.StatusOK:
		return value, fmt.Errorf("%s answers with status %d", address, status)
	}
	return c.read(address, body)
}

func (c *cache[T]) document(address string) *document[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.by[address]
	if d != nil {
		return d
	}
	for other := range c.by {
		if len(c.by) < maxDocuments {
			break
		}
		delete(c.by, other)
	}
	if c.by == nil {
		c.by = map[string]*document[T]{}
	}
	d = &document[T]{}
	c.by[strings.Clone(address)] = d
	return d
}
