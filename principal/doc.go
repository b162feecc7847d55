// Package principal has the rules of users and groups: who they are, who is a member of
// which group, who may see whom, and how they are found by their names. It does not
// know what is shared with them, or how they are stored.
package principal
