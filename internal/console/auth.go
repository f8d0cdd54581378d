package console

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

const (
	// cookieName is the cookie of a login, tokenHeader the header that requests which change something must have.
	cookieName  = "lichen_session"
	tokenHeader = "X-Lichen-Token"

	// maxLogins bounds the logins of a node: the one that was not used for longest gives way. One ends when it was not used
	// for idleLogin, and maxLogin after it began.
	maxLogins = 1000
	idleLogin = time.Hour
	maxLogin  = 24 * time.Hour
)

// login is who calls.
type login struct {
	user  string
	super bool
	token string // that requests which change something carry
	began time.Time
	used  time.Time
	// remote is where the request comes from.
	remote string
	// verifier is that of the role when it logged in: a new password ends the login.
	verifier string
	// vouched says that an identity provider vouched for the user: the end of the password does not end the login.
	vouched bool
}

// genuine reports whether a request has the login's token, so that it is from the console's own pages.
func (l *login) genuine(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(l.token)) == 1
}

// logins are those of a node, by the cookie's value.
type logins struct {
	mu sync.Mutex
	by map[string]*login
}

// add makes a login and returns its cookie's value.
func (x *logins) add(l *login) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.by == nil {
		x.by = map[string]*login{}
	}
	for id, o := range x.by {
		if o.over(l.began) {
			delete(x.by, id)
		}
	}
	if len(x.by) >= maxLogins {
		oldest := ""
		for id, o := range x.by {
			if oldest == "" || o.used.Before(x.by[oldest].used) {
				oldest = id
			}
		}
		delete(x.by, oldest)
	}
	id := randomText()
	x.by[id] = l
	return id
}

// over reports whether a login has ended.
func (l *login) over(now time.Time) bool {
	return now.Sub(l.used) > idleLogin || now.Sub(l.began) > maxLogin
}

// find returns a copy of the login of a cookie's value, nil if there is none.
func (x *logins) find(id string, now time.Time) *login {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.by[id]
	if l == nil || l.over(now) {
		delete(x.by, id)
		return nil
	}
	l.used = now
	c := *l
	return &c
}

func (x *logins) drop(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.by, id)
}

var errLogin = &Error{Status: http.StatusUnauthorized, Message: "log in first", Hint: "POST " + apiPrefix + "login with username and password."}

// loginOf returns who a request is from.
func (c *Console) loginOf(r *http.Request) (*login, error) {
	if !c.o.Secure() {
		return &login{user: security.RootName, super: true, token: c.token}, nil
	}
	if cert := c.o.Certificate(r); cert != nil && cert.Subject.CommonName == security.RootName {
		return &login{user: security.RootName, super: true, token: c.token}, nil
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, errLogin
	}
	l := c.logins.find(cookie.Value, time.Now())
	if l == nil {
		return nil, errLogin
	}
	srv := c.o.Node.SQL.Server()
	if srv == nil {
		return nil, errNotServing
	}
	role := srv.Role(l.user)
	if role == nil || !role.Login || !c.stillGood(l, role) {
		c.logins.drop(cookie.Value)
		return nil, errLogin
	}
	l.super = c.o.Node.SQL.Catalog().Superuser(role)
	return l, nil
}

// stillGood reports whether what a user logged in by still holds.
func (c *Console) stillGood(l *login, role *catalog.Role) bool {
	if l.vouched {
		return c.oidcConfig() != nil
	}
	return role.Verifier == l.verifier && sql.PasswordValid(role, time.Now())
}

var errNotServing = &Error{Status: http.StatusServiceUnavailable, Message: "the node does not serve SQL yet", Hint: "Try again in a moment."}

// Credentials are the body of a login.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Session is who has logged in, and where.
type Session struct {
	User      string `json:"user"`
	Superuser bool   `json:"superuser"`
	// Token is what requests that change something carry in X-Lichen-Token.
	Token    string `json:"token"`
	Insecure bool   `json:"insecure"`
	Cluster  string `json:"cluster"`
	Node     uint64 `json:"node"`
	Version  string `json:"version"`
	// Writes says that the SQL shell may write.
	Writes bool `json:"writes"`
}

func (c *Console) sessionOf(l *login) *Session {
	n := c.o.Node
	s := &Session{
		User: l.user, Superuser: l.super, Token: l.token, Insecure: !c.o.Secure(), Version: nodeVersion, Writes: n.Settings.Get().ConsoleWrites,
	}
	if !n.Waiting() {
		s.Cluster, s.Node = n.ClusterID(), uint64(n.NodeID())
	}
	return s
}

func getSession(c *Console, r *request) (any, error) { return c.sessionOf(r.login), nil }

// logIn checks a password and sets the cookie.
func logIn(c *Console, r *request) (any, error) {
	var cred Credentials
	if err := r.read(&cred); err != nil {
		return nil, err
	}
	if !c.o.Secure() {
		return nil, badRequest("the node runs with --insecure: everybody is root")
	}
	srv := c.o.Node.SQL.Server()
	if srv == nil {
		return nil, errNotServing
	}
	l := c.loginFrom(r.http, cred.Username)
	l.Password = cred.Password
	if err := c.o.Node.SQLServer().CheckLogin(r, l); err != nil {
		e := asError(err)
		e.Status = http.StatusUnauthorized
		return nil, e
	}
	role := srv.Role(cred.Username)
	if role == nil || !role.Login {
		_ = c.o.Node.SQLServer().RefuseLogin(l, "the role is not permitted to log in") // which says less
		return nil, &Error{Status: http.StatusUnauthorized, Message: "the role is not permitted to log in"}
	}
	return c.sessionOf(c.admit(r.w, r.http, role, false)), nil
}

// admit begins the login of a role, and sets its cookie.
func (c *Console) admit(w http.ResponseWriter, r *http.Request, role *catalog.Role, vouched bool) *login {
	now := time.Now()
	l := &login{user: role.Name, super: c.isSuper(role), token: randomText(), began: now, used: now, verifier: role.Verifier, vouched: vouched}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: c.logins.add(l), Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode, MaxAge: int(maxLogin / time.Second),
	})
	c.o.Events.Add(eventlog.Event{Kind: eventlog.ConsoleLogin, User: l.user, Text: "logged in to the console from " + remoteOf(r).String()})
	return l
}

func (c *Console) isSuper(role *catalog.Role) bool { return c.o.Node.SQL.Catalog().Superuser(role) }

func logOut(c *Console, r *request) (any, error) {
	if cookie, err := r.http.Cookie(cookieName); err == nil {
		c.logins.drop(cookie.Value)
	}
	http.SetCookie(r.w, &http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, Secure: c.o.Secure(), SameSite: http.SameSiteStrictMode, MaxAge: -1})
	return nil, nil
}

// remoteOf is the address of a request's client.
func remoteOf(r *http.Request) netip.Addr {
	p, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap()
}

// localOf is the address at which it came.
func localOf(r *http.Request) netip.Addr {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.Addr{}
	}
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap()
}

// unescape decodes a part of a path.
func unescape(s string) (string, error) { return url.PathUnescape(s) }
