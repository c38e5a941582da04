import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.message.BadHeaderException;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.MissingSchemaException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads `lineage` from its beginning, prints a table of the existing objects, a line each, and with --follow a line for
 * every change after that. It needs the jars of pom.xml and the folder schemas/.
 *
 * What must stay true: of each key the last entry counts; `gone` and a null value end it. An entry whose schema is not
 * known ends the program, with a sentence: skipping it would leave the table wrong.
 */
public final class LineageTable {
  private final Map<String, GenericRecord> table = new HashMap<>();
  private final BinaryMessageDecoder<GenericRecord> decoder;

  private LineageTable(File schemas) throws IOException {
    var parser = new Schema.Parser();
    parser.parse(new File(schemas, "lineage-owner.avsc"));
    decoder = new BinaryMessageDecoder<>(GenericData.get(), parser.parse(new File(schemas, "lineage.avsc")));
    // What a former version wrote is read as today's record: fields that it lacked have their defaults.
    var former = new File(schemas, "history/lineage").listFiles();
    for (var file : former == null ? new File[0] : former) decoder.addSchema(new Schema.Parser().parse(file));
  }

  public static void main(String[] args) throws IOException {
    var flags = new HashMap<>(Map.of("brokers", "localhost:9092", "application", "kinfold", "schemas", "../../../schemas"));
    for (int at = 0; at < args.length; at++) {
      var name = args[at].replaceFirst("^--", "");
      flags.put(name, name.equals("follow") ? "" : args[++at]);
    }
    new LineageTable(new File(flags.get("schemas")))
        .run(flags.get("brokers"), flags.get("application") + ".lineage", flags.containsKey("follow"));
  }

  private void run(String brokers, String topic, boolean follows) {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", brokers,
        // Where the brokers want it: security.protocol, ssl.truststore.location, sasl.mechanism, sasl.jaas.config
        "isolation.level", "read_committed",
        "enable.auto.commit", false,
        "allow.auto.create.topics", false);
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
      var partitions = consumer.partitionsFor(topic).stream().map(it -> new TopicPartition(topic, it.partition())).toList();
      if (partitions.isEmpty()) throw fail("there is no topic " + topic + ".");
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      // The end of what is committed. The position passes marks of ends, too.
      var ends = consumer.endOffsets(partitions);
      for (var isShown = false; ; ) {
        if (!isShown && ends.entrySet().stream().allMatch(end -> consumer.position(end.getKey()) >= end.getValue())) {
          show(table.values());
          isShown = true;
        }
        if (isShown && !follows) return;
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          var changed = take(record);
          if (isShown && changed != null) show(List.of(changed));
        }
      }
    }
  }

  /** Answers what is to be said of the change, null for nothing. */
  private GenericRecord take(ConsumerRecord<String, byte[]> record) {
    var lineage = record.value() == null ? null : decode(record);
    var isGone = lineage == null || lineage.get("phase").toString().equals("gone");
    var before = isGone ? table.remove(record.key()) : table.put(record.key(), lineage);
    if (lineage == null && before != null) before.put("phase", "gone");
    return lineage == null ? before : lineage;
  }

  /** Single-object encoding: C3 01, the fingerprint, the body. The decoder finds the writer's schema by the fingerprint. */
  private GenericRecord decode(ConsumerRecord<String, byte[]> record) {
    var where = "%s[%d]@%d: ".formatted(record.topic(), record.partition(), record.offset());
    var value = record.value();
    try {
      return decoder.decode(value);
    } catch (MissingSchemaException error) {
      var fingerprint = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getLong(2);
      throw fail(where + "no schema has the fingerprint %016x. Another version of Kinfold wrote this: ".formatted(fingerprint)
          + "give the folder schemas of the newest one with --schemas.");
    } catch (BadHeaderException error) {
      // Confluent's deserializer is not in Maven Central, so it is not among the jars of pom.xml.
      throw fail(where + (value.length > 0 && value[0] == 0
          ? "the schema is in a registry: use Confluent's KafkaAvroDeserializer as the deserializer of values."
          : "this is no record of Kinfold."));
    } catch (IOException error) {
      throw fail(where + error.getMessage());
    }
  }

  private static IllegalStateException fail(String message) {
    System.err.println(message);
    System.exit(1);
    return new IllegalStateException(message);
  }

  private static void show(Collection<GenericRecord> rows) {
    rows.stream().map(LineageTable::lineOf).sorted().forEach(System.out::println);
  }

  /** Fields between tabs. What is not printable ASCII is escaped: no name can break the line or the terminal. */
  private static String lineOf(GenericRecord row) {
    var group = row.get("group").toString();
    var fields = new ArrayList<String>(List.of(row.get("clusterName").toString(), row.get("kind") + (group.isEmpty() ? "" : "." + group)));
    for (var field : List.of("namespace", "name", "uid", "phase")) fields.add(row.get(field).toString());
    for (var item : (List<?>) row.get("owners")) {
      var owner = (GenericRecord) item;
      fields.add("%s/%s (%s)".formatted(owner.get("kind"), owner.get("name"), owner.get("standing")));
    }
    return fields.stream().map(LineageTable::escaped).collect(Collectors.joining("\t"));
  }

  private static String escaped(String text) {
    return text.codePoints()
        .mapToObj(it -> it < ' ' || it > '~' || it == '\\' ? "\\u{%x}".formatted(it) : Character.toString(it))
        .collect(Collectors.joining());
  }
}
