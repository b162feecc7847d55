package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// bulkAtOnce is how many items of one bulk mutation are changed at the same time.
const bulkAtOnce = 8

// ShareContents is the input of Service.ShareContents.
type ShareContents struct {
	Contents       []string // 1..100, each once
	Principals     []string // 1..100; duplicates count once
	Role           ContentRole
	IdempotencyKey *string
}

// DeleteContents is the input of Service.DeleteContents.
type DeleteContents struct {
	Items          []ContentDeletion // 1..100, each once
	IdempotencyKey *string
}

// ContentDeletion is an item of DeleteContents.
type ContentDeletion struct {
	ID              string
	ExpectedVersion *int
}

// BulkOutcome is what a bulk mutation did with one of its items: Out, or nothing, because of
// Err. The paths of Err begin at the input of the bulk mutation.
type BulkOutcome struct {
	Out *ContentOutcome
	Err error
}

// ShareContents shares each of several items as ShareContent does, and returns the outcomes
// in the order of the items. Each item is a change of its own: a refusal of one changes
// nothing for the others.
//
// Errors: UNAUTHENTICATED; the faults of what all items have in common.
func (s *Service) ShareContents(ctx context.Context, v *principal.Viewer, in ShareContents) ([]BulkOutcome, error) {
	_, _, faults := checkTargets(in.Principals, in.Role, s.tune.Targets)
	b := bulk{list: "contentIds", id: "contentId", ids: in.Contents, call: commit.Call{Name: "shareContents", Input: &in,
		Key: &in.IdempotencyKey, Faults: faults}}
	b.path = func(i int, path []string) []string {
		if len(path) > 0 && path[0] == b.id {
			return b.at(i)
		}
		return path
	}
	return s.each(ctx, v, b, func(ctx context.Context, v *principal.Viewer, i int, key *string) (*ContentOutcome, error) {
		return s.ShareContent(ctx, v, ShareContent{Content: in.Contents[i], Principals: in.Principals, Role: in.Role, IdempotencyKey: key})
	})
}

// DeleteContents deletes each of several items as DeleteContent does. The outcomes are as those of
// ShareContents.
//
// Errors: as ShareContents.
func (s *Service) DeleteContents(ctx context.Context, v *principal.Viewer, in DeleteContents) ([]BulkOutcome, error) {
	b := bulk{list: "items", id: "id", call: commit.Call{Name: "deleteContents", Input: &in, Key: &in.IdempotencyKey}}
	for _, item := range in.Items {
		b.ids = append(b.ids, item.ID)
	}
	b.path = func(i int, path []string) []string { return append(b.at(i), path...) }
	return s.each(ctx, v, b, func(ctx context.Context, v *principal.Viewer, i int, key *string) (*ContentOutcome, error) {
		return s.DeleteContent(ctx, v, DeleteContent{ID: in.Items[i].ID, ExpectedVersion: in.Items[i].ExpectedVersion, IdempotencyKey: key})
	})
}

// bulk is a mutation of several items.
type bulk struct {
	call commit.Call
	list string   // the name of the list of items in the input
	id   string   // the name of the id in the input of the mutation of one item
	ids  []string // of the items
	// path returns the path of a fault of an item, by its path in the input of the mutation
	// of that one item.
	path func(i int, path []string) []string
}

// at is the path of an item.
func (b *bulk) at(i int) []string { return []string{b.list, strconv.Itoa(i)} }

// keyOf derives the idempotency key of one item. So a repetition after an interruption returns the
// first outcome of each item that was changed, and changes the others.
func (b *bulk) keyOf(key *string, id string) *string {
	if key == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(b.call.Name + "\x00" + *key + "\x00" + id))
	derived := hex.EncodeToString(sum[:])
	return &derived
}

// each changes the items of a bulk mutation, several at the same time. It leaves out the items that
// it has not begun when the time of the operation is over.
func (s *Service) each(ctx context.Context, v *principal.Viewer, b bulk,
	change func(ctx context.Context, v *principal.Viewer, i int, key *string) (*ContentOutcome, error)) ([]BulkOutcome, error) {
	defer v.Forget()
	switch {
	case len(b.ids) == 0:
		b.call.Faults = append(b.call.Faults, fault.Emptyf([]string{b.list}, "name at least one item"))
	case len(b.ids) > input.MaxList:
		b.call.Faults = append(b.call.Faults, fault.TooManyf([]string{b.list}, "at most %d items at once; send the rest in further calls",
			input.MaxList))
	}
	key := *b.call.Key
	if _, err := s.people.BeginSignedIn(v, b.call); err != nil {
		return nil, err
	}
	outs := make([]BulkOutcome, len(b.ids))
	first := make(map[string]int, len(b.ids))
	for i, id := range b.ids {
		if before, named := first[id]; named {
			outs[i].Err = fault.Repeatedf(b.path(i, []string{b.id}), "this item is named twice, first at %d", before)
			continue
		}
		first[id] = i
	}
	err := sched.ForEach(ctx, s.rt, len(outs), bulkAtOnce, func(i int) error {
		switch {
		case outs[i].Err != nil:
		case ctx.Err() != nil:
			outs[i].Err = fault.Unavailablef(ctx.Err(),
				"the operation ran out of time before it reached this item, which was not changed; send it again")
		default:
			out, err := change(ctx, v.Apart(), i, b.keyOf(key, b.ids[i]))
			outs[i] = BulkOutcome{Out: out, Err: b.located(i, err)}
		}
		return nil
	})
	return outs, err
}

// located is an error of an item with the paths of the bulk mutation.
func (b *bulk) located(i int, err error) error {
	var list fault.List
	var one *fault.Error
	if !errors.As(err, &list) && !errors.As(err, &one) {
		return err
	}
	var moved fault.List
	for _, f := range fault.ListOf(err) {
		c := *f
		c.Path = b.path(i, f.Path)
		moved = append(moved, &c)
	}
	return moved
}
