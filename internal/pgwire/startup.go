package pgwire

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The codes of messages of the start-up phase.
const (
	protocolMajor  = 3
	codeCancel     = 1234<<16 | 5678
	codeSSL        = 1234<<16 | 5679
	codeGSSEncrypt = 1234<<16 | 5680
)

// maxStartupParams bounds the parameters of a start-up message.
const maxStartupParams = 256

// errDone ends a connection without a word: it has done what it was opened for,
// or nobody listens.
var errDone = errors.New("connection done")

// start brings the connection to its first ReadyForQuery.
func (c *conn) start() error {
	if err := c.wire.SetReadDeadline(time.Now().Add(startupTimeout)); err != nil {
		return errDone
	}
	if err := c.directTLS(); err != nil {
		return err
	}
	args, err := c.readStartup()
	if err != nil {
		return err
	}
	c.srv.spoken(c)
	if err := c.authenticate(args.User, args.Database); err != nil {
		c.srv.metrics.refused.Add(1)
		c.srv.sessionLog.Warn("login refused", "remote", c.remote, "user", obs.Sensitive(args.User), "database", obs.Sensitive(args.Database), "code", pgerr.CodeOf(err), "err", obs.Sensitive(err.Error()))
		c.tellRefused(&args, err)
		return err
	}
	c.ses, err = c.srv.sql.NewSession(c.ctx, args)
	if err != nil {
		c.tellRefused(&args, err)
		if pgerr.CodeOf(err) == pgerr.TooManyConnections {
			c.srv.metrics.rejected.Add(1)
		}
		return err
	}
	c.srv.started(c)
	c.srv.sessionLog.Info("session began", "remote", c.remote, "user", obs.Sensitive(args.User), "database", obs.Sensitive(args.Database), "pid", c.ses.PID())
	c.ses.OnInterrupt(c.interrupt)
	c.ses.OnNotification(c.notified)
	c.shared.Store(c.ses)
	c.wire.Begin(wire.Authentication)
	c.wire.Int32(0)
	c.wire.End()
	for _, p := range c.ses.ParamStatus() {
		c.wire.ParameterStatus(p.Name, c.shown(p.Value))
	}
	c.ses.TakeParamChanges()
	c.wire.Begin(wire.BackendKeyData)
	c.wire.Int32(c.ses.PID())
	c.wire.Int32(int32(c.ses.Secret()))
	c.wire.End()
	if err := c.wire.SetReadDeadline(time.Time{}); err != nil {
		return errDone
	}
	return nil
}

// tellRefused tells the audit log of a login that came to nothing, unless the client went away.
func (c *conn) tellRefused(args *sql.SessionArgs, err error) {
	if !errors.Is(err, errDone) {
		c.srv.tellRefused(args.User, args.Database, c.remote, err)
	}
}

// refuseConnection sends a client that connects, in a form that it understands, why it is not served
// here. What only cancels is served.
func (c *conn) refuseConnection(why error) {
	if c.wire.SetReadDeadline(time.Now().Add(refuseTimeout)) != nil || c.directTLS() != nil {
		return
	}
	if _, err := c.readStartup(); err == nil {
		c.goodbye(why)
	}
}

// readStartup reads messages until one opens a session. Requests for encryption
// may come first, one of each kind.
func (c *conn) readStartup() (sql.SessionArgs, error) {
	askedSSL, askedGSS := false, false
	for {
		code, body, err := c.wire.StartupMessage()
		if err != nil {
			return sql.SessionArgs{}, quietEOF(err)
		}
		switch {
		case code == codeCancel:
			c.cancelRequest(body)
			return sql.SessionArgs{}, errDone
		case code == codeSSL && !askedSSL:
			askedSSL = true
			err = c.answerSSL()
		case code == codeGSSEncrypt && !askedGSS:
			askedGSS = true
			err = c.refuseEncryption("GSSAPI encryption")
		default:
			return c.startupParams(code, body)
		}
		if err != nil {
			return sql.SessionArgs{}, err
		}
	}
}

// quietEOF turns a client that goes away, or says nothing in time, into errDone.
func quietEOF(err error) error {
	var pe *pgerr.Error
	if errors.As(err, &pe) {
		return err
	}
	return errDone
}

// refuseEncryption answers a request for what is not served.
func (c *conn) refuseEncryption(what string) error {
	if err := c.answerByte(wire.EncryptionRefused); err != nil {
		return err
	}
	return c.checkNothingBehind(what)
}

// checkNothingBehind refuses a client whose request for encryption is followed by bytes in clear
// before it has the answer: someone in the middle may have put them there.
func (c *conn) checkNothingBehind(request string) error {
	if !c.wire.Buffered() {
		return nil
	}
	return pgerr.New(pgerr.ProtocolViolation, "received unencrypted data after %s request", request).
		WithDetail("This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.")
}

func (c *conn) cancelRequest(body []byte) {
	if len(body) != 8 {
		return
	}
	c.srv.metrics.cancels.Add(1)
	if c.srv.sql == nil {
		return // it serves nobody: there is nothing to cancel
	}
	c.srv.sql.Cancel(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
}

func (c *conn) answerByte(b byte) error {
	c.wire.Raw([]byte{b})
	if err := c.wire.Flush(); err != nil {
		return errDone
	}
	return nil
}

// startupParams reads the message that opens a session.
func (c *conn) startupParams(code uint32, body []byte) (args sql.SessionArgs, err error) {
	if code>>16 != protocolMajor {
		c.former = code>>16 < protocolMajor
		return args, pgerr.Unsupported("unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xffff)
	}
	args = sql.SessionArgs{RemoteAddr: c.remote, Encryption: c.encryption, Params: map[string]string{}}
	options := ""
	var unknown []string
	m := wire.NewBody(body)
	for n := 0; ; n++ {
		name := string(m.String())
		if name == "" {
			break
		}
		value := string(m.String())
		switch {
		case n >= maxStartupParams:
			return args, pgerr.New(pgerr.ConfigurationLimitExceeded, "more than %d start-up parameters", maxStartupParams)
		case name == "user":
			args.User = types.TruncateName(value)
		case name == "database":
			args.Database = types.TruncateName(value)
		case name == "options":
			options = value
		case name == "replication":
			if err := checkReplication(value); err != nil {
				return args, err
			}
		case strings.HasPrefix(name, "_pq_."):
			unknown = append(unknown, name)
		default:
			args.Params[name] = value
		}
	}
	if m.Err() != nil {
		return args, pgerr.New(pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	if args.User == "" {
		return args, pgerr.New(pgerr.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet")
	}
	if code&0xffff > 0 || unknown != nil {
		c.negotiate(unknown)
	}
	return args, parseOptions(options, args.Params)
}

func checkReplication(value string) error {
	switch strings.ToLower(value) {
	case "false", "off", "no", "0":
		return nil
	case "true", "on", "yes", "1", "database":
		return pgerr.Unsupported("replication connections are not supported")
	}
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"replication\": \"%s\"", value).
		WithHint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")
}

// negotiate appends NegotiateProtocolVersion: 3.0, without the named options. The
// version has its major part too, which the protocol's description leaves out and
// clients expect.
func (c *conn) negotiate(unknown []string) {
	c.wire.Begin(wire.NegotiateProtocolVersion)
	c.wire.Int32(protocolMajor << 16)
	c.wire.Int32(int32(len(unknown)))
	for _, name := range unknown {
		c.wire.String(name)
	}
	c.wire.End()
}

// parseOptions reads the options parameter, -c name=value and --name=value, into
// params, which has precedence.
func parseOptions(options string, params map[string]string) error {
	words := splitOptions(options)
	given := map[string]string{}
	for i := 0; i < len(words); i++ {
		var setting string
		w := words[i]
		switch {
		case w == "-c":
			if i++; i == len(words) {
				return pgerr.New(pgerr.SyntaxError, "-c requires a value")
			}
			setting = words[i]
		case strings.HasPrefix(w, "-c"):
			setting = w[2:]
		case strings.HasPrefix(w, "--"):
			setting = w[2:]
		default:
			return pgerr.New(pgerr.SyntaxError, "invalid command-line argument for server process: %s", w)
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return pgerr.New(pgerr.SyntaxError, "%s requires a value", w)
		}
		given[strings.ReplaceAll(name, "-", "_")] = value
	}
	for name, value := range given {
		if _, ok := params[name]; !ok {
			params[name] = value
		}
	}
	return nil
}

// splitOptions splits at white space; a backslash takes the meaning off the next
// byte.
func splitOptions(s string) []string {
	var words []string
	var word strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
			continue
		case c == '\\' && i+1 < len(s):
			i++
		}
		in = true
		word.WriteByte(s[i])
	}
	if in {
		words = append(words, word.String())
	}
	return words
}
