package cli

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/security"
	"github.com/spf13/cobra"
)

const (
	// zipItemTime bounds the time to fetch one item, zipItemBytes its size.
	zipItemTime  = 20 * time.Second
	zipItemBytes = 256 << 20
)

type zipFlags struct{ nodeFlags }

func newDebugZip(s *streams) *cobra.Command {
	f := &zipFlags{}
	c := &cobra.Command{
		Use:   "zip FILE",
		Short: "Collect what is needed to look into a cluster's problem",
		Long: "Collect what is needed to look into a cluster's problem: the nodes, their logs, metrics, goroutines and heaps,\n" +
			"their replicas, and the placement of ranges. Rows of tables are not among it, but keys are. What can't be had is named\n" +
			"in the file instead.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name the file to write")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0]) },
	}
	f.add(c)
	return c
}

// run writes the file under a temporary name, and renames it when it is complete.
func (f *zipFlags) run(s *streams, path string) (err error) {
	nodes, err := f.listed(true)
	if err != nil {
		return err
	}
	disk := fs.Disk()
	tmp := path + ".part"
	file, err := disk.Create(tmp, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	z := &zipFile{Writer: zip.NewWriter(file), s: s}
	if err := errors.Join(f.collect(z, nodes), z.Close(), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, disk.Remove(tmp))
	}
	if err := disk.Rename(tmp, path); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: %d items, %d could not be had\n", path, z.items, z.failed)
	return nil
}

// zipFile is the file being written.
type zipFile struct {
	*zip.Writer
	s             *streams
	items, failed int
}

// add fetches an item and writes it, or the error of the fetch. It fails only if the file can't be
// written.
func (z *zipFile) add(name string, fetch func(ctx context.Context, w io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), zipItemTime)
	defer cancel()
	z.items++
	if err := fetch(ctx, w); err != nil {
		z.failed++
		fmt.Fprintf(z.s.err, "%s: %v\n", name, err)
		_, err = fmt.Fprintf(w, "\nERROR: %v\n", err)
		return err
	}
	return nil
}

func (f *zipFlags) collect(z *zipFile, nodes []node.NodeStatus) error {
	err := z.add("nodes.json", func(_ context.Context, w io.Writer) error { return writeJSON(w, nodes) })
	for _, q := range []struct{ name, query string }{
		{"version.csv", "SELECT version()"},
		{"settings.csv", "SHOW ALL"},
		{"ranges.csv", "SHOW RANGES"},
		{"databases.csv", "SELECT datname FROM pg_catalog.pg_database"},
		{"sessions.csv", "SELECT pid, usename, application_name, state, state_change FROM pg_catalog.pg_stat_activity"},
	} {
		err = errors.Join(err, z.add("cluster/"+q.name, func(ctx context.Context, w io.Writer) error { return f.query(ctx, w, q.query) }))
	}
	web, werr := f.web()
	for _, n := range nodes {
		if n.Membership == node.Decommissioned {
			continue
		}
		dir := fmt.Sprintf("nodes/%d/", n.ID)
		err = errors.Join(err, z.add(dir+"replicas.json", func(ctx context.Context, w io.Writer) error { return f.debugInfo(ctx, w, n.ID) }))
		for _, item := range []struct{ name, path string }{
			{"metrics.txt", "/_status/vars"},
			{"goroutines.txt", "/debug/pprof/goroutine?debug=2"},
			{"heap.pprof", "/debug/pprof/heap"},
			{"lichen.log", "/_debug/log"},
		} {
			err = errors.Join(err, z.add(dir+item.name, func(ctx context.Context, w io.Writer) error {
				if werr != nil {
					return werr
				}
				return web.fetch(ctx, w, n.HTTPAddr, item.path)
			}))
		}
	}
	return err
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (f *zipFlags) debugInfo(ctx context.Context, w io.Writer, id kvpb.NodeID) error {
	var d node.DebugInfo
	if err := f.call(ctx, node.MethodDebug, node.NodeRequest{Node: id}, &d); err != nil {
		return err
	}
	return writeJSON(w, d)
}

// query writes the rows of a query at the node that is asked, as root.
func (f *zipFlags) query(ctx context.Context, w io.Writer, query string) error {
	conn, err := f.connectSQL(ctx, "", "debug zip")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return err
	}
	for _, r := range results {
		p := newRowPrinter("csv", w, r.FieldDescriptions)
		for _, row := range r.Rows {
			p.row(row)
		}
		if err := p.end(); err != nil {
			return err
		}
	}
	return nil
}

// webClient fetches from the nodes' HTTP listeners.
type webClient struct {
	http   http.Client
	scheme string
}

func (f *zipFlags) web() (*webClient, error) {
	c, err := f.tls()
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return &webClient{scheme: "http"}, nil
	}
	cfg, err := security.ClientTLS(f.certsDir, security.RootName)
	if err != nil {
		return nil, err
	}
	cfg.NextProtos = nil
	web := &webClient{scheme: "https"}
	web.http.Transport = &http.Transport{TLSClientConfig: cfg}
	return web, nil
}

func (c *webClient) fetch(ctx context.Context, w io.Writer, addr, path string) error {
	if addr == "" {
		return errors.New("its HTTP address is not known")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+"://"+addr+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	_, err = io.Copy(w, io.LimitReader(resp.Body, zipItemBytes))
	return err
}
