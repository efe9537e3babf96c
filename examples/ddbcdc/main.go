// Command ddbcdc copies a DynamoDB table and then follows its stream, as JSON
// lines, and loses nothing when it is killed. See -help.
//
// The pipeline stands in internal/cdc, since the quickstart runs it too.
package main

import (
	"os"

	"github.com/ackgate/ackgate/examples/internal/cdc"
)

func main() { os.Exit(cdc.Main(os.Args[1:], os.Stderr)) }
