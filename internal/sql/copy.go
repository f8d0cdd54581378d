package sql

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/copyfmt"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// runCopy executes COPY with the client at the other end.
func (x *execution) runCopy(ctx context.Context, prep *plan.Prepared, root *plan.Copy) error {
	st := root.Stmt.(*ast.Copy)
	switch {
	case st.Program:
		return pgerr.Unsupported("COPY ... PROGRAM is not supported").At(st.Pos)
	case st.Filename != "":
		return pgerr.Unsupported("COPY with a file on the server is not supported").
			WithHint("Use COPY ... STDIN or STDOUT; psql's \\copy reads and writes files of the client.").At(st.Pos)
	}
	opts, err := x.copyOptions(st, root)
	if err != nil {
		return err
	}
	if err := prep.Failure(); err != nil {
		return err
	}
	if root.From {
		return x.copyFrom(ctx, root, opts)
	}
	return x.copyTo(ctx, root, opts)
}

func (x *execution) copyTo(ctx context.Context, root *plan.Copy, opts *copyfmt.Options) error {
	pr, err := exec.CompileNode(root.Input, root.Columns)
	if err != nil {
		return err
	}
	x.s.fillEnv(ctx, &x.env, nil)
	x.copying = true
	h := x.hold()
	if err := x.res.CopyOut(len(root.Columns), opts.Binary()); err != nil {
		return err
	}
	out := copyOutput{w: copyfmt.NewWriter(opts, root.Columns, x.s.Format()), res: x.res}
	out.mem.Init(x.s.srv.cfg.Mem)
	defer out.mem.Close()
	if err := out.begin(opts.Binary()); err != nil {
		return err
	}
	_, err = pr.Run(&x.env, func(b *exec.Batch) error {
		for i := range b.Len() {
			x.rows++
			if err := out.row(b.Row(i)); err != nil {
				return err
			}
			if h, err = x.holdOn(ctx, h, maxHeld); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if t := out.w.Trailer(); t != nil {
		if err := out.send(t); err != nil {
			return err
		}
	}
	if err := x.res.CopyDone(); err != nil {
		return err
	}
	return x.completeCopy(ctx, x.rows)
}

// copyOutput sends what COPY TO writes.
type copyOutput struct {
	w   *copyfmt.Writer
	res Results
	// header is that of the binary format, until it is sent.
	header []byte
	mem    quota.Account // of the longest line so far
}

// begin writes the header. That of the binary format goes out in one message with what
// follows it, where clients look for it.
func (o *copyOutput) begin(binary bool) error {
	h, err := o.w.Header()
	if err != nil {
		return err
	}
	if binary {
		o.header = bytes.Clone(h)
		return nil
	}
	if h == nil {
		return nil
	}
	return o.res.CopyData(h)
}

// lineGrowth is how many bytes of a line a byte of a value may become.
const lineGrowth = 2

// room accounts for a long line that is to be made.
func (o *copyOutput) room(row exec.Row) error {
	size := int64(0)
	for i := range row {
		size += lineGrowth * int64(len(row[i].Str()))
	}
	if size < quota.LargeValue || size <= o.mem.Used() {
		return nil
	}
	return o.mem.Grow(size - o.mem.Used())
}

func (o *copyOutput) row(row exec.Row) error {
	if err := o.room(row); err != nil {
		return err
	}
	line, err := o.w.Row(row)
	if err != nil {
		return err
	}
	return o.send(line)
}

func (o *copyOutput) send(p []byte) error {
	if o.header != nil {
		p = append(o.header, p...)
		o.header = nil
	}
	return o.res.CopyData(p)
}

func (x *execution) copyFrom(ctx context.Context, root *plan.Copy, opts *copyfmt.Options) error {
	pr, err := exec.CompileNode(root.Input, nil)
	if err != nil {
		return err
	}
	x.s.fillEnv(ctx, &x.env, nil)
	if x.input == nil {
		src, err := x.res.CopyIn(len(root.Columns), opts.Binary())
		if err != nil {
			return err
		}
		x.input = &copyInput{src: src, mem: x.s.srv.copies}
	}
	x.input.begin()
	r := copyfmt.NewReader(opts, root.Columns, x.s.Format(), x.input.next)
	r.Table = root.Table.Name
	r.Limit(x.s.srv.cfg.Mem)
	defer r.Close()
	x.env.Copy = r
	n, err := pr.Run(&x.env, nil)
	if err != nil {
		return r.Locate(err)
	}
	x.s.noteRows(root.Table, n, n)
	return x.completeCopy(ctx, n)
}

const (
	// maxReplay is how much data of COPY FROM is kept, so that the statement can be run again
	// after a conflict: the client is not asked for it twice.
	maxReplay = 64 << 20
	// replayStep is how much memory is reserved for it at a time.
	replayStep = 64 << 10
	// chunkOverhead is what a chunk takes beside its bytes.
	chunkOverhead = 48
	// replayShare is which part of the node's memory such data may take, all of it together. A
	// statement that finds none left goes on without.
	replayShare = 4
)

// replayPool returns the pool of the data that is kept of COPY FROM.
func replayPool(mem *quota.Pool) *quota.Pool {
	if mem == nil {
		return nil
	}
	return mem.Child("data of COPY", mem.Limit()/replayShare)
}

// copyInput is the data of COPY FROM, of which it keeps the beginning.
type copyInput struct {
	src  CopySource
	mem  *quota.Pool
	kept [][]byte
	at   int   // chunks of kept that the present attempt has read
	size int   // bytes of kept
	held int64 // reserved for them
	over bool  // more came than could be kept: there is no further attempt
}

// begin begins an attempt.
func (c *copyInput) begin() { c.at = 0 }

// next returns the next chunk, as CopySource.Next does.
func (c *copyInput) next() ([]byte, error) {
	if c.at < len(c.kept) {
		c.at++
		return c.kept[c.at-1], nil
	}
	p, err := c.src.Next()
	if err == nil && !c.over {
		c.keep(p)
	}
	return p, err
}

func (c *copyInput) keep(p []byte) {
	size := c.size + len(p) + chunkOverhead
	if size > maxReplay || !c.reserve(int64(size)) {
		c.over = true
		c.drop()
		return
	}
	c.kept, c.size = append(c.kept, bytes.Clone(p)), size
	c.at = len(c.kept)
}

func (c *copyInput) reserve(size int64) bool {
	if c.mem == nil || size <= c.held {
		return true
	}
	n := max(size-c.held, replayStep)
	if c.mem.Reserve(n) != nil {
		return false
	}
	c.held += n
	return true
}

// drop gives up what is kept.
func (c *copyInput) drop() {
	if c.held > 0 {
		c.mem.Release(c.held)
	}
	c.kept, c.at, c.size, c.held = nil, 0, 0, 0
}

func (x *execution) completeCopy(ctx context.Context, n int64) error {
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	return x.res.Complete(fmt.Sprintf("COPY %d", n))
}

// copyOptions reads the options of COPY and checks that they fit together.
func (x *execution) copyOptions(st *ast.Copy, root *plan.Copy) (*copyfmt.Options, error) {
	o := &copyfmt.Options{Encoding: x.s.Encoding()}
	var encoding *charset.Encoding
	for _, opt := range st.Options {
		name := string(opt.Name)
		switch name {
		case "force_quote", "force_not_null", "force_null":
			cols, err := copyColumns(opt, root.Columns)
			if err != nil {
				return nil, err
			}
			o.SetColumns(name, cols)
			continue
		}
		text := "true"
		if opt.Value != nil {
			var err error
			if text, err = ast.LiteralText(opt.Value); err != nil {
				return nil, err
			}
		}
		switch {
		case name == "freeze":
			x.res.Notice("NOTICE", ddl.CopyFreeze())
		case name == "encoding":
			if encoding = charset.Find(text); encoding == nil {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "argument to option \"encoding\" must be a valid encoding name").At(opt.Pos)
			}
		default:
			if err := o.Set(name, text); err != nil {
				return nil, pgerr.From(err).At(opt.Pos)
			}
		}
	}
	if err := o.Validate(root.From); err != nil || encoding == nil || o.Binary() { // text in the binary format is the client's
		return o, err
	}
	if !encoding.Supported() {
		return nil, encoding.Unsupported()
	}
	if o.Encoding = encoding; encoding.Plain() {
		o.Encoding = nil
	}
	return o, nil
}

// copyColumns resolves the columns of FORCE_QUOTE and the like.
func copyColumns(opt ast.Option, cols []plan.Column) ([]bool, error) {
	set := make([]bool, len(cols))
	switch v := opt.Value.(type) {
	case *ast.ColumnRef:
		for i := range set {
			set[i] = true
		}
	case *ast.Row:
		for _, e := range v.Elems {
			name, err := ast.LiteralText(e)
			if err != nil {
				return nil, err
			}
			i := 0
			for i < len(cols) && cols[i].Name != name {
				i++
			}
			if i == len(cols) {
				return nil, pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", name).At(e.Position())
			}
			set[i] = true
		}
	}
	return set, nil
}
