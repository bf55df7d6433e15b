package predictor

// OrderFor is the order of the slots that count in a plan had the target share
// of short steps been maxShort, above 0 and below 1: without the hold and the
// need of the moment. The price of a short step, which is steered, is taken to
// move in proportion to the usual price of the share. It is 0 when the price is
// stated, because then no share is aimed at, and without a forecast.
//
// The plan must be of this service and no older than its newest slot.
func (s *Service) OrderFor(p *Plan, maxShort float64) int {
	if p.Stated || p.Binding < 0 || !(maxShort > 0) || !(p.MaxShort > 0) {
		return 0
	}
	price := p.Price * StartPrice(maxShort) / StartPrice(p.MaxShort)
	price = min(max(price, lowestPrice), highestPrice)
	floor := Replicas(s.history.last, s.settings.PerReplica)
	order := 0
	for i := range s.horizons {
		if i < len(p.Slots) && p.Slots[i].Counts {
			order = max(order, s.horizons[i].outlook.Order(s.settings.PerReplica, price, floor))
		}
	}
	return order
}
