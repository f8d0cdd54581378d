package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// watch prints what the server does if a statement that was cancelled has not ended after most of the time
// that it has.
func (p *probe) watch(done chan struct{}) {
	select {
	case <-done:
		return
	case <-time.After(p.bound * 3 / 4):
	}
	text, err := p.goroutines()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	select {
	case <-done: // it ended meanwhile
	default:
		fmt.Print(text)
	}
}

// goroutines returns the stacks of the server's goroutines that execute statements.
func (p *probe) goroutines() (string, error) {
	c := http.Client{Timeout: timeout}
	r, err := c.Get(p.stacks + "/debug/pprof/goroutine?debug=2")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for g := range strings.SplitSeq(string(b), "\n\n") {
		if !strings.Contains(g, "pgwire") || strings.Contains(g, "[IO wait") {
			continue
		}
		for line := range strings.Lines(g) {
			if !strings.HasPrefix(line, "\t") {
				out.WriteString("  | " + line)
			}
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}
