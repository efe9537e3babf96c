//go:build integration

package main

import "syscall"

// orphanEnds makes a process end with the one that started it, however that ended.
func orphanEnds() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
