// Package files protects the files of an embedded store. It creates directories and markers that
// survive a crash, detects damage that Pebble would take for the effect of a crash, and watches the
// free space of the disk. It does not know what is stored.
package files
