package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"carrel/config"
	"carrel/gateway"
	"carrel/observe"
	"carrel/progress"
)

// withGateway opens the store, calls do with a gateway on it, and closes both. The log goes to
// standard error. doing is the name of the command for other processes that use the store.
func withGateway(ctx context.Context, doing string, store config.StoreFlag, s Streams,
	do func(context.Context, *gateway.Gateway) error) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g, err := gateway.Open(ctx, store, gateway.Options{Log: observe.NewLogger(progress.LineWriter(s.Err)), Fatal: fail, Doing: doing})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(ctx)) }()
	err = do(ctx, g)
	if cause := context.Cause(ctx); cause != nil && err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// printJSON prints a result, indented.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
