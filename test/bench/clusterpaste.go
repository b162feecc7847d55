package main

import (
	"context"
	"errors"
	"time"

	"carrel/library"
)

// measureClusterPastes reads pages of lists after many of the newest pastes have expired or were made private.
func measureClusterPastes(ctx context.Context, o *options, t *table) error {
	return measureHiddenPastes(ctx, t, firstClusterPageWithin, func(string) (*gateway, error) { return o.clusterOfPastes(ctx) })
}

// clusterOfPastes creates a keyspace with fewPastes pastes, evenly spread over pasteDays.
func (o *options) clusterOfPastes(ctx context.Context) (*gateway, error) {
	keyspace, err := o.newKeyspace(ctx, "pastes")
	if err != nil {
		return nil, err
	}
	g, err := o.openCluster(ctx, keyspace, nil, library.Tuning{})
	if err != nil {
		return nil, err
	}
	if err := g.pastesAt(ctx, 0, fewPastes, pasteBegan, pasteDays*24*time.Hour, nil); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}
