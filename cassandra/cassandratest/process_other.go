//go:build !linux

package cassandratest

import "syscall"

// attributes keeps signals from the terminal away from the node. If its starter dies, the next
// Start ends the node by its pid file.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// paused cannot be determined here.
func paused(int) (bool, error) { return true, nil }
