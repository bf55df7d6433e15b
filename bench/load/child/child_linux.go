package child

import "syscall"

// attributes take a child along when this process is killed. In a group of its own it is ended by this process, and not by a
// key that is pressed in the terminal.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
