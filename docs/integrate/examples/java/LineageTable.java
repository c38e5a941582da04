import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
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
 * every change after that; with --spans reads `history` and prints when each object existed and referenced which owner.
 * It needs the jars of pom.xml and the folder schemas/.
 *
 * What must stay true: an entry whose schema is not known ends the program, with a sentence: skipping it would leave the
 * table wrong.
 */
public final class LineageTable {
  /** What is printed of a topic. */
  private interface View {
    /** Its topic, whose name is that of its schema's file, too. */
    String topic();

    /** Answers the lines of a change. `entry`: null for a null value. */
    List<String> take(String key, GenericRecord entry);

    List<String> atEnd();
  }

  private final View view;
  private final BinaryMessageDecoder<GenericRecord> decoder;

  private LineageTable(File schemas, View view) throws IOException {
    this.view = view;
    var schema = new Schema.Parser().parse(new File(schemas, "public/" + view.topic() + ".avsc"));
    decoder = new BinaryMessageDecoder<>(GenericData.get(), schema);
    // What a former version wrote is read as today's record: fields that it lacked have their defaults.
    var former = new File(schemas, "history/" + view.topic()).listFiles();
    for (var file : former == null ? new File[0] : former) decoder.addSchema(new Schema.Parser().parse(file));
  }

  public static void main(String[] args) throws IOException {
    var flags = new HashMap<>(Map.of("brokers", "localhost:9092", "application", "kinfold", "schemas", "../../../../schemas"));
    for (int at = 0; at < args.length; at++) {
      var name = args[at].replaceFirst("^--", "");
      flags.put(name, List.of("follow", "spans").contains(name) ? "" : args[++at]);
    }
    var view = flags.containsKey("spans") ? new Spans() : new Table();
    new LineageTable(new File(flags.get("schemas")), view)
        .run(flags.get("brokers"), flags.get("application") + "." + view.topic(), flags.containsKey("follow"));
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
          view.atEnd().forEach(System.out::println);
          isShown = true;
        }
        if (isShown && !follows) return;
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          view.take(record.key(), record.value() == null ? null : decode(record)).forEach(System.out::println);
        }
      }
    }
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

  /** The existing objects. Of each key the last entry counts; `gone` and a null value end it. */
  private static final class Table implements View {
    private final Map<String, GenericRecord> objects = new HashMap<>();
    private boolean isShown;

    public String topic() {
      return "lineage";
    }

    public List<String> take(String key, GenericRecord lineage) {
      var isGone = lineage == null || lineage.get("phase").toString().equals("gone");
      var before = isGone ? objects.remove(key) : objects.put(key, lineage);
      if (lineage == null && before != null) before.put("phase", "gone");
      var changed = lineage == null ? before : lineage;
      return isShown && changed != null ? List.of(textOf(changed)) : List.of();
    }

    public List<String> atEnd() {
      isShown = true;
      return objects.values().stream().map(Table::textOf).sorted().toList();
    }

    private static String textOf(GenericRecord row) {
      var fields = new ArrayList<>(List.of(text(row, "clusterName"), kindOf(row)));
      for (var field : List.of("namespace", "name", "uid", "phase")) fields.add(text(row, field));
      for (var item : (List<?>) row.get("owners")) {
        var owner = (GenericRecord) item;
        fields.add("%s/%s (%s)".formatted(owner.get("kind"), owner.get("name"), owner.get("standing")));
      }
      var more = (long) row.get("moreOwners");
      if (more > 0) fields.add("and %d more".formatted(more));
      return lineOf(fields);
    }
  }

  /**
   * When each object existed, and when it referenced which owner: a line for each such span, once it has ended. An entry
   * without `object` changes none of it, nor does one that comes again. What an object was before its first entry, if
   * that is not `created`, is not known (`?`). Times are in milliseconds since 1970.
   */
  private static final class Spans implements View {
    /** `open`: the beginnings of its open spans, by the text of the owner, or "" for its existence. */
    private record Known(GenericRecord last, Map<String, String> open) {}

    private final Map<String, Known> objects = new HashMap<>();

    public String topic() {
      return "history";
    }

    public List<String> take(String key, GenericRecord entry) {
      if (entry == null || entry.get("object") == null) return List.of();
      var object = (GenericRecord) entry.get("object");
      var id = text(entry, "cluster") + "/" + text(entry, "uid");
      var known = objects.get(id);
      var isSamePartition = known != null && known.last.get("partition").equals(entry.get("partition"));
      if (isSamePartition && (long) entry.get("position") < (long) known.last.get("position")) return List.of();
      var at = text(entry, "at");
      var begin = known == null && !text(entry, "change").equals("created") ? "?" : at;
      var open = known == null ? new HashMap<String, String>() : known.open;
      objects.put(id, new Known(entry, open));
      var now = new HashSet<String>();
      if (object.get("phase") != null) {
        now.add("");
        for (var item : (List<?>) object.get("owners")) {
          var owner = (GenericRecord) item;
          now.add("%s/%s (%s)".formatted(owner.get("kind"), owner.get("name"), owner.get("uid")));
        }
      }
      var ended = open.keySet().stream().filter(owner -> !now.contains(owner)).toList();
      var lines = ended.stream().map(owner -> textOf(entry, open.remove(owner), at, owner)).toList();
      now.forEach(owner -> open.putIfAbsent(owner, begin));
      return lines;
    }

    /** Those that have not ended. */
    public List<String> atEnd() {
      return objects.values().stream()
          .flatMap(each -> each.open.entrySet().stream().map(it -> textOf(each.last, it.getValue(), "", it.getKey())))
          .sorted()
          .toList();
    }

    private static String textOf(GenericRecord entry, String from, String to, String owner) {
      var fields = new ArrayList<>(List.of(text(entry, "cluster"), kindOf(entry)));
      for (var field : List.of("namespace", "name", "uid")) fields.add(text(entry, field));
      fields.addAll(List.of(from, to));
      if (!owner.isEmpty()) fields.add(owner);
      return lineOf(fields);
    }
  }

  private static String text(GenericRecord record, String field) {
    return record.get(field).toString();
  }

  private static String kindOf(GenericRecord record) {
    var group = text(record, "group");
    return text(record, "kind") + (group.isEmpty() ? "" : "." + group);
  }

  /** Fields between tabs. What is not printable ASCII is escaped: no name can break the line or the terminal. */
  private static String lineOf(List<String> fields) {
    return fields.stream().map(LineageTable::escaped).collect(Collectors.joining("\t"));
  }

  private static String escaped(String text) {
    return text.codePoints()
        .mapToObj(it -> it < ' ' || it > '~' || it == '\\' ? "\\u{%x}".formatted(it) : Character.toString(it))
        .collect(Collectors.joining());
  }
}
