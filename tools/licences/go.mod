module github.com/warmpool/warmpool/tools/licences

go 1.26.7

require github.com/google/licensecheck v0.3.1 // indirect
