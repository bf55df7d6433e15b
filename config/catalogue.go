package config

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/warmpool/warmpool/expander"
)

//go:embed catalogue/instances.csv
var builtIn []byte

// builtInTypes are facts of instance types with GPUs at the large public clouds, without prices.
var builtInTypes = sync.OnceValue(func() map[string]expander.InstanceType {
	types := map[string]expander.InstanceType{}
	if err := readCatalogue(bytes.NewReader(builtIn), types); err != nil {
		panic("config: built-in catalogue: " + err.Error())
	}
	return types
})

// catalogue reads the files over the built-in facts.
func (c *compiler) catalogue() map[string]expander.InstanceType {
	types := make(map[string]expander.InstanceType, len(builtInTypes()))
	maps.Copy(types, builtInTypes())
	files := c.source.Catalogue.Files
	c.checkNames("catalogue.files", files, "file name")
	for i, file := range files {
		if file == "" {
			continue
		}
		path := beside(c.name, file)
		c.files = append(c.files, path)
		data, err := c.read(path)
		if err != nil {
			c.errorf(at("catalogue.files", i), "cannot be read: %v", err)
			continue
		}
		c.catalogueText = append(c.catalogueText, string(data))
		if err := readCatalogue(bytes.NewReader(data), types); err != nil {
			c.errorf(at("catalogue.files", i), "%s: %v", path, err)
		}
	}
	return types
}

// column is what a CSV column means. Several names stand for one meaning, because catalogues differ.
type column struct {
	set  func(t *expander.InstanceType, value float64)
	text func(t *expander.InstanceType, value string)
}

const mebibyte, gibibyte = 1 << 20, 1 << 30

var columns = map[string]column{
	"vcpu":                     {set: func(t *expander.InstanceType, v float64) { t.MilliCPU = int64(math.Round(v * 1000)) }},
	"memory_mib":               {set: func(t *expander.InstanceType, v float64) { t.Memory = int64(math.Round(v * mebibyte)) }},
	"memory_gib":               {set: func(t *expander.InstanceType, v float64) { t.Memory = int64(math.Round(v * gibibyte)) }},
	"gpu_name":                 {text: func(t *expander.InstanceType, v string) { t.GPUModel = v }},
	"gpu_count":                {set: func(t *expander.InstanceType, v float64) { t.GPUs = int64(math.Round(v)) }},
	"gpu_memory_mib":           {set: func(t *expander.InstanceType, v float64) { t.GPUMemory = int64(math.Round(v * mebibyte)) }},
	"gpu_memory_gib_each":      {set: func(t *expander.InstanceType, v float64) { t.GPUMemory = int64(math.Round(v * gibibyte)) }},
	"ondemand_usd_per_hour":    {set: setOnDemand},
	"spot_usd_per_hour":        {set: setSpot},
	"preemptible_usd_per_hour": {set: setSpot},
	"hourly_cost":              {set: setOnDemand},
	"spot_hourly_cost":         {set: setSpot},
}

func setOnDemand(t *expander.InstanceType, v float64) { t.HourlyCost = v }
func setSpot(t *expander.InstanceType, v float64)     { t.SpotHourlyCost = v }

// columnOf finds the meaning of a column; a price column may end in the region that it is for.
func columnOf(name string) (column, bool) {
	name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
	if c, ok := columns[name]; ok {
		return c, true
	}
	for _, price := range []string{"ondemand_usd_per_hour", "spot_usd_per_hour", "preemptible_usd_per_hour"} {
		if strings.HasPrefix(name, price+"_") {
			return columns[price], true
		}
	}
	return column{}, false
}

// readCatalogue adds the rows of a CSV file to types. The first line names the columns; instance_type is required, the
// known ones are listed in docs/configuration.md, others are left alone. An empty field keeps what was known before.
func readCatalogue(r io.Reader, types map[string]expander.InstanceType) error {
	rows := csv.NewReader(r)
	rows.Comment = '#'
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("is empty; it needs a first line with the names of the columns")
	}
	if err != nil {
		return err
	}
	key, meaning, err := readHeader(header)
	if err != nil {
		return err
	}
	var problems []error
	seen := map[string]bool{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return errors.Join(problems...)
		}
		if err != nil {
			return errors.Join(append(problems, err)...)
		}
		line, _ := rows.FieldPos(0)
		name := strings.TrimSpace(row[key])
		switch {
		case name == "":
			problems = append(problems, fmt.Errorf("line %d: instance_type is empty", line))
			continue
		case seen[name]:
			problems = append(problems, fmt.Errorf("line %d: %s is there twice", line, name))
			continue
		}
		seen[name] = true
		t := types[name]
		t.Name = strings.Clone(name)
		problems = append(problems, readRow(row, header, meaning, line, &t)...)
		types[t.Name] = t
	}
}

func readHeader(header []string) (key int, meaning []column, err error) {
	key, known := -1, 0
	meaning = make([]column, len(header))
	for i, name := range header {
		if strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), "instance_type") {
			key = i
			continue
		}
		if c, ok := columnOf(name); ok {
			meaning[i] = c
			known++
		}
	}
	if key < 0 {
		return 0, nil, errors.New("line 1: no column instance_type; the first line must name the columns, such as instance_type,vcpu,memory_mib,gpu_count,gpu_name,gpu_memory_mib,ondemand_usd_per_hour")
	}
	if known == 0 {
		return 0, nil, errors.New("line 1: no column that is known besides instance_type, such as vcpu, memory_mib, gpu_count or ondemand_usd_per_hour")
	}
	return key, meaning, nil
}

func readRow(row, header []string, meaning []column, line int, t *expander.InstanceType) []error {
	var problems []error
	for i, text := range row {
		text = strings.TrimSpace(text)
		switch c := meaning[i]; {
		case text == "":
		case c.text != nil:
			c.text(t, strings.Clone(text))
		case c.set != nil:
			value, err := parseNumber(text)
			if err != nil || value < 0 || value > 1e9 {
				problems = append(problems, fmt.Errorf("line %d: %s must be a number from 0 to 1e9, not %q", line, header[i], text))
				continue
			}
			c.set(t, value)
		}
	}
	return problems
}
