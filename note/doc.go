// Package note holds the text of items: branches, revisions, drafts and suggestions, in
// several languages (docs/pages.md).
//
// All of a page except for drafts, long texts and the texts of suggestions is in the partition of
// its item, together with the header of package library, and changes in one compare-and-set with it
// (ADR 33).
package note
