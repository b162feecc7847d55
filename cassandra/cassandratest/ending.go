package cassandratest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tailLines is the number of lines shown from the log of a node that ended unexpectedly. They
// include the message of a JVM that ran out of memory.
const tailLines = 40

// lost reports that a node has ended unexpectedly: how, and the end of its log. It is the cause of
// all later failures.
func (n *node) lost() error {
	if n.ended == nil || n.running() || n.wanted.Load() {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the node %s ended by itself: %s. The end of its log:\n%s", n.address, n.how, tailOf(n.logFile()))
	// The JVM writes such a file when it crashes.
	crashes, _ := filepath.Glob(filepath.Join(n.dir, "hs_err_pid*.log"))
	for _, file := range crashes {
		fmt.Fprintf(&b, "\nThe beginning of %s:\n%s", filepath.Base(file), headOf(file))
	}
	return fmt.Errorf("%s", b.String())
}

// lines returns the lines of a file, or the error if it cannot be read.
func lines(file string) [][]byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return [][]byte{[]byte(err.Error())}
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

func tailOf(file string) []byte {
	all := lines(file)
	return bytes.Join(all[max(0, len(all)-tailLines):], []byte("\n"))
}

func headOf(file string) []byte {
	all := lines(file)
	return bytes.Join(all[:min(len(all), tailLines)], []byte("\n"))
}

// lastError returns the last line of the node's log that reports an error, or else its last line.
func (n *node) lastError() string {
	all := lines(n.logFile())
	last := ""
	for _, line := range all {
		if bytes.Contains(line, []byte("ERROR")) || bytes.Contains(line, []byte("Exception")) {
			last = string(line)
		}
	}
	if last == "" {
		last = string(all[len(all)-1])
	}
	return last
}
