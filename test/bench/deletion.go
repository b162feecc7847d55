package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"carrel/library"
	"carrel/principal"
)

// leaver is the user who is deleted.
const leaver = principal.ID("u:bench:leaver")

// wantedDeletion is how long the removal of a user with mostMembers entries may take.
const wantedDeletion = 30 * time.Second

// measureDeletion times the deletion of a user whose library has many entries, including
// all cleanup. Each entry costs a compare-and-set on its item.
func measureDeletion(ctx context.Context, o *options, t *table) error {
	// The answer waits for the whole removal, so its time is the time to measure.
	g, err := o.fresh(ctx, filepath.Join(o.dir, "deletion"), library.Tuning{AnswerWithin: 10 * time.Minute})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.user(ctx, leaver); err != nil {
		return err
	}
	if err := parallel(mostMembers, func(n int) error { return g.item(ctx, leaver, n) }); err != nil {
		return err
	}
	t.title("The deletion of a user until all its rows are removed (wall time)")
	g.counts.reset()
	begin := time.Now()
	d, err := g.service.People.DeleteUser(ctx, &principal.Viewer{User: leaver}, principal.DeleteUser{ID: string(leaver)})
	if err != nil {
		return err
	}
	if !d.Complete {
		return fmt.Errorf("the user was not removed in time: %+v", d)
	}
	took := time.Since(begin)
	t.required(fmt.Sprintf("%d entries", mostMembers), millis(took), "<= 30 s", took <= wantedDeletion)
	t.figure("  a second", fmt.Sprintf("%.0f entries", mostMembers/took.Seconds()))
	return nil
}
