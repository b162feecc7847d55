package cassandratest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tailLines is how much is shown of the log of a node that ended by itself:
// what a Java that ran out of memory, or was about to, says of it.
const tailLines = 40

// lost tells of a node that ended although nobody wanted it to: how, and what
// it said last. Whatever fails afterwards fails for this reason.
func (n *node) lost() error {
	if n.ended == nil || n.running() || n.wanted.Load() {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the node %s ended by itself: %s. Its log ends with:\n%s", n.address, n.how, tailOf(n.logFile()))
	// Java writes one where it crashes.
	crashes, _ := filepath.Glob(filepath.Join(n.dir, "hs_err_pid*.log"))
	for _, file := range crashes {
		fmt.Fprintf(&b, "\n%s begins with:\n%s", filepath.Base(file), headOf(file))
	}
	return fmt.Errorf("%s", b.String())
}

// lines are those of a file; where it cannot be read, the reason.
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

// lastError is the last line of the node's log that tells an error, or its
// last line.
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
