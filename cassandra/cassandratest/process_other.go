//go:build !linux

package cassandratest

import "syscall"

// attributes keep the signals of a terminal from the node. A node whose
// starter dies is ended at the next Start, by its pid file.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// paused is not known here.
func paused(int) (bool, error) { return true, nil }
