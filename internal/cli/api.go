package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/console"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

const (
	// apiPath begins the addresses of the console's API, apiToken is the header that what changes something needs.
	apiPath  = "/api/v2/"
	apiToken = "X-Lichen-Token"
	// apiTimeout bounds one request, apiBytes its answer.
	apiTimeout = 45 * time.Second
	apiBytes   = 256 << 20
	// passwordVar is the environment variable with the password of --user.
	passwordVar = "LICHEN_PASSWORD"
)

// apiFlags are the flags for the connection to the API of a node's console.
type apiFlags struct {
	host, certsDir, user string
	insecure             bool
	flags                *pflag.FlagSet
}

func (f *apiFlags) add(c *cobra.Command) {
	f.flags = c.Flags()
	f.flags.StringVar(&f.host, "http-host", "localhost:"+config.DefaultHTTPPort, "HTTP address of a node, host:port")
	f.flags.BoolVar(&f.insecure, "insecure", false, "connect without encryption and authentication")
	f.flags.StringVar(&f.user, "user", "", "SQL user who logs in with a password ("+passwordVar+", or asked for), in place of root with its certificate")
	addCertsDir(f.flags, &f.certsDir)
}

// tls returns the encryption of the connection; nil: none. Without flags it uses the certificates in the default directory.
func (f *apiFlags) tls() (*tls.Config, error) {
	named := f.flags.Changed("certs-dir")
	switch {
	case f.insecure && (named || f.user != ""):
		return nil, usageError{errors.New("--insecure goes with neither --certs-dir nor --user: everybody is root there")}
	case f.insecure, !named && f.user == "" && !security.HaveCA(fs.Disk(), f.certsDir):
		return nil, nil
	case f.user != "":
		return security.ServerTLS(f.certsDir)
	}
	c, err := security.ClientTLS(f.certsDir, security.RootName)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// apiClient calls the API of a node.
type apiClient struct {
	http  http.Client
	base  string
	token string
	login bool // to be ended
}

// open connects, and logs in if a user is named.
func (f *apiFlags) open(ctx context.Context, s *streams) (*apiClient, error) {
	cfg, err := f.tls()
	if err != nil {
		return nil, err
	}
	addr := config.WithPort(f.host, config.DefaultHTTPPort)
	c := &apiClient{base: "http://" + addr}
	c.http.Timeout = apiTimeout
	if cfg != nil {
		c.base = "https://" + addr
		c.http.Transport = &http.Transport{TLSClientConfig: cfg}
		if c.http.Jar, err = cookiejar.New(nil); err != nil {
			return nil, err
		}
	}
	var session console.Session
	if f.user == "" {
		err = c.call(ctx, http.MethodGet, "session", nil, &session)
	} else {
		var password string
		if password, err = askPassword(s, f.user); err != nil {
			return nil, err
		}
		err = c.call(ctx, http.MethodPost, "login", console.Credentials{Username: f.user, Password: password}, &session)
		c.login = err == nil
	}
	c.token = session.Token
	return c, err
}

// askPassword returns the password of a user, from the environment or from who sits at the terminal.
func askPassword(s *streams, user string) (string, error) {
	if p, ok := os.LookupEnv(passwordVar); ok {
		return p, nil
	}
	in, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", usageError{fmt.Errorf("the password of %s is asked for at a terminal; elsewhere it comes from the environment: %s", user, passwordVar)}
	}
	fmt.Fprintf(s.err, "Password of %s: ", user)
	p, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(s.err)
	return string(p), err
}

// close ends the login.
func (c *apiClient) close(ctx context.Context) {
	if c.login {
		_ = c.call(ctx, http.MethodPost, "logout", nil, nil) // it ends by itself, too
	}
	c.http.CloseIdleConnections()
}

// get asks for something.
func (c *apiClient) get(ctx context.Context, path string, answer any) error {
	return c.call(ctx, http.MethodGet, path, nil, answer)
}

// call makes a request. The body is sent as JSON; an answer that is a *[]byte is returned as it is.
func (c *apiClient) call(ctx context.Context, method, path string, body, answer any) error {
	var send io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		send = bytes.NewReader(b)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+apiPath+path, send)
	if err != nil {
		return usageError{err}
	}
	if send != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(apiToken, c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return c.explain(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, apiBytes))
	if err != nil {
		return c.explain(err)
	}
	if resp.StatusCode != http.StatusOK {
		return c.failure(resp, text)
	}
	switch a := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*a = text
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the node at %s has answered with something else than JSON: %w", c.base, err)
	}
	return nil
}

// failure is the error of an answer.
func (c *apiClient) failure(resp *http.Response, text []byte) error {
	var e console.Error
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return fmt.Errorf("the node at %s answers %s: %s", c.base, resp.Status, first)
	}
	if resp.StatusCode == http.StatusUnauthorized && !c.login && e.Code == "" {
		e.Hint = "Give --certs-dir with the certificate of root, or --user and that user's password."
	}
	message := e.Message
	if e.Code != "" {
		message += " (SQLSTATE " + e.Code + ")"
	}
	if e.Detail != "" {
		message += "\nDETAIL:  " + e.Detail
	}
	if e.Hint != "" {
		message += "\nHINT:  " + e.Hint
	}
	return errors.New(message)
}

// explain adds a remedy to the error of a request that was not answered.
func (c *apiClient) explain(err error) error {
	cause := err
	if e := security.Explain(err); e != err {
		cause = e
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		cause = errors.New("connection refused: is a node's HTTP address there (--http-host)?")
	} else if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		cause = errors.New("it runs with --insecure: give --insecure here too")
	} else {
		cause = cmp.Or(rootCause(err), err)
	}
	return fmt.Errorf("the node at %s: %w", strings.TrimPrefix(strings.TrimPrefix(c.base, "https://"), "http://"), cause)
}
