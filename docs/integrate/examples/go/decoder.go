package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
)

// decoder has a schema for each known writer, resolved to what this program reads.
type decoder[Value any] struct {
	reader        *avro.Schema
	byFingerprint map[[8]byte]*avro.Schema
	byID          map[int]*avro.Schema
	registry      *sr.Client
}

func newDecoder[Value any](folder, registry, record string) (*decoder[Value], error) {
	d := &decoder[Value]{
		reader:        avro.MustSchemaFor[Value](avro.WithNamespace("kinfold")),
		byFingerprint: map[[8]byte]*avro.Schema{},
		byID:          map[int]*avro.Schema{},
	}
	former, err := filepath.Glob(filepath.Join(folder, "history", record, "*.avsc"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(former, filepath.Join(folder, "public", record+".avsc")) {
		if err := d.add(file); err != nil {
			return nil, err
		}
	}
	if registry != "" {
		d.registry, err = sr.NewClient(sr.URLs(registry))
	}
	return d, err
}

func (d *decoder[Value]) add(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	writer, err := avro.Parse(string(text))
	if err != nil {
		return err
	}
	hash := avro.NewRabin()
	hash.Write(writer.Canonical())
	var fingerprint [8]byte
	binary.LittleEndian.PutUint64(fingerprint[:], hash.Sum64())
	d.byFingerprint[fingerprint], err = avro.Resolve(writer, d.reader)
	return err
}

// decode reads single-object encoding: C3 01, the fingerprint, the body. By a registry: 00, the id, the body.
func (d *decoder[Value]) decode(ctx context.Context, value []byte) (decoded Value, err error) {
	if len(value) > 0 && value[0] == 0 {
		return d.decodeRegistered(ctx, value)
	}
	found, body, err := avro.SingleObjectFingerprint(value)
	if err != nil {
		return decoded, fmt.Errorf("this is no record of Kinfold. %w", err)
	}
	schema, isKnown := d.byFingerprint[found]
	if !isKnown {
		return decoded, fmt.Errorf("no schema has the fingerprint %016x. "+
			"Another version of Kinfold wrote this: give the folder schemas of the newest one with --schemas.",
			binary.LittleEndian.Uint64(found[:]))
	}
	_, err = schema.Decode(body, &decoded)
	return decoded, err
}

func (d *decoder[Value]) decodeRegistered(ctx context.Context, value []byte) (decoded Value, err error) {
	if d.registry == nil {
		return decoded, errors.New("the schema is in a registry: give its URL with --registry.")
	}
	id, body, err := (&sr.ConfluentHeader{}).DecodeID(value)
	if err != nil {
		return decoded, err
	}
	if d.byID[id] == nil {
		registered, err := d.registry.SchemaByID(ctx, id)
		if err != nil {
			return decoded, err
		}
		writer, err := avro.Parse(registered.Schema)
		if err != nil {
			return decoded, err
		}
		if d.byID[id], err = avro.Resolve(writer, d.reader); err != nil {
			return decoded, err
		}
	}
	_, err = d.byID[id].Decode(body, &decoded)
	return decoded, err
}
