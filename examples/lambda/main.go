// Command lambda is one function for every event source that takes partial
// answers. The environment says which it serves: SOURCE is dynamodb, kinesis, sqs,
// kafka or window. template.yaml deploys all five.
//
// Each handler takes orders, refuses those without stock and logs the rest. What
// it would do in earnest stands in takeOrder; everything else is how it is wired.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/dynamoclaims"
)

// timeout is the function's, as in template.yaml: a claim that a crash left
// behind is free again when the next try can begin.
const timeout = 30 * time.Second

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	claims, err := openClaims(context.Background())
	if err != nil {
		log.Error("claims", "err", err)
		os.Exit(1)
	}
	handler, err := handlerFor(os.Getenv("SOURCE"), log, claims)
	if err != nil {
		log.Error("handler", "err", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// openClaims is the table that recognises duplicates. Without one, on the
// developer's machine, the claims are in memory and of this process alone.
func openClaims(ctx context.Context) (lambdaids.Claims, error) {
	table := os.Getenv("CLAIMS_TABLE")
	if table == "" {
		return lambdaids.NewMemoryClaims(nil), nil
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return dynamoclaims.New(dynamodb.NewFromConfig(cfg), dynamoclaims.Config{
		Table: table, Prefix: os.Getenv("SOURCE") + "/",
	}), nil
}
