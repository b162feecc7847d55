package exchange

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// scanPage is how many items are read at once.
const scanPage = 100

// exportAtOnce is how many items an export reads at once. They are written in order nevertheless.
const exportAtOnce = 16

// Pages is what package note does for exports and imports.
type Pages interface {
	// ExportPage exports the branches, the revisions and the suggestions of an item, each after
	// the objects that it refers to.
	ExportPage(ctx context.Context, h *library.Header, to Sink) error
	// ExportDrafts exports the drafts of a user whose items exist, the oldest first.
	ExportDrafts(ctx context.Context, user principal.ID, to Sink) error

	ImportBranch(ctx context.Context, in ImportBranch) (principal.ImportResult, error)
	ImportRevision(ctx context.Context, in ImportRevision) (principal.ImportResult, error)
	ImportSuggestion(ctx context.Context, in ImportSuggestion) (principal.ImportResult, error)
	ImportDraft(ctx context.Context, in ImportDraft) (principal.ImportResult, error)
}

// Config contains what the Service needs.
type Config struct {
	Engine     *commit.Engine
	People     *principal.Service
	Principals principal.Store
	Contents   library.ContentStore
	Library    *library.Service
	Pages      Pages
	Pastes     *paste.Service
	Runtime    sched.Runtime
}

// Service exports users, groups, items, their texts, and pastes, and imports what was exported.
type Service struct {
	engine     *commit.Engine
	people     *principal.Service
	principals principal.Store
	contents   library.ContentStore
	library    *library.Service
	pages      Pages
	pastes     *paste.Service
	rt         sched.Runtime
}

// New returns the Service of exports and imports.
func New(c Config) *Service {
	return &Service{engine: c.Engine, people: c.People, principals: c.Principals, contents: c.Contents, library: c.Library,
		pages: c.Pages, pastes: c.Pastes, rt: c.Runtime}
}

// Export writes users, groups, items, roles, texts with their branches, revisions, suggestions and
// drafts, and pastes without their secrets. Leases are not exported. Importing it into an empty store restores all of it, positions in
// libraries included. It omits answered requests, the keys of cursors, deleted and expired items,
// and the changes of libraries that subscriptions resume from.
//
// The same state is exported in the same way, each type in the order in which the store lists
// ids, so that two exports can be compared. Export holds one page of items in memory, whatever
// the size of the store. The result is one state of the store only if nobody writes meanwhile.
func (s *Service) Export(ctx context.Context, to Sink) error {
	if err := s.exportUsers(ctx, to); err != nil {
		return fmt.Errorf("export the users: %w", err)
	}
	if err := s.exportGroups(ctx, s.exportGroup(to)); err != nil {
		return fmt.Errorf("export the groups: %w", err)
	}
	if err := s.exportGroups(ctx, s.exportRestOfGroup(to)); err != nil {
		return fmt.Errorf("export the members of groups: %w", err)
	}
	if err := s.exportContents(ctx, to); err != nil {
		return fmt.Errorf("export the items: %w", err)
	}
	if err := s.exportPages(ctx, to); err != nil {
		return fmt.Errorf("export the texts of items: %w", err)
	}
	if err := s.exportDrafts(ctx, to); err != nil {
		return fmt.Errorf("exporting drafts: %w", err)
	}
	return s.pastes.Export(ctx, func(p paste.Import) error { return to(&Line{Type: TypePaste, Paste: &p}) })
}

func (s *Service) exportUsers(ctx context.Context, to Sink) error {
	return s.people.Upkeep.EachHeader(ctx, principal.ID.IsUser, func(h *principal.Header) error {
		u := principal.ImportUser{ID: string(h.ID), DisplayName: h.DisplayName, Visibility: h.Visibility, CreatedAt: &h.CreatedAt}
		if h.Email != "" {
			u.Email = &h.Email
		}
		return to(&Line{Type: TypeUser, User: &u})
	})
}

func (s *Service) exportGroups(ctx context.Context, write func(context.Context, *principal.Header) error) error {
	return s.people.Upkeep.EachHeader(ctx, principal.ID.IsGroup, func(h *principal.Header) error { return write(ctx, h) })
}

// exportGroup exports a group with those members that are users. Groups may contain each other,
// so they can be named as members only after all of them were exported.
func (s *Service) exportGroup(to Sink) func(context.Context, *principal.Header) error {
	return func(ctx context.Context, h *principal.Header) error {
		g := principal.ImportGroup{ID: string(h.ID), DisplayName: h.DisplayName, Visibility: h.Visibility, CreatedAt: &h.CreatedAt}
		members, err := s.groupMembers(ctx, h.ID)
		if err != nil {
			return err
		}
		g.Unmanaged, g.MembersFollow = members.unmanaged, len(members.follow) > 0
		if !g.MembersFollow {
			g.Members = changesTo[principal.GroupRole](members.own)
		}
		return to(&Line{Type: TypeGroup, Group: &g})
	}
}

// exportRestOfGroup exports the members that are not in the group's own line.
func (s *Service) exportRestOfGroup(to Sink) func(context.Context, *principal.Header) error {
	return func(ctx context.Context, h *principal.Header) error {
		members, err := s.groupMembers(ctx, h.ID)
		if err != nil {
			return err
		}
		write := func(more []holder) error {
			m := library.ImportMembers{ID: string(h.ID), Group: changesTo[principal.GroupRole](more), Unmanaged: members.unmanaged}
			return to(&Line{Type: TypeMembers, Members: &m})
		}
		own := members.own
		if len(members.follow) > 0 {
			// A group without members accepts members only together with a manager.
			if err := write(members.follow); err != nil {
				return err
			}
			own = members.follow
		}
		return s.membersOfGroup(h.ID).rest(ctx, own, write)
	}
}

// exportedMembers are the members of a group that are exported first: own in the line of the group,
// or follow in the first line of members if only groups manage it.
type exportedMembers struct {
	own, follow []holder
	// unmanaged: nobody but administrators manages the group.
	unmanaged bool
}

func (s *Service) groupMembers(ctx context.Context, group principal.ID) (m exportedMembers, err error) {
	var managed bool
	if m.own, managed, err = s.membersOfGroup(group).first(ctx, principal.ID.IsUser); err != nil || managed {
		return m, err
	}
	all, managed, err := s.membersOfGroup(group).first(ctx, principal.Any)
	if managed {
		m.follow = all
	}
	m.unmanaged = !managed
	return m, err
}

func (s *Service) exportContents(ctx context.Context, to Sink) error {
	var after library.ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, scanPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		items := make([]exportedItem, len(ids))
		err = sched.ForEach(ctx, s.rt, len(ids), exportAtOnce, func(i int) error {
			var err error
			items[i], err = s.exportedItem(ctx, ids[i])
			return err
		})
		if err != nil {
			return err
		}
		for i := range items {
			if err := s.exportContent(ctx, &items[i], to); err != nil {
				return err
			}
		}
		if len(ids) < scanPage {
			return nil
		}
	}
}

// exportedItem is an item with the members in its own line. It has no header if there is
// nothing to export.
type exportedItem struct {
	header *library.Header
	own    []holder
	// unmanaged: nobody but administrators manages the item.
	unmanaged bool
}

func (s *Service) exportedItem(ctx context.Context, id library.ContentID) (exportedItem, error) {
	memberIterator := s.membersOfContent(id)
	own, managed, err := memberIterator.first(ctx, principal.Any)
	if err != nil || !memberIterator.content.Exists(s.engine.Now()) {
		return exportedItem{}, err
	}
	return exportedItem{header: memberIterator.content, own: own, unmanaged: !managed}, nil
}

func (s *Service) exportContent(ctx context.Context, item *exportedItem, to Sink) error {
	h := item.header
	if h == nil {
		return nil
	}
	creator := string(h.Creator)
	err := to(&Line{Type: TypeContent, Content: &library.ImportContent{
		ID: string(h.ID), Kind: h.Kind, Title: h.Title, Description: h.Description, Link: h.Link, URL: h.URL(),
		Visibility: h.Visibility, ExpiresAt: h.ExpiresAt, CreatedAt: &h.CreatedAt, CreatedBy: &creator,
		LastModified: &h.LastModified, Version: &h.Version, Members: changesTo[library.ContentRole](item.own), Unmanaged: item.unmanaged,
	}})
	if err != nil || h.Members <= len(item.own) {
		return err
	}
	return s.membersOfContent(h.ID).rest(ctx, item.own, func(more []holder) error {
		return to(&Line{Type: TypeMembers, Members: &library.ImportMembers{ID: string(h.ID), Content: changesTo[library.ContentRole](more)}})
	})
}

// holder is an active member of a group or of an item. It has a role of the one kind or of the
// other.
type holder struct {
	principal principal.ID
	role      uint8
	manages   bool
}

// changesTo returns the changes that give holders their roles.
func changesTo[R ~uint8](hs []holder) []principal.RoleChange[R] {
	changes := make([]principal.RoleChange[R], len(hs))
	for i, h := range hs {
		role := R(h.role)
		changes[i] = principal.RoleChange[R]{Principal: string(h.principal), Role: &role}
	}
	return changes
}
