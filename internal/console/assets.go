package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// embedded has the pages in assets/dist, if make web has built them before the program was.
//
//go:embed all:assets
var embedded embed.FS

// pages are the files of the console.
type pages struct{ files map[string]*page }

// page is a file as it is sent.
type page struct {
	kind         string
	plain, small []byte // small is compressed; nil: it isn't worth it
	tag          string
	forever      bool // its name changes with its contents
}

// builtPages returns the pages, nil if they were not built.
var builtPages = sync.OnceValue(func() *pages {
	sub, err := fs.Sub(embedded, "assets/dist")
	if err != nil {
		return nil
	}
	return readPages(sub)
})

// readPages reads the pages from a file system; nil if there is no index.html.
func readPages(from fs.FS) *pages {
	p := &pages{files: map[string]*page{}}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(from, name)
		if err == nil {
			p.files["/"+name] = newPage(name, b)
		}
		return err
	})
	if err != nil || p.files["/index.html"] == nil {
		return nil
	}
	return p
}

func newPage(name string, b []byte) *page {
	sum := sha256.Sum256(b)
	f := &page{kind: mime.TypeByExtension(path.Ext(name)), plain: b, tag: `"` + hex.EncodeToString(sum[:8]) + `"`, forever: strings.HasPrefix(name, "assets/")}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return f
	}
	if _, err := w.Write(b); err == nil && w.Close() == nil && out.Len() < len(b) {
		f.small = out.Bytes()
	}
	return f
}

// pagePolicy lets the pages run their own scripts only, and speak with their own server only.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// serve sends a page.
func (p *pages) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	f := p.files[name]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.small != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.small
	}
	_, _ = w.Write(body) // the client may be gone
}
