package call

import (
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgregexp"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxCachedPaths bounds the parsed paths that a Context keeps.
const maxCachedPaths = 64

// JSONPath returns the parsed form of a path.
func (c *Context) JSONPath(d types.Datum) (*jsonpath.Path, error) {
	if p := c.paths[d.Str()]; p != nil {
		return p, nil
	}
	p, err := d.JSONPath()
	if err != nil {
		return nil, err
	}
	if c.paths == nil || len(c.paths) >= maxCachedPaths {
		c.paths = map[string]*jsonpath.Path{}
	}
	c.paths[string([]byte(d.Str()))] = p
	return p, nil
}

// maxCachedRegexps bounds the compiled expressions that a Context keeps.
const maxCachedRegexps = 64

type regexpKey struct {
	pattern string
	flags   pgregexp.Flags
}

// regexpCache keeps compiled expressions between the rows of a statement whose
// pattern is not a constant. It is emptied when full.
type regexpCache struct {
	m map[regexpKey]*pgregexp.Regexp
}

// Regexp returns the compiled expression, from the cache if possible.
func (c *Context) Regexp(pattern string, flags pgregexp.Flags) (*pgregexp.Regexp, error) {
	flags.Global = false
	k := regexpKey{pattern, flags}
	if re := c.regexps.m[k]; re != nil {
		return re, nil
	}
	re, err := pgregexp.Compile(pattern, flags)
	if err != nil {
		return nil, err
	}
	if c.regexps.m == nil || len(c.regexps.m) >= maxCachedRegexps {
		c.regexps.m = map[regexpKey]*pgregexp.Regexp{}
	}
	c.regexps.m[k] = re
	return re, nil
}
