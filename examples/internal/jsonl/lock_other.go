//go:build !unix

package jsonl

import "os"

// lock does nothing where the standard library offers no advisory lock.
func lock(*os.File) error { return nil }
