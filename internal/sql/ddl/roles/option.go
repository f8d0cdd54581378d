package roles

import (
	"math"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/password"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// maxPassword bounds passwords, in bytes: who logs in has the server hash them.
const maxPassword = 1024

// options are those of CREATE and ALTER ROLE.
type options struct {
	list                     []ast.Option
	inRoles, members, admins []string
}

// readOptions sorts the options of a statement; 42601 if one is there twice.
func readOptions(e *statement.Env, list []ast.Option) (*options, error) {
	o := &options{}
	for i := range list {
		x := &list[i]
		if x.Name == "sysid" {
			e.Skip(pgerr.SuccessfulCompletion, "SYSID can no longer be specified")
			continue
		}
		if o.has(x.Name) {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(x.Pos)
		}
		o.list = append(o.list, *x)
		switch x.Name {
		case "in_role":
			o.inRoles = names(x.Value)
		case "role":
			o.members = names(x.Value)
		case "admin":
			o.admins = names(x.Value)
		}
	}
	return o, nil
}

// names returns a list of roles.
func names(v ast.Expr) (out []string) {
	if row, ok := v.(*ast.Row); ok {
		for _, x := range row.Elems {
			if s, ok := x.(*ast.StrLit); ok {
				out = append(out, s.Val)
			}
		}
	}
	return out
}

func (o *options) find(name string) *ast.Option {
	i := slices.IndexFunc(o.list, func(x ast.Option) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &o.list[i]
}

func (o *options) has(name string) bool { return o.find(name) != nil }

// is and isnt report whether an option that is a flag is set, or unset.
func (o *options) is(name string) bool   { return o.flag(name, false) }
func (o *options) isnt(name string) bool { return !o.flag(name, true) }

func (o *options) flag(name string, otherwise bool) bool {
	x := o.find(name)
	if x == nil {
		return otherwise
	}
	b, ok := x.Value.(*ast.BoolLit)
	return ok && b.Val
}

// onlyPassword reports whether the options change a password and nothing else.
func (o *options) onlyPassword() bool { return len(o.list) == 1 && o.list[0].Name == "password" }

// apply changes a role.
func (o *options) apply(e *statement.Env, r *catalog.Role) error {
	for i := range o.list {
		if err := applyOption(e, r, &o.list[i]); err != nil {
			return err
		}
	}
	return nil
}

func applyOption(e *statement.Env, r *catalog.Role, x *ast.Option) error {
	on := false
	if b, ok := x.Value.(*ast.BoolLit); ok {
		on = b.Val
	}
	switch x.Name {
	case "superuser":
		r.Superuser = on
	case "createdb":
		r.CreateDB = on
	case "createrole":
		r.CreateRole = on
	case "inherit":
		r.NoInherit = !on
	case "login":
		r.Login = on
	case "replication":
		r.Replication = on
	case "bypassrls":
		r.BypassRLS = on
	case "password":
		return setPassword(e, r, x.Value)
	case "connection_limit":
		return setConnectionLimit(r, x)
	case "valid_until":
		return setValidUntil(e, r, x)
	}
	return nil
}

// setPassword stores the verifier of a password, or the verifier that was given for one.
func setPassword(e *statement.Env, r *catalog.Role, v ast.Expr) error {
	s, ok := v.(*ast.StrLit)
	switch {
	case !ok: // PASSWORD NULL
		r.Verifier = ""
		return nil
	case s.Val == "":
		e.Skip(pgerr.SuccessfulCompletion, "empty string is not a valid password, clearing password")
		r.Verifier = ""
		return nil
	case password.Looks(s.Val):
		r.Verifier = s.Val
		return nil
	case strings.HasPrefix(s.Val, "md5") && len(s.Val) == 35 && strings.Trim(s.Val[3:], "0123456789abcdef") == "":
		return pgerr.Unsupported("passwords that are hashed by MD5 are not supported").
			WithHint("Give the password itself, or its SCRAM-SHA-256 verifier.")
	case len(s.Val) > maxPassword:
		return pgerr.New(pgerr.InvalidParameterValue, "the password is longer than %d bytes", maxPassword)
	}
	made, err := password.New(s.Val)
	if err != nil {
		return pgerr.New(pgerr.InvalidPassword, "the password can't be stored")
	}
	r.Verifier = made.String()
	return nil
}

func setConnectionLimit(r *catalog.Role, x *ast.Option) error {
	text, err := ast.LiteralText(x.Value)
	if err != nil {
		return err
	}
	d, err := typeio.ParseText(types.Int4, text, &types.FormatContext{})
	if err != nil || d.Int() < -1 || d.Int() > math.MaxInt32 {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid connection limit: %s", text)
	}
	r.ConnectionLimit = int32(d.Int())
	return nil
}

func setValidUntil(e *statement.Env, r *catalog.Role, x *ast.Option) error {
	s, ok := x.Value.(*ast.StrLit)
	if !ok {
		r.ValidUntil = nil
		return nil
	}
	format := e.Format
	if format == nil {
		format = &types.FormatContext{}
	}
	d, err := typeio.ParseText(types.TimestampTZ, s.Val, format)
	if err != nil {
		return err
	}
	until := d.Int()
	r.ValidUntil = &until
	return nil
}
