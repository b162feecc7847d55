package cassandratest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The process that started a cluster holds a lock on ownerFile in its directory as long as it
// lives. pidFile is in each node's directory.
const (
	clusterDirs = "carrel-cassandra-"
	ownerFile   = "owner"
	pidFile     = "pid"
)

// newDir creates a directory for a cluster and locks it.
func newDir() (dir string, owner *os.File, err error) {
	// It gets the name of a cluster's directory only after it is locked, so that no other process
	// takes it for a leftover.
	work, err := os.MkdirTemp("", "starting-"+clusterDirs)
	if err != nil {
		return "", nil, err
	}
	owner, err = os.Create(filepath.Join(work, ownerFile))
	if err == nil {
		err = syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		dir = filepath.Join(filepath.Dir(work), strings.TrimPrefix(filepath.Base(work), "starting-"))
		err = os.Rename(work, dir)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(work))
	}
	return dir, owner, nil
}

// sweep stops the nodes and removes the directories of clusters whose starter has died.
func sweep() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), clusterDirs+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		owner, err := os.Open(filepath.Join(dir, ownerFile))
		if err != nil {
			continue // its owner is removing it, or it belongs to another user
		}
		if syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			errs = append(errs, endOrphans(dir), os.RemoveAll(dir))
		}
		_ = owner.Close()
	}
	return errors.Join(errs...)
}

// endOrphans stops the nodes of a cluster without an owner.
func endOrphans(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*", pidFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			continue // half written when its starter died; the kernel has ended the node
		}
		// The pid may have been reused.
		if strings.Contains(commandOf(pid), dir) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// commandOf returns the command line of a process, or "" if there is none.
func commandOf(pid int) string {
	if text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil {
		return string(text)
	}
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
