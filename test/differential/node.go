package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// node is a Lichen of the run's own.
type node struct {
	cmd *exec.Cmd
	dir string
	url string
}

// startNode starts a node of a program on free ports, with its data in a new directory.
func startNode(program string) (*node, error) {
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return nil, err
	}
	n := &node{dir: dir, cmd: exec.Command(program, "start-single-node", "--insecure", "--store="+dir,
		"--listen-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0")}
	n.cmd.Stderr = os.Stderr
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	sc := bufio.NewScanner(out) // the banner, and little else
	for n.url == "" && sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), "sql:"); ok {
			n.url = strings.TrimSpace(rest)
		}
	}
	if n.url == "" {
		return nil, errors.Join(fmt.Errorf("%s has ended: %w", program, n.cmd.Wait()), os.RemoveAll(dir))
	}
	return n, nil
}

// stop ends the node, which is expected to live still.
func (n *node) stop() error {
	err := n.cmd.Process.Signal(os.Interrupt)
	if err == nil {
		err = n.cmd.Wait()
	}
	return errors.Join(err, os.RemoveAll(n.dir))
}
