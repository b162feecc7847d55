// Package files guards the files of an embedded store: directories and markers that survive a crash,
// damage that Pebble would take for the effect of one, and the free space of the disk. It does not
// know what is stored.
package files
