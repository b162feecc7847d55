package cli

import (
	"context"
	"fmt"
	"math"

	"carrel/config"
	"carrel/core/commit"
	"carrel/exchange"
	"carrel/gateway"
	"carrel/interchange"
	"carrel/library"
	"carrel/principal"
)

// forgetCommand is `carrel forget`.
type forgetCommand struct{ config.StoreFlag }

// forgotten is the report of a deletion.
type forgotten struct {
	User principal.ID `json:"user"`
	Gone struct {
		Memberships    int  `json:"memberships"`    // in groups
		LibraryEntries int  `json:"libraryEntries"` // items on which the user had a role
		Drafts         int  `json:"drafts"`
		Email          bool `json:"email"`
	} `json:"gone"`
	Stays struct {
		Items       int `json:"items"` // that the user created
		Revisions   int `json:"revisions"`
		Suggestions int `json:"suggestions"`
		Pastes      int `json:"pastes"`
		// ManagedBy lists the managers of the first items.
		ManagedBy []managed `json:"managedBy,omitempty"`
	} `json:"stays"`
}

// managed is an item with its managers.
type managed struct {
	Item     library.ContentID `json:"item"`
	Managers []string          `json:"managers"`
}

// forgetList is the maximum number of items that the report names.
const forgetList = 100

// administrators is written in place of the managers of an item that would have none.
const administrators = "the tenant's administrators"

// run deletes the user, waits until everything is removed, and prints what is gone and what
// stays, as JSON.
func (c *forgetCommand) run(ctx context.Context, s Streams, args []string) error {
	user, err := principal.ParseID(args[0])
	if err != nil || !user.IsUser() {
		return config.WrongUsage("USER", args[0], "u:TENANT:NAME")
	}
	if err := gateway.CheckExists(c.StoreFlag); err != nil {
		return err
	}
	return withGateway(ctx, "carrel forget", c.StoreFlag, s, func(ctx context.Context, g *gateway.Gateway) error {
		report, err := forget(ctx, g, user)
		if err != nil {
			return fmt.Errorf("forget %s: %w", user, err)
		}
		return printJSON(s.Out, report)
	})
}

// forget deletes a user. If an earlier deletion was interrupted, it removes the rest of the data.
func forget(ctx context.Context, g *gateway.Gateway, user principal.ID) (*forgotten, error) {
	headers, err := g.Store.Principals.ReadPrincipals(ctx, []principal.ID{user})
	if err != nil {
		return nil, err
	}
	h := &headers[0]
	switch {
	case h.Removed():
		return nil, fmt.Errorf("the user was deleted before, and all of its data is removed")
	case h.State != commit.Live && h.State != commit.Deleted:
		return nil, fmt.Errorf("there is no such user")
	}
	r := &forgotten{User: user}
	r.Gone.Email = h.Email != ""
	if err := r.count(ctx, g); err != nil {
		return nil, err
	}
	if h.State == commit.Live {
		if _, err := g.People.DeleteUser(ctx, &principal.Viewer{User: user}, principal.DeleteUser{ID: string(user)}); err != nil {
			return nil, err
		}
	}
	if err := g.People.Upkeep.RemoveDeleted(ctx, user); err != nil {
		return nil, fmt.Errorf("the user is deleted, but not all of its data could be removed; repeat the command: %w", err)
	}
	return r, r.nameManagers(ctx, g)
}

// count counts the data of the user.
func (r *forgotten) count(ctx context.Context, g *gateway.Gateway) error {
	groups, err := g.Store.Principals.Memberships(ctx, r.User, "", math.MaxInt32)
	if err != nil {
		return err
	}
	r.Gone.Memberships = len(groups)
	var after library.ContentID
	for {
		shared, err := g.Store.Libraries.SharedWith(ctx, r.User, after, 1000)
		if err != nil {
			return err
		}
		if r.Gone.LibraryEntries += len(shared); len(shared) < 1000 {
			break
		}
		after = shared[len(shared)-1].Content
	}
	drafts, err := g.Store.Texts.ListDrafts(ctx, r.User)
	if err != nil {
		return err
	}
	r.Gone.Drafts = len(drafts)
	return interchange.ExportUser(ctx, g.Exchange, r.authored, r.User, nil)
}

// nameManagers fills in the managers of the first items that the user has created.
func (r *forgotten) nameManagers(ctx context.Context, g *gateway.Gateway) error {
	for i := range r.Stays.ManagedBy {
		m := &r.Stays.ManagedBy[i]
		page, err := g.Store.Contents.MembersPage(ctx, m.Item, "", 1000, false)
		if err != nil {
			return err
		}
		for _, row := range page.Members {
			if row.Active() && row.Role == library.Manages {
				m.Managers = append(m.Managers, string(row.Principal))
			}
		}
		if len(m.Managers) == 0 {
			m.Managers = []string{administrators}
		}
	}
	return nil
}

// authored counts a line if the user is the author of what it holds.
func (r *forgotten) authored(l *exchange.Line) error {
	switch l.Type {
	case exchange.TypeContent: // the user has created it, or is a member
		if l.Content.CreatedBy == nil || *l.Content.CreatedBy != string(r.User) {
			return nil
		}
		if r.Stays.Items++; len(r.Stays.ManagedBy) < forgetList {
			r.Stays.ManagedBy = append(r.Stays.ManagedBy, managed{Item: library.ContentID(l.Content.ID)})
		}
	case exchange.TypeRevision:
		r.Stays.Revisions++
	case exchange.TypeSuggestion:
		r.Stays.Suggestions++
	case exchange.TypePaste:
		r.Stays.Pastes++
	}
	return nil
}
