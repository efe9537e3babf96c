package main

import (
	"context"
	"errors"
)

func runPure(context.Context, []string, string, int) (bool, error) {
	return false, errors.New("-pure is not there yet")
}
