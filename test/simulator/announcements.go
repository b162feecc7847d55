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
		cell := made(&c.st.announcements, a.Process, compareAnnouncement, func() *announcementCell { return new(announcementCell) })
		if cell.put(a.Stamp) {
			cell.Announcement = a
		}
	}, nil)
}

// Announcements returns the announcements of all processes.
func (c *Client) Announcements(ctx context.Context) ([]library.Announcement, error) {
	return look(ctx, c, "Announcements", func() (all []library.Announcement) {
		for _, cell := range c.st.announcements {
			all = append(all, cell.Announcement)
		}
		return all
	})
}
