package predictor

import "math"

// Errors and scores are kept for weeks at every horizon, so each takes one
// byte: a logarithmic code, finer near zero, whose steps of about 5 % are far
// below the sampling noise of the quantiles read from them.

// code 0 means that there was no outcome.
type code uint8

const (
	codes         = 256
	negativeCodes = 85 // 1 to 85 are scores below zero, 86 is zero, the rest above
	zeroCode      = negativeCodes + 1
	codeUnit      = 0.1
	lowestScore   = -30.0
	highestScore  = 1000.0
	errorUnit     = 0.05
	highestError  = 1000.0
)

var (
	negativeSteps = float64(negativeCodes) / math.Log1p(-lowestScore/codeUnit)
	positiveSteps = float64(codes-1-zeroCode) / math.Log1p(highestScore/codeUnit)
	errorSteps    = float64(codes-2) / math.Log1p(highestError/errorUnit)

	scoreOf, errorOf = codeTables()
)

func codeTables() (scores, errors [codes]float64) {
	for c := 1; c < codes; c++ {
		if c < zeroCode {
			scores[c] = -codeUnit * math.Expm1(float64(zeroCode-c)/negativeSteps)
		} else {
			scores[c] = codeUnit * math.Expm1(float64(c-zeroCode)/positiveSteps)
		}
		errors[c] = errorUnit * math.Expm1(float64(c-1)/errorSteps)
	}
	return scores, errors
}

// encodeScore maps a signed score to its nearest code.
func encodeScore(s float64) code {
	if s < 0 {
		x := math.Round(math.Log1p(min(-s, -lowestScore)/codeUnit) * negativeSteps)
		return code(zeroCode - x)
	}
	return code(zeroCode + math.Round(math.Log1p(min(s, highestScore)/codeUnit)*positiveSteps))
}

// encodeError maps a relative error (0 and up) to its nearest code.
func encodeError(r float64) code {
	return code(1 + math.Round(math.Log1p(min(r, highestError)/errorUnit)*errorSteps))
}
