package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"carrel/interchange"
	"carrel/library"
	"carrel/principal"
)

const (
	importedUsers = 1_000
	importedItems = 20_000
)

// measureImport times an import of users and items, each item shared with three of them.
func measureImport(ctx context.Context, o *options, t *table) error {
	var file bytes.Buffer
	if err := writeLines(&file); err != nil {
		return err
	}
	g, err := o.fresh(ctx, filepath.Join(o.dir, "import"), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	size := int64(file.Len())
	begin, cpu := time.Now(), processCPU()
	sum, err := interchange.Import(ctx, bytes.NewReader(file.Bytes()), size, g.service.Exchange, interchange.Options{})
	if err != nil {
		return err
	}
	took, spent := time.Since(begin), processCPU()-cpu
	t.title("Import of %d users and %d items with three members each", importedUsers, importedItems)
	t.figure("lines", fmt.Sprintf("%.0f lines/s", float64(sum.Lines)/took.Seconds()))
	t.figure("CPU a line", micros(spent/time.Duration(sum.Lines)))
	return nil
}

func writeLines(file *bytes.Buffer) error {
	w := interchange.NewWriter(file)
	for n := range importedUsers {
		err := w.Write(&interchange.Line{Type: interchange.TypeUser, User: &principal.ImportUser{
			ID: string(reader(n)), DisplayName: fmt.Sprintf("Reader %d", n), Visibility: principal.Public,
		}})
		if err != nil {
			return err
		}
	}
	manages, views := library.Manages, library.Viewing
	for n := range importedItems {
		link := fmt.Sprintf("https://example.com/subjects/%d", n)
		err := w.Write(&interchange.Line{Type: interchange.TypeContent, Content: &library.ImportContent{
			ID: string(itemID(mediumOwner, n)), Kind: library.Link, Title: fmt.Sprintf("Subject %d", n), Link: &link,
			Visibility: principal.Public,
			Members: []library.ContentMemberChange{
				{Principal: string(reader(n % importedUsers)), Role: &manages},
				{Principal: string(reader((n + 1) % importedUsers)), Role: &views},
				{Principal: string(reader((n + 7) % importedUsers)), Role: &views},
			},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
