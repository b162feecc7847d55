// Package nemesis contains only tests. They break the infrastructure that a gateway
// depends on, for real, and check that no promise was broken.
//
// A proxy between the driver and a node loses, delays, cuts or stalls one chosen
// statement. Processes of the built binary and nodes of a cluster are killed and stopped
// under load. The tests compare the answers that clients received with what is stored
// afterwards, and every run ends with an audit.
package nemesis
