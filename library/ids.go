package library

import (
	"carrel/core/fault"
	"carrel/core/id"
)

// ContentID names an item: "c:<tenant>:<name>". The name keeps its case.
type ContentID string

// ParseContentID checks the id of an item. Its error has code Invalid.
func ParseContentID(s string) (ContentID, error) {
	if len(s) < 2 || s[:2] != "c:" {
		return "", fault.Invalidf(nil, "not the id of a content: it has the form c:<tenant>:<name>")
	}
	if err := id.Check(s); err != nil {
		return "", err
	}
	return ContentID(s), nil
}

// Tenant returns the tenant of the id.
func (c ContentID) Tenant() string { return id.Tenant(string(c)) }

// Name returns the last part of the id.
func (c ContentID) Name() string { return id.Name(string(c)) }
