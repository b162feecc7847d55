// Package library holds in memory what the server answers, and reads it from the file that the
// bench has written.
package library

import (
	"encoding/json"
	"os"
)

// A User has a library, or has created items.
type User struct {
	ID          string `json:"id"`
	DisplayName string `json:"displayName"`
}

// Content is an item of a library.
type Content struct {
	ID           string  `json:"id"`
	Title        string  `json:"title"`
	Link         *string `json:"link"`
	Visibility   string  `json:"visibility"`
	LastModified string  `json:"lastModified"`
	Creator      User    `json:"createdBy"`
}

// A LibraryEdge is an entry of a library.
type LibraryEdge struct {
	Cursor string   `json:"cursor"`
	Node   *Content `json:"node"`
}

// Data is everything that the server knows.
type Data struct {
	Users     map[string]*User
	Libraries map[string][]*LibraryEdge // by the id of the owner, oldest first
}

// Load reads the libraries from a file.
func Load(name string) (*Data, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var libraries []struct {
		Owner *User          `json:"owner"`
		Edges []*LibraryEdge `json:"edges"`
	}
	if err := json.Unmarshal(text, &libraries); err != nil {
		return nil, err
	}
	data := &Data{Users: map[string]*User{}, Libraries: map[string][]*LibraryEdge{}}
	for _, l := range libraries {
		data.Users[l.Owner.ID] = l.Owner
		data.Libraries[l.Owner.ID] = l.Edges
		for _, e := range l.Edges {
			data.Users[e.Node.Creator.ID] = &e.Node.Creator
		}
	}
	return data, nil
}
