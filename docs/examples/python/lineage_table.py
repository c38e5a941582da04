"""Reads `lineage` from its beginning, prints a table of the existing objects, a line each, and with --follow a line
for every change after that. It needs requirements.txt and the folder schemas/.

What must stay true: of each key the last entry counts; `gone` and a null value end it. An entry whose schema is not
known ends the program, with a sentence: skipping it would leave the table wrong.
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
from fastavro.schema import fingerprint, load_schema, load_schema_ordered, to_parsing_canonical_form


class Decoder:
    def __init__(self, topic, schemas, registry):
        self.reader = load_schema_ordered([schemas / "lineage-owner.avsc", schemas / "lineage.avsc"])
        former = [load_schema(file) for file in sorted(schemas.glob("history/lineage/*.avsc"))]
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


def take(table, key, lineage):
    """Answers what is to be said of the change."""
    before = table.pop(key, None)
    if lineage is None:
        return before and {**before, "phase": "gone"}
    if lineage["phase"] != "gone":
        table[key] = lineage
    return lineage


def line_of(lineage):
    """Fields between tabs. What is not printable ASCII is written as \\u{…}: no name can break the line or the terminal."""
    kind = ".".join(filter(None, [lineage["kind"], lineage["group"]]))
    owners = [f"{owner['kind']}/{owner['name']} ({owner['standing']})" for owner in lineage["owners"]]
    fields = [lineage["clusterName"], kind, *(lineage[field] for field in ("namespace", "name", "uid", "phase")), *owners]
    return "\t".join(re.sub(r"[^ -~]|\\", lambda match: f"\\u{{{ord(match[0]):x}}}", field) for field in fields)


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--brokers", default="localhost:9092")
    flags.add_argument("--application", default="kinfold")
    flags.add_argument("--schemas", type=Path, default=Path(__file__).parent / "../../../schemas")
    flags.add_argument("--registry")
    flags.add_argument("--follow", action="store_true")
    options = flags.parse_args()
    topic = f"{options.application}.lineage"
    decoder = Decoder(topic, options.schemas, options.registry)
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
    table = {}
    while unread or options.follow:
        message = consumer.poll(1)
        if message is None:
            continue
        if (error := message.error()) is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            # The end of what is committed; it is met again after each change.
            if unread and not (unread := unread - {message.partition()}):
                for line in sorted(map(line_of, table.values())):
                    print(line, flush=True)
            continue
        try:
            lineage = None if message.value() is None else decoder.decode(message.value())
        except ValueError as error:
            sys.exit(f"{topic}[{message.partition()}]@{message.offset()}: {error}")
        changed = take(table, message.key(), lineage)
        if not unread and changed:
            print(line_of(changed), flush=True)
    consumer.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
