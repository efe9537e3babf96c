//go:build unix

package jsonl

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock holds f for this process; the kernel releases it with the process,
// however that ends.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrInUse
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return nil // some network file systems cannot lock: then the user must take care
	case err != nil:
		return fmt.Errorf("jsonl: lock the file: %w", err)
	}
	return nil
}
