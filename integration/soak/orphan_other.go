//go:build integration && !linux

package main

import "syscall"

func orphanEnds() *syscall.SysProcAttr { return nil }
