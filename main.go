package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"carrel/heap"
)

func main() {
	ballast := heap.Ballast()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process at once: nothing acknowledged is lost.
	context.AfterFunc(ctx, stop)
	code := execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
