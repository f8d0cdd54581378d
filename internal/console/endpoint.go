package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// apiPrefix is that of all endpoints.
const apiPrefix = "/api/v2/"

// access says who may call an endpoint.
type access uint8

const (
	open      access = iota // everybody
	loggedIn                // who has logged in
	superuser               // who is a superuser
)

// param is a parameter of an endpoint: of its path, if that has its name in braces, or of the query.
type param struct{ name, doc string }

// endpoint is a method of the API.
type endpoint struct {
	method, path, doc string
	access            access
	params            []param
	// body and answer are values of the types that are sent and returned; nil: nothing is.
	body, answer any
	serve        func(*Console, *request) (any, error)
}

// request is a call of an endpoint.
type request struct {
	context.Context
	http  *http.Request
	w     http.ResponseWriter
	login *login // nil: nobody has logged in
	path  map[string]string
}

// param returns a parameter.
func (r *request) param(name string) string {
	if v, ok := r.path[name]; ok {
		return v
	}
	return r.http.URL.Query().Get(name)
}

// number returns a parameter that is a number, or what it is where none is given.
func (r *request) number(name string, otherwise, least, most int64) (int64, error) {
	text := r.param(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, badRequest("%s must be a number from %d to %d", name, least, most)
	}
	return n, nil
}

// read reads the body.
func (r *request) read(v any) error {
	d := json.NewDecoder(http.MaxBytesReader(r.w, r.http.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badRequest("the request has no valid JSON: %v", err)
	}
	return nil
}

// Error is an error as the API answers it.
type Error struct {
	Status  int    `json:"-"`
	Message string `json:"error"`
	Detail  string `json:"detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Code is the SQLSTATE, if SQL failed, and Position where in the statement, in characters from 1.
	Code     string `json:"code,omitempty"`
	Position int    `json:"position,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

func badRequest(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

// asError returns an error as the API answers it.
func asError(err error) *Error {
	var own *Error
	var sqlErr *pgerr.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &sqlErr):
		e := &Error{
			Status: http.StatusBadRequest, Message: sqlErr.Message, Detail: sqlErr.Detail, Hint: sqlErr.Hint, Code: string(sqlErr.Code), Position: sqlErr.Position,
		}
		switch {
		case sqlErr.Code == pgerr.InsufficientPrivilege:
			e.Status = http.StatusForbidden
		case sqlErr.Code == pgerr.QueryCanceled:
			e.Status = http.StatusGatewayTimeout
		case strings.HasPrefix(string(sqlErr.Code), "57"), strings.HasPrefix(string(sqlErr.Code), "53"):
			e.Status = http.StatusServiceUnavailable
		case sqlErr.Code == pgerr.UndefinedTable || sqlErr.Code == pgerr.InvalidCatalogName:
			e.Status = http.StatusNotFound
		}
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Message: "the cluster did not answer in time"}
	}
	return &Error{Status: http.StatusInternalServerError, Message: err.Error()}
}

// route is an endpoint with its path in parts.
type route struct {
	*endpoint
	parts []string
}

func (c *Console) addRoutes() {
	c.routes = map[string][]*route{}
	for i := range c.endpoints {
		e := &c.endpoints[i]
		c.routes[e.method] = append(c.routes[e.method], &route{e, strings.Split(e.path, "/")})
	}
}

// match returns the parameters in a path if it is the route's.
func (r *route) match(parts []string) (map[string]string, bool) {
	if len(parts) != len(r.parts) {
		return nil, false
	}
	var found map[string]string
	for i, p := range r.parts {
		name, named := strings.CutPrefix(p, "{")
		switch {
		case !named && p != parts[i]:
			return nil, false
		case named:
			if found == nil {
				found = map[string]string{}
			}
			found[strings.TrimSuffix(name, "}")] = parts[i]
		}
	}
	return found, true
}

// find returns the endpoint of a request.
func (c *Console) find(r *http.Request) (*endpoint, map[string]string, *Error) {
	var parts []string
	for _, p := range strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), apiPrefix), "/") {
		part, err := unescape(p)
		if err != nil {
			return nil, nil, badRequest("the path can't be read: %v", err)
		}
		parts = append(parts, part)
	}
	allowed := false
	for method, routes := range c.routes {
		for _, x := range routes {
			if found, ok := x.match(parts); ok {
				if method == r.Method {
					return x.endpoint, found, nil
				}
				allowed = true
			}
		}
	}
	if allowed {
		return nil, nil, &Error{Status: http.StatusMethodNotAllowed, Message: r.Method + " is not a method of " + r.URL.Path}
	}
	return nil, nil, notFound("the API has no %s: %sopenapi.json describes it", r.URL.Path, apiPrefix)
}

// apiTimeout bounds the time to answer a request.
const apiTimeout = 40 * time.Second

// serveAPI serves a request of the API.
func (c *Console) serveAPI(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), apiTimeout)
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	e, path, bad := c.find(r)
	if bad != nil {
		c.answer(w, nil, bad)
		return
	}
	answer, err := c.serveEndpoint(e, &request{Context: ctx, http: r, w: w, path: path})
	c.answer(w, answer, err)
}

// serveEndpoint calls an endpoint if the request may.
func (c *Console) serveEndpoint(e *endpoint, r *request) (any, error) {
	login, err := c.loginOf(r.http)
	if err != nil && e.access != open {
		return nil, err
	}
	if r.login = login; login != nil {
		login.remote = r.http.RemoteAddr
	}
	switch {
	case e.access == superuser && !login.super:
		return nil, &Error{Status: http.StatusForbidden, Message: "only superusers may do that"}
	case e.method != http.MethodGet && e.access != open && !login.genuine(r.http):
		return nil, &Error{Status: http.StatusForbidden, Message: "the request lacks the token of the login", Hint: "Send it in the header " + tokenHeader + ": GET " + apiPrefix + "session returns it."}
	}
	return e.serve(c, r)
}

// answer writes an answer, or an error.
func (c *Console) answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		e := asError(err)
		w.WriteHeader(e.Status)
		v = e
	}
	if raw, ok := v.([]byte); ok {
		_, _ = w.Write(raw) // the client may be gone
		return
	}
	if v == nil {
		v = struct{}{}
	}
	if err := json.NewEncoder(w).Encode(v); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.o.Logger.Info("an answer of the console was not sent", "err", err)
	}
}
