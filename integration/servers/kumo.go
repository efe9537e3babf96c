//go:build integration

package servers

import (
	"context"

	"github.com/sivchari/kumo"
)

// StartKumo starts kumo inside this process.
func StartKumo(context.Context) (*Server, error) {
	srv := kumo.NewServer()
	return &Server{Name: "kumo", URL: srv.URL, end: func() error { srv.Close(); return nil }}, nil
}
