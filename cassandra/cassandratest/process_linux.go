package cassandratest

import "syscall"

// attributes have the kernel end a node when its starter dies, however it does.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
