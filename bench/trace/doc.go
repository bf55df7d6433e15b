// Package trace reads recorded traffic, GPU pods, machine catalogues and spot histories in the formats in which they are
// published, and draws synthetic ones.
//
// Every reader is strict: what is not exactly as the format says is a [FormatError] that names file, line and column,
// because a benchmark on half-read data is worse than none. An empty value means "not recorded" and is kept as such
// (NaN); it is never zero. [Manifest] names the public source, commit, checksum and licence of each recorded file that
// the benchmarks use; none of them is part of this repository.
package trace
