package sql

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/exec"
)

func (s *Session) virtual() exec.VirtualProvider { return nil }

func (s *Session) catalogFuncs() builtin.Catalog { return nil }
