package cassandratest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// attributes makes the kernel end a node when its starter dies, however it dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// paused reports whether every thread of a process has stopped. The thread that receives the signal
// stops the others, and on a busy machine it may take a second until it runs.
func paused(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, fmt.Errorf("process %d has no threads: %w", pid, os.ErrProcessDone)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state follows the name, which is in parentheses.
		_, rest, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
		if len(rest) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(rest[0])) {
			return false, nil
		}
	}
	return true, nil
}
