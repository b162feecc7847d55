package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/library"
)

var _ library.Notifier = (*Client)(nil)

// announcementCell is the announcement of a process. It is never deleted: readers ignore old ones.
type announcementCell struct {
	cell
	library.Announcement
}

func compareAnnouncement(c *announcementCell, process commit.ListID) int {
	return cmp.Compare(c.Process, process)
}

// Announce replaces the announcement of a process, unless a later one is stored.
func (c *Client) Announce(ctx context.Context, a library.Announcement) error {
	a.Touched, a.Updated = slices.Clone(a.Touched), slices.Clone(a.Updated)
	return c.write(ctx, "Announce", "", func() {
		st := c.st
		i, ok := find(st.announcements, a.Process, compareAnnouncement)
		if !ok {
			st.announcements = slices.Insert(st.announcements, i, &announcementCell{})
		}
		if cell := st.announcements[i]; cell.put(a.Stamp) {
			cell.Announcement = a
		}
	}, nil)
}

// Announcements returns the announcements of all processes.
func (c *Client) Announcements(ctx context.Context) ([]library.Announcement, error) {
	var all []library.Announcement
	err := c.read(ctx, "Announcements", func() {
		for _, cell := range c.st.announcements {
			all = append(all, cell.Announcement)
		}
	})
	return all, err
}
