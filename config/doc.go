// Package config turns the configuration file, or the metadata of a trigger, into one immutable value that the rest
// of the program can rely on.
//
// [Load] and [Parse] read the file: strict YAML, one document. Everything that is wrong is reported at once, each
// problem with its path, its line, what is allowed and the remedy ([Errors]); what is allowed but probably not meant is
// in Config.Warnings. A [Config] that was returned without error is complete: regular expressions are compiled, time
// zones are loaded, presets are expanded into queries, and a hash identifies the content however it was written down.
//
// [Config.ServiceFromMetadata] resolves a trigger: its metadata may name a service of the file, hold a whole policy in
// flat keys, or both, and then the metadata wins. Values from metadata never appear in an error.
//
// [Watcher] rereads the file and keeps the last good configuration.
//
// The keys, their defaults, limits and meanings are written once, in the tags of the types in this package; the
// decoder, the checks of single values and the reference in docs/ all read them from there.
package config
