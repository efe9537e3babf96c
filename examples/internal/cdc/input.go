package cdc

import (
	"errors"
	"fmt"
)

// InputError is a fault in what the user gave: nothing was read, nothing is
// lost, and the remedy is the user's. The program exits with code 2.
type InputError struct {
	What   string // one clause
	Remedy string // what to do
	Err    error  // cause, may be nil
}

func (e *InputError) Error() string { return e.What + ": " + e.Remedy }

func (e *InputError) Unwrap() error { return e.Err }

func invalid(what, remedy string) error { return &InputError{What: what, Remedy: remedy} }

func invalidErr(err error, remedy, format string, args ...any) error {
	return &InputError{What: fmt.Sprintf(format, args...), Remedy: remedy, Err: err}
}

// isInput reports whether err asks for exit code 2.
func isInput(err error) bool {
	var input *InputError
	return errors.As(err, &input)
}
