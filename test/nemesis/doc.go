// Package nemesis holds no code of the product: its tests break what the
// gateway stands on, for real, and check that nothing promised was lost.
//
// Between the driver and a node stands a proxy that loses, delays, cuts and
// stalls one chosen statement; processes of the built binary and nodes of a
// cluster are killed and stopped while clients load them. What was answered is
// compared with what is found afterwards, and every run ends with an audit.
package nemesis
