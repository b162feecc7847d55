// Command carrel is the library gateway.
//
// This package starts the process, and server.go connects the parts of a gateway that serves
// requests. Package cli contains the commands, config the settings, and gateway the domain on an
// open store.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"carrel/cli"
	"carrel/heap"
)

func main() {
	// What the process writes, such as the files of a store, is for its own user only.
	syscall.Umask(0o077)
	ballast := heap.Ballast()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once. Nothing acknowledged is lost.
	context.AfterFunc(ctx, stop)
	code := cli.Execute(ctx, os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}, runServer)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
