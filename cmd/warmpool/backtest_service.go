package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor/backtest"
	"github.com/warmpool/warmpool/signals"
)

const historySlot = 5 * time.Minute

// recorded reads the rate of a configured service from its Prometheus and completes the options from its policy. What a
// flag says goes first.
func (f *backtestFlags) recorded(ctx context.Context, zoneGiven bool, o *backtest.Options) (backtest.Series, error) {
	settings, err := config.Load(f.config)
	if err != nil {
		return backtest.Series{}, err
	}
	service, err := findService(settings, f.service)
	if err != nil {
		return backtest.Series{}, err
	}
	if service.Forecast.Rate == nil {
		return backtest.Series{}, fmt.Errorf("service %s: nothing counts its arrivals; give queries.rate from the gateway", f.service)
	}
	serviceOptions(service, zoneGiven, o)
	options := signals.FromConfig(settings.Prometheus)
	options.Timeout = max(options.Timeout, 30*time.Second) // a week in one answer
	reader, err := signals.NewReader(options)
	if err != nil {
		return backtest.Series{}, fmt.Errorf("read history of %s: %w", f.service, err)
	}
	defer reader.Close()
	to := time.Now().UTC().Truncate(historySlot)
	from := to.Add(-f.span).Truncate(historySlot)
	values, err := reader.History(ctx, *service.Forecast.Rate, from, to, historySlot)
	if err != nil {
		return backtest.Series{}, fmt.Errorf("read history of %s: %w", f.service, err)
	}
	return known(backtest.Series{Name: f.service, Start: from, Step: historySlot, Values: values})
}

// serviceOptions takes over what the policy of a service says.
func serviceOptions(s *config.Service, zoneGiven bool, o *backtest.Options) {
	if o.MaxShort == 0 {
		o.MaxShort = s.Forecast.MaxShort
	}
	if !zoneGiven && s.Forecast.Location != nil {
		o.Calendar.Location = s.Forecast.Location
	}
	for _, h := range s.Forecast.Holidays {
		o.Calendar.Holidays = append(o.Calendar.Holidays, time.Date(h.Year, h.Month, h.Day, 0, 0, 0, 0, time.UTC))
	}
	if o.PerReplica > 0 {
		return
	}
	rate := s.Policy.RatePerReplica
	if rate == 0 && s.Policy.ServiceTime > 0 {
		rate = s.Policy.Concurrency / s.Policy.ServiceTime.Seconds()
	}
	o.PerReplica = rate
	if s.Policy.Concurrency <= 0 { // as in the engine
		o.PerReplica *= s.Policy.MaxUtilization
	}
}

func findService(c *config.Config, name string) (*config.Service, error) {
	var found *config.Service
	for i := range c.Services {
		s := &c.Services[i]
		if name != s.Policy.Namespace+"/"+s.Policy.Name && name != s.Policy.Name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("service %q exists in several namespaces: give NAMESPACE/NAME", name)
		}
		found = s
	}
	if found == nil {
		return nil, fmt.Errorf("no service %q in %s", name, c.Name)
	}
	return found, nil
}

// known cuts the time before the first value: a store that keeps 15 days answers no 35.
func known(s backtest.Series) (backtest.Series, error) {
	for i, v := range s.Values {
		if v == v {
			s.Start, s.Values = s.At(i), s.Values[i:]
			return s, nil
		}
	}
	return s, errors.New("the history is empty: look whether the rate query of the service returns anything in Prometheus")
}
