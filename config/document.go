package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxFileSize bounds what is read as a configuration. Real ones are a few kilobytes.
const maxFileSize = 4 << 20

var yamlErrorLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// parseDocument reads the one document of a YAML file.
func parseDocument(data []byte) (*yaml.Node, *Problem) {
	if len(data) > maxFileSize {
		return nil, &Problem{Message: fmt.Sprintf("the file has %d bytes; a configuration has at most %d", len(data), maxFileSize)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{Message: "the file is empty; it needs at least apiVersion: " + apiVersion + " and kind: " + kind}
	case err != nil:
		return nil, syntaxProblem(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, &Problem{Line: second.Line, Message: "the file holds more than one YAML document; write everything into one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, &Problem{Message: "the file is no YAML document"}
	}
	return document.Content[0], nil
}

func syntaxProblem(err error) *Problem {
	if m := yamlErrorLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1]) // the expression admits digits only
		return &Problem{Line: line, Message: "YAML syntax: " + m[2]}
	}
	return &Problem{Message: "YAML syntax: " + err.Error()}
}
