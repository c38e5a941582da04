/**
 * Invariants, faults, and what must happen after a fault, by number: the rows of
 * docs/inside/invariants.md and docs/inside/faults.md.
 *
 * What must stay true: a number never changes its meaning, since tests, comments and commits name
 * it; a number that is not here may not be named. A fault that the simulator draws is described
 * where it is made (`what` in *-faults.ts), so it has only its second half here.
 *
 * Not here: how an invariant is checked (*-checkers.ts), which faults happen by themselves or not
 * at all (faults.ts), the pages (scripts/pages.ts).
 */

type Rows = Readonly<Record<string, string>>

export const SAFETY: Rows = {
  I1: 'No DELETE takes effect on an object that has, at that moment on the API server, an owner reference to a live owner in legal scope, or to one that orphans its dependents. A live owner that waits for this object does not count.',
  I2: 'No DELETE takes effect on an object without owner references, but by a rule (I39).',
  I3: 'The uid that is removed is the uid that was commanded.',
  I4: 'Every mutating call carries its guard: a DELETE both preconditions, uid and resourceVersion; a patch a test of the uid and of each entry that it removes. A DELETE has an explicit propagation policy. A collection is never deleted.',
  I5: 'Only an answer that proves an absence counts as one: a Status with reason NotFound and the details that were asked for, or an object with another uid at these coordinates. Every other answer means unknown, and unknown never deletes.',
  I6: 'A reference that cannot be resolved (its kind is unknown or ambiguous, its version is not served, its scope is illegal) never contributes to a delete.',
  I7: 'A command reaches only an endpoint that was proven within the last 30 s to be the cluster of the command.',
  I8: 'No call takes effect that was decided in a former epoch of the cluster, by a former watcher, or by a task that was fenced.',
  I9: 'A protected object is not deleted, whether a person, the policy, a label, an annotation, its kind or its namespace protects it; under `guarded` also not within ten minutes after a partition read that the protection ended.',
  I10: 'In any ten minutes of log time no more deletions begin than the budget allows, across restarts, partitions and reapers.',
  I11: 'From what began a deletion (a person deleted the owner, or the object appeared after that) to its effect, no less than the hold passes; other references, or an owner that returns, begin the hold again. An object that was created after the deletion of its owner was observed waits as with evidence `not-found`. What waits for approval is deleted only as it was shown, within an hour after the approval.',
  I12: 'Unless the mode is `enforce`, no object changes. Calls that `dry-run` makes are dry runs of the API server.',
  I13: 'Two seconds after a pause is on the log no mutating call is sent any more.',
  I39: 'A rule deletes an object only if that object, at just the version that was judged, is due by it, has been for as long as the rule demands, and an order enforces the rule as it decided; two seconds after the order is taken back nothing is sent. Of what becomes due within an hour it deletes no more than its limit. The graph has of each object what rules read of it, and when faults stop, what is due is deleted, unless the graph says what holds it.',
  I40: 'A CleanupPolicy deletes only objects of its own namespace, only by the rights of its own account (a ClusterCleanupPolicy without one: by those of the reaper), and only while it exists there, is not refused, and its annotation enforces the rule that its spec is; five seconds after that ends nothing is sent.',
  I41: 'A rule annotates only what is due by it, in just that version, with the one annotation that it says, and only while an order enforces it as it is; nothing else of the object is another.',
  I42: 'A rule deletes an object because of an owner in another cluster only where both clusters share that owner, and no sooner than an hour after it was deleted there: not orphaning, nor taken back by a restore, and by the epoch of that cluster that is followed. That cluster was followed for the hour before, and is asked once more before the call.',
  I14: 'Where archiving is on, the object is in the archive before its DELETE takes effect.',
}

export const PROGRESS: Rows = {
  I16: 'When faults stop, every object whose owners are all absent is deleted, unless the graph says what holds it.',
  I17: 'Orphan: no dependent is deleted, and none keeps a reference to the owner when its finalizer is removed. Foreground: the owner outlives the dependents that block it. When faults stop, both complete.',
  I18: 'Attempts at one object are bounded: refusals, cycles, other writers and finalizers that stay end in growing waits and a visible state, never in a loop.',
  I19: 'At rest the graph equals the API servers: the same objects with the same owner references, finalizers and deletion requests.',
  I20: 'A watch that is silent is given up within five minutes, and its kind recovers by itself.',
  I21: 'A fault that is confined to one cluster, kind or namespace leaves the 99th percentile of the waits elsewhere within twice the usual.',
  I22: 'A record that cannot be read delays its partition by no more than its own parsing, and stops deletions only in its own namespace, until that was listed again.',
}

export const DATA: Rows = {
  I23: 'Folding the same log again, from its beginning or from a snapshot, in any batches and after any crash, gives the same digests and the same commands in the same order.',
  I24: 'Folding an event twice equals folding it once.',
  I25: 'Any legal order of the events of different kinds leads to the same graph and the same verdicts.',
  I26: 'Nothing that was acknowledged is lost unnoticed: a store holds exactly what its changelog says up to its position, or it does not open.',
  I27: 'At most one DELETE takes effect on one uid.',
  I30: 'Queues, batches, searches, answers and memory stay within stated limits.',
  I31: 'Contents of Secrets, `managedFields` and annotations that are not on the allow-list never appear in a topic, log line or answer; of a Secret only its type and when a bootstrap token expires, where a rule reads it. The archive holds a Secret only where the settings ask for it.',
  I33: 'All that is published of a cluster is in one partition.',
  I34: 'Clusters are spread over the partitions: none holds two while another holds none, unless a holder died while it chose.',
  I35: 'No record makes the fold judge more owner references than a stated number, whatever is written in a namespace.',
  I36: 'What is written in one namespace delays deletions in others by a bounded number of records and calls.',
  I37: 'What is written to the log because of one object stays within 20 bytes for each byte that users sent about it, and 16 KiB for each effect on it or on an owner or dependent of it and for each result of a command about it.',
  I38: 'A namespace has no more than 32 live GETs under way, however many owners its objects name.',
}

/** Faults that the simulator does not draw. */
export const NOT_DRAWN: Rows = {
  F10: 'an object that was deleted is there again after a restore, under its old uid',
  F25: 'a kind maps to several resources, or the group of a reference is wrong',
  F26: 'a server refuses the encoding with metadata only (406)',
  F27: 'an object is larger than the caps on what is taken in',
  F31: 'one address leads to two clusters at once',
  F34: 'a producer repeats an append, and both copies are stored',
  F35: 'records of one key are stored in another order than they were sent',
  F36: 'an append is acknowledged and not stored',
  F41: 'a topic is deleted and created again under its name',
  F42: 'the number of partitions changes, so keys move',
  F50: 'an owner and its dependent are in different partitions',
  F51: 'the SQLite log has a damaged page, or its write-ahead log is damaged or cut, or the disk is full',
  F52: 'a second process opens the SQLite log',
  F54: 'a store is lost, or damaged in the middle of its log or a table',
  F55: 'a write to a store fails (no space, I/O error), and the next one succeeds',
  F61: 'a program of another version, or with another number of partitions, opens a data directory',
  F62: 'the fold is not deterministic: order of a Map, clock, locale, floating point',
  F66: 'a reference has the right uid and a wrong kind, name or version',
  F73: 'an owner is deleted and another one created under its name, before the command is carried out',
  F74: 'an owner is being deleted, and a finalizer of its own holds it',
  F89: 'the API server refuses a delete: access rights, a webhook or a policy',
  F92: 'a budget or an open breaker is forgotten at a restart, or counted apart by two processes',
  F96: 'a forged or altered record is in the commands',
  F99: 'programs of two versions fold one log during an upgrade',
  rule: 'an object is due by a rule that an order enforces',
  'unused rule': 'an object is due by a rule since nothing has used it for its time',
  'elsewhere rule': 'an object is due by a rule since its owner in another cluster was deleted',
  'keep rule': 'an object is due by a rule that keeps the newest of its group, and is none of them',
  'absent rule': 'an object is due by a rule since the Node that it names is not there',
  'policy rule': 'an object is due by a CleanupPolicy that its annotation enforces',
  'cluster policy rule': 'an object is due by a ClusterCleanupPolicy that its annotation enforces',
  'policy forbidden': 'the account of a CleanupPolicy may not delete what is due by it',
  'rule enforced':
    'a person orders that a rule is enforced, and again where a partition or `orders` lost that',
}

/** The required result after each fault. */
export const EXPECTED: Rows = {
  F1: 'A watch without event or bookmark for three minutes counts as dead and is opened again. A kind without a sign of life is out of sync, and is no ground to look for its owners.',
  F2: 'The watch resumes at its last version, with a growing wait.',
  F3: 'The kind is relisted; it is compared with the graph only when the list is complete.',
  F4: 'After a few watches in a row without any event the kind is relisted.',
  F5: 'The object stays in the graph until the next relist, within an hour; nothing is deleted that should not be.',
  F6: 'A live GET finds an owner that was not observed, and preconditions refuse a delete decided by old content; the next relist brings what was lost.',
  F7: 'Folding it again changes nothing.',
  F8: 'An older version of an object changes nothing.',
  F9: 'The version comparison after a break and with each heartbeat notices it: a new epoch of the cluster voids pending commands, and absences of the former one need approval.',
  F10: 'An observation in a newer epoch of the cluster ends the record of its absence.',
  F12: 'The list is discarded and begun again; pages of two versions are never combined.',
  F13: 'It is an error, never an empty list or an absence.',
  F14: 'The list is taken a second time over another connection before it counts. Over 30 % and over 100 objects missing is a bulk deletion, which needs approval.',
  F15: 'The kind is unknown; no object counts as deleted.',
  F16: 'The kind is unknown, so none of its objects counts as absent; nothing is lost when the right is back.',
  F18: 'Bounded retries with jitter, `Retry-After` is respected; no answer is taken for an absence.',
  F19: 'That kind is unknown; all others go on.',
  F20: 'A group that did not answer keeps the kinds that it had; no object of it counts as deleted.',
  F21: 'A plain 404 proves no absence.',
  F22: 'A kind is removed only when it is missing from two discovery answers that are far enough apart.',
  F23: 'What a kind took along when it was removed is a bulk deletion: dependents of those objects are kept until a person approves.',
  F24: 'The reference cannot be resolved, and the dependent is kept.',
  F25: 'The reference cannot be resolved, and the dependent is kept.',
  F26: 'The full object is asked for, and reduced to its metadata at once.',
  F27: 'Its identity is recorded, with a reference that can never be resolved, so it is never deleted.',
  F28: 'The kind is relisted; no event is skipped unnoticed.',
  F29: 'The former watcher publishes nothing more after its term, and the fold ignores what has an older epoch.',
  F30: 'The uid of the namespace `kube-system` differs: the watcher of that cluster ends, the reaper sends nothing there, others go on.',
  F31: 'Every connection says which cluster it leads to before a GET over it proves anything.',
  F32: 'A cluster is known by the uid of its namespace `kube-system`: two names for one end the start.',
  F33: 'Holds, budgets and expiry go by log time and monotonic clocks, so nothing is deleted sooner.',
  F34: 'An append that is made twice is an event that is folded twice, which changes nothing.',
  F35: 'Versions decide, not the order; counts and hashes at each relist find the rest.',
  F36: 'Counts and hashes at each relist find what was lost.',
  F38: 'Appends wait in bounded queues; after an unknown outcome a task is taken over again, and a commit is never retried.',
  F39: 'A process that has seen more than the log holds says so and ends. Pauses, protection and suspensions of rules that `orders` lost are published again, and no order that permits deletes; reapers keep those that they knew. What people order from then on comes into force.',
  F40: 'The reader does not skip: it says what is missing and ends, and a person restores a backup or begins with an empty log.',
  F41: 'It is refused, with a sentence that says what to do.',
  F42: 'The start is refused; a topic with entries keeps its number of partitions.',
  F43: 'A batch is committed as a whole or not at all; the new owner of the partition goes on from there.',
  F44: 'Its fence is older, so its commits and commands are refused.',
  F45: 'Only committed records are read; a late marker only delays.',
  F46: 'Commands are carried out again, and guards make that harmless.',
  F47: 'It goes to the dead letters; nothing in its namespace is judged until that was listed again; the partition goes on.',
  F49: 'Memory stays bounded; when the log is back, commands that are too old expire and are decided again.',
  F50: 'It cannot be: a cluster is one partition.',
  F51: 'Chained checksums and the positions of stores find it: it is named, and the log does not open, or opens without a tail that nobody has seen.',
  F52: 'A lock of the operating system refuses it, by the name of the directory.',
  F54: 'Gaps in batch numbers and checksums of values find it: the store is wiped and rebuilt from the changelog.',
  F55: 'The first error ends the process: LevelDB may lose what it acknowledges afterwards (X4).',
  F56: 'The store is older than the changelog and is caught up from it.',
  F58: 'One commit holds state, position, commands and history; the changelog says whether it took place, and each command is issued once.',
  F59: 'A store counts only once it is restored up to its marker; the restore begins again.',
  F61: 'It is refused, with a sentence.',
  F62: 'The digests of an audit differ, and the test fails.',
  F63: 'It is fenced, and what it sends afterwards is refused.',
  F65: 'No verdict rests on an owner before its kind is in sync, or a GET has answered.',
  F66: 'Only the reference that is right counts; the verdict is the same in every order.',
  F67: 'The owner is absent by the rules of Kubernetes: the dependent gets a Warning Event, and is deleted like one whose owner was not found.',
  F69: 'The dangling references are removed, by patches that test uid and entry; the object stays.',
  F70: 'No infinite loop. A cycle stays while no member is deleted, and is released when all wait for each other.',
  F71: 'Work goes by pages, without recursion; budgets count the deletion of the owner once.',
  F72: 'The precondition fails (409), and everything is evaluated again with the new content.',
  F73: 'Commands and references name uids, so the new owner is another object.',
  F74: 'It counts as solid until it is deleted, unless it waits for its dependents.',
  F75: 'No storm of retries; it is visible, and other work goes on.',
  F76: 'The result is that of upstream; a patch tests the finalizer that it removes.',
  F77: 'The finalizer is removed only after the last reference.',
  F78: 'Those dependents wait for the longest hold, within the smallest budget.',
  F79: 'It is a new object each time. The same change to one object is repeated three times at once, and then after growing waits.',
  F83: 'It has one effect.',
  F84: 'The fence and the preconditions refuse what is older.',
  F85: 'A command expires after ten minutes and is decided again.',
  F86: 'The call is repeated; NotFound, or another uid, settles it.',
  F87: 'The object is read back by its uid before the command is settled.',
  F88: 'The resourceVersion precondition refuses the write.',
  F89: 'The command is settled as blocked, with the reason, and is tried again after growing waits.',
  F92: 'Both are state of the fold, so a restart and a second process count alike.',
  F93: 'An approval is for exactly the set that was shown, and is void when that changed, or after an hour.',
  F94: 'No more calls than are in flight, and none after two seconds.',
  F95: 'Nothing is deleted that the archive did not take.',
  F96: 'A writer of the log is trusted: rights on topics keep others away, and the gate, the guards and the lock in the cluster bound the damage.',
  F97: 'The fold ignores a watcher of an older epoch.',
  F98: 'A change of the policy is a record: what is pending is judged again by the new one.',
  F99: 'The policy on the log names the version of the fold; another program refuses to go on.',
  'same-moment':
    'Each reads again after its choice, and the order of the log decides; the clusters are spread over the partitions.',
  'chosen-and-dead':
    'The next holder goes by the choice; nothing of the cluster is published in two partitions.',
  'F96 order':
    'It changes nothing: an order counts from `orders` only, where the graph alone may write, and once.',
  'F98 config':
    'Protection counts from the record on, and under `guarded` for ten minutes after it ended.',
  kill: 'A new process goes on from the log.',
  protect: 'Protected objects stay.',
  policy:
    'Only what is due in that namespace by a policy as it is enforced is deleted, by its account (I40).',
  'cluster policy':
    'Only what is due by a policy as it is enforced is deleted, by its account, or by the reaper where it has none (I40).',
  'cluster policy rule':
    'It is deleted once, by the account that the policy names, or by the reaper.',
  'unused rule': 'It is deleted once, and was in use at no moment of that time (I39).',
  'keep rule': 'It is deleted once, while as many newer ones of its group stay (I39).',
  'absent rule': 'It is deleted once, while no Node of that name is there (I39).',
  'elsewhere rule':
    'It is deleted once, an hour after its owner was deleted in a cluster that shares it (I42).',
  'policy rule': 'It is deleted once, by the rights of the account that the policy names.',
  'policy forbidden': 'It stays, and is tried again after growing waits.',
  rule: 'It is deleted once, at the version that was judged.',
  'rule enforced': 'What is due by the rule is judged again.',
  'rule suspended':
    'Nothing is deleted by it from two seconds after that on, and what is due is once it is enforced again.',
  'rule changed': 'A rule that is another by now is in dry run until an order enforces it.',
  'rule raised':
    'The DELETE names the version that was judged, so the server refuses it; the object is judged anew.',
  'others unread':
    'Unknown is never unused, nor absent: nothing is deleted by these rules meanwhile, and their time begins anew.',
  'far cut':
    'What is due by owners there is held, with the reason, and waits an hour anew once it is followed again.',
  'far cut from one':
    'A reaper that cannot ask for the owner deletes nothing; where the watcher is, nothing is followed.',
  'far restored':
    'What was watched in the epoch before proves nothing: the objects stay, and so does an owner that is there again.',
  'far replaced':
    'The lost cluster stays cut off for good, and the one under its name has another identity: nothing is deleted.',
  'far lineage lost':
    'What is read again is less, never other: an owner of which nothing is known keeps what names it.',
  'far orphaned':
    'It was to leave its dependents alone, whether that was seen or may have been missed: they stay.',
  'far swept':
    'Its namespace, or the definition of its kind, is not there or younger than the owner: the objects stay.',
  'far unshared': 'What is not shared any more is not due, and the rule is in dry run again.',
  'rule fought':
    'After the second object that was made again the rule deletes no more of that controller.',
  tenant:
    'Its objects are decided like all others; no record does more work for it than for anybody (I35), others wait no longer (I36), and its bytes and live GETs are bounded (I37, I38).',
}

/**
 * The behaviour of LevelDB with damage, measured with classic-level 3.0.0: the reason for batch
 * numbers, and for ending at the first failed write.
 */
export const DAMAGE: Rows = {
  X1: '2,000 batches, kill -9, one byte flipped in the middle of the log, opened again: no error, and 62 earlier batches are missing. Only a line in its own log file says so.',
  X2: 'One bit flipped at each of 1,500 positions of a log of 41 KB: 1,177 open with a hole, 323 with a clean prefix, none is refused.',
  X3: 'A log cut at each of its last 2,049 bytes: always a clean prefix.',
  X4: 'Five synchronous writes fail for lack of space, then there is space again: 695 writes are acknowledged afterwards, and all of them are lost when the store is opened again.',
}
