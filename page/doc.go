// Package page holds the text of items: branches, revisions, drafts and suggestions, in
// several languages (docs/pages.md).
//
// Everything of a page but long texts and drafts is in the partition of its item, beside
// the header of package library, and changes in one compare-and-set with it (ADR 33).
package page
