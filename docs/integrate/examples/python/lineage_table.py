"""Reads `lineage` from its beginning, prints a table of the existing objects, a line each, and with --follow a line
for every change after that; with --spans reads `history` and prints when each object existed and referenced which
owner. It needs requirements.txt and the folder schemas/.

What must stay true: an entry whose schema is not known ends the program, with a sentence: skipping it would leave the
table wrong.
"""
import argparse
import contextlib
import io
import re
import sys
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro import schemaless_reader
from fastavro.schema import fingerprint, load_schema, to_parsing_canonical_form


class Decoder:
    def __init__(self, topic, schemas, record, registry):
        self.reader = load_schema(schemas / f"public/{record}.avsc")
        former = [load_schema(file) for file in sorted(schemas.glob(f"history/{record}/*.avsc"))]
        self.writers = {crc64(schema): schema for schema in [self.reader, *former]}
        self.context = SerializationContext(topic, MessageField.VALUE)
        # The subject is the record's name: other strategies ask the registry for one of the topic.
        conf = {"subject.name.strategy.type": "RECORD"}
        self.registered = registry and AvroDeserializer(SchemaRegistryClient({"url": registry}), conf=conf)

    def decode(self, value):
        """Single-object encoding: C3 01, the fingerprint, the body. By a registry: 00, the id, the body."""
        if value[:1] == b"\0":
            if self.registered is None:
                raise ValueError("the schema is in a registry: give its URL with --registry.")
            return self.registered(value, self.context)
        if value[:2] != b"\xc3\x01":
            raise ValueError("this is no record of Kinfold.")
        found = value[9:1:-1].hex()
        if found not in self.writers:
            raise ValueError(
                f"no schema has the fingerprint {found}. "
                "Another version of Kinfold wrote this: give the folder schemas of the newest one with --schemas.")
        # Read as today's record: fields that the writer lacked have their defaults.
        return schemaless_reader(io.BytesIO(value[10:]), self.writers[found], self.reader)


def crc64(schema):
    """As the specification writes it; fastavro has the bytes in the order of the frame."""
    return bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))[::-1].hex()


class Table:
    """The existing objects. Of each key the last entry counts; `gone` and a null value end it."""

    record = "lineage"

    def __init__(self):
        self.objects = {}
        self.is_shown = False

    def take(self, key, lineage):
        """Answers what is to be printed of the change."""
        before = self.objects.pop(key, None)
        if lineage is not None and lineage["phase"] != "gone":
            self.objects[key] = lineage
        changed = lineage or (before and {**before, "phase": "gone"})
        return [self.text_of(changed)] if self.is_shown and changed else []

    def at_end(self):
        self.is_shown = True
        return sorted(map(self.text_of, self.objects.values()))

    @staticmethod
    def text_of(lineage):
        owners = [f"{owner['kind']}/{owner['name']} ({owner['standing']})" for owner in lineage["owners"]]
        if lineage["moreOwners"] > 0:
            owners.append(f"and {lineage['moreOwners']} more")
        fields = (lineage[field] for field in ("namespace", "name", "uid", "phase"))
        return line_of(lineage["clusterName"], kind_of(lineage), *fields, *owners)


class Spans:
    """When each object existed, and when it referenced which owner: a line for each such span, once it has ended.
    An entry without `object` changes none of it, nor does one that comes again. What an object was before its first
    entry, if that is not `created`, is not known (`?`). Times are in milliseconds since 1970."""

    record = "history"

    def __init__(self):
        # Of each object the beginnings of its open spans: by the text of the owner, or "" for its existence.
        self.objects = {}
        # Of each object the event of its last entry.
        self.events = {}

    def take(self, _key, entry):
        """Answers the spans that have ended."""
        if entry is None or entry["object"] is None:
            return []
        of = (entry["cluster"], kind_of(entry), entry["namespace"], entry["name"], entry["uid"])
        key = (entry["cluster"], entry["uid"])
        partition, position = self.events.get(key, (None, 0))
        if partition == entry["partition"] and entry["position"] < position:
            return []
        self.events[key] = (entry["partition"], entry["position"])
        at = str(entry["at"])
        begin = "?" if key not in self.objects and entry["change"] != "created" else at
        of, spans = self.objects.setdefault(key, (of, {}))
        owners = [f"{owner['kind']}/{owner['name']} ({owner['uid']})" for owner in entry["object"]["owners"]]
        now = [] if entry["object"]["phase"] is None else ["", *owners]
        ended = [line_of(*of, spans.pop(owner), at, *filter(None, [owner])) for owner in list(spans) if owner not in now]
        for owner in now:
            spans.setdefault(owner, begin)
        return ended

    def at_end(self):
        """Those that have not ended."""
        lines = [(of, begin, owner) for of, spans in self.objects.values() for owner, begin in spans.items()]
        return sorted(line_of(*of, begin, "", *filter(None, [owner])) for of, begin, owner in lines)


def kind_of(entry):
    return ".".join(filter(None, [entry["kind"], entry["group"]]))


def line_of(*fields):
    """Fields between tabs. What is not printable ASCII is written as \\u{…}: no name can break the line or the terminal."""
    return "\t".join(re.sub(r"[^ -~]|\\", lambda match: f"\\u{{{ord(match[0]):x}}}", field) for field in fields)


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--brokers", default="localhost:9092")
    flags.add_argument("--application", default="kinfold")
    flags.add_argument("--schemas", type=Path, default=Path(__file__).parent / "../../../../schemas")
    flags.add_argument("--registry")
    flags.add_argument("--follow", action="store_true")
    flags.add_argument("--spans", action="store_true")
    options = flags.parse_args()
    view = Spans() if options.spans else Table()
    topic = f"{options.application}.{view.record}"
    decoder = Decoder(topic, options.schemas, view.record, options.registry)
    consumer = Consumer({
        "bootstrap.servers": options.brokers,
        # Where the brokers want it: "security.protocol": "SASL_SSL", "ssl.ca.location", "sasl.mechanism", "sasl.username", …
        "group.id": "lineage-table",  # The client asks for its coordinator. Partitions are assigned by hand, so none is joined.
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    })
    found = consumer.list_topics(topic, timeout=30).topics[topic]
    if found.error is not None:
        sys.exit(f"{topic}: {found.error.str()}")
    unread = set(found.partitions)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
    while unread or options.follow:
        message = consumer.poll(1)
        if message is None:
            continue
        if (error := message.error()) is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            # The end of what is committed; it is met again after each change.
            if unread and not (unread := unread - {message.partition()}):
                for line in view.at_end():
                    print(line, flush=True)
            continue
        try:
            entry = None if message.value() is None else decoder.decode(message.value())
        except ValueError as error:
            sys.exit(f"{topic}[{message.partition()}]@{message.offset()}: {error}")
        for line in view.take(message.key(), entry):
            print(line, flush=True)
    consumer.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
