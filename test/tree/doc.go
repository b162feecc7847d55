// Package tree checks the source tree itself: which packages import each other, the length of files
// and functions, code smells, the links and citations of documents, and how much code there is. Its
// tests read files and syntax trees; they run nothing of the gateway.
package tree
