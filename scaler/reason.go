package scaler

// The reason codes of a [Decision], in the order in which they can apply.
const (
	// ReasonMissing: a configured source is missing; the target is not lowered.
	ReasonMissing = "source-missing"
	// ReasonStale: a source votes with its last value; the target is not lowered.
	ReasonStale = "source-stale"
	// ReasonAllMissing: no configured source has a usable value; there is no answer.
	ReasonAllMissing = "all-sources-missing"
	// ReasonIncomplete: a source of the demand has never been read and nothing is known about the present count.
	ReasonIncomplete = "first-answer-incomplete"
	// ReasonNoSignalAtZero: no replica is ready and every source is exported by replicas; the target is not lowered.
	ReasonNoSignalAtZero = "no-signal-at-zero"
	// ReasonCapacityUnknown: what one replica carries has still to be learned; only waiting requests can vote.
	ReasonCapacityUnknown = "capacity-unknown"
	// ReasonReadyUnknown: utilisation cannot vote without the number of ready replicas.
	ReasonReadyUnknown = "ready-unknown"
	// ReasonNotCorroborated: utilisation is high, but nothing waits and the replicas are not near their capacity.
	ReasonNotCorroborated = "utilisation-not-corroborated"
	// ReasonUtilizationLimit: the utilisation vote asked for more than it may add in its period.
	ReasonUtilizationLimit = "utilisation-limit"
	// ReasonNoDownVote: waiting requests alone never lower the target, and the down-vote does not hold.
	ReasonNoDownVote = "no-down-vote"
	// ReasonDownVote: utilisation and an empty queue allow fewer replicas.
	ReasonDownVote = "down-vote"
	// ReasonShadow: there is a forecast, and it is not used.
	ReasonShadow = "forecast-shadow"
	// ReasonPrewarmLimit: the forecast asked for more than it may add.
	ReasonPrewarmLimit = "prewarm-limit"
	// ReasonPrewarmReleased: an order was missed by the load and no longer votes.
	ReasonPrewarmReleased = "prewarm-released"
	// ReasonMisses: three prewarms within 24 hours were missed; the predictor has to go to shadow.
	ReasonMisses = "misses"
	// ReasonSurge: pods are stuck in their start and are replaced.
	ReasonSurge = "surge"
	// ReasonOverride: an override replaced the limits.
	ReasonOverride = "override"
	// ReasonFirstWindow: the present count is held because no whole window has been seen yet.
	ReasonFirstWindow = "hold-first-window"
	// ReasonWindow: a larger target of the scale-down window counts.
	ReasonWindow = "hold-window"
	// ReasonStep: the step down was cut, or the time since the last step is too short.
	ReasonStep = "hold-step"
	// ReasonForecastHold: the forecast needs the replicas again before a restart would pay.
	ReasonForecastHold = "hold-forecast"
	// ReasonIdle: the service has not been idle for long enough to go to zero.
	ReasonIdle = "hold-idle"
	// ReasonStarting: the last replica is still starting.
	ReasonStarting = "hold-starting"
	// ReasonFreeze: an operator froze the target.
	ReasonFreeze = "freeze"
	// ReasonDoomed: replicas whose machine was given notice are replaced before they are lost.
	ReasonDoomed = "replacing-doomed"
	// ReasonLate: replicas whose node takes longer than usual count as missing.
	ReasonLate = "replacing-late"
	// ReasonSwap: one more replica while another one moves back to spot.
	ReasonSwap = "back-to-spot"
	// ReasonSupply: no pool can deliver; the target goes no higher than one surge above what is there.
	ReasonSupply = "no-supply"
	// ReasonTolerance: the autoscaler will not follow, the change is within its tolerance.
	ReasonTolerance = "held-by-tolerance"
)
