// Command generate writes the demo data to standard output:
//
//	go run ./demo/generate > data/demo.jsonl
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"carrel/demo"
)

func main() {
	base := flag.String("base", time.Now().UTC().Truncate(24*time.Hour).Format(time.RFC3339),
		"the time, in RFC 3339, before which everything happened; default: the beginning of today")
	flag.Parse()
	if err := generate(context.Background(), *base); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, base string) error {
	at, err := time.Parse(time.RFC3339, base)
	if err != nil {
		return fmt.Errorf("-base must be a time such as 2026-11-21T00:00:00Z: %w", err)
	}
	packages, err := demo.Packages(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if err := demo.Write(out, at, packages); err != nil {
		return err
	}
	return out.Flush()
}
