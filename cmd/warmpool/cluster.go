package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/warmpool/warmpool/cluster"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
)

// clusterView is the access to the cluster; nil without one.
type clusterView struct {
	view *cluster.Cluster
	// history and notes are what the instances share; nil without an expander section.
	history *cluster.History
	notes   *cluster.Notes
}

// openCluster connects as the flags say. Whether the API server answers shows later: without it everything works as
// without a cluster.
func openCluster(f *serveFlags, settings *config.Config, registry prometheus.Registerer, logger *slog.Logger) (*clusterView, error) {
	clients, err := cluster.Connect(f.kubeconfig, "warmpool")
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	if clients == nil {
		logger.Info("there is no access to a cluster: requests, metrics and the own memory are used")
		return nil, nil //nolint:nilnil // no cluster is no error
	}
	klog.SetSlogLogger(logger)
	expands := f.half("expander") && settings.Expander != nil
	c := &clusterView{}
	if settings.Expander != nil { // an instance that serves the scaler alone reads what the one that is asked has learnt
		c.history, c.notes = cluster.NewHistory(clients, logger), cluster.NewNotes(clients, logger)
	}
	c.view, err = cluster.New(cluster.Options{
		Clients: clients, AutoscalerNamespace: f.autoscalerNamespace, History: c.history, WatchStalls: expands,
		WithoutTargets: !f.half("scaler"), WithoutClaims: !f.half("expander"),
		WriteCosts: f.half("scaler"), // whether there is anything to write is the engine's business
		Log:        logger, Metrics: registry,
	})
	return c, err
}

// use gives an engine the view. What the expander learns goes to where all instances share it.
func (c *clusterView) use(o *engine.Options) {
	if c == nil {
		return
	}
	o.Cluster = c.view
	if c.history != nil {
		o.History, o.Notes = c.history, c.notes
	}
}

// run keeps the view until ctx ends.
func (c *clusterView) run(ctx context.Context) {
	if c == nil {
		return
	}
	var group sync.WaitGroup
	group.Go(func() { c.view.Run(ctx) })
	if c.history != nil {
		group.Go(func() { c.history.Run(ctx) })
		group.Go(func() { c.notes.Run(ctx) })
	}
	group.Wait()
}
