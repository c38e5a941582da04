/**
 * Examples at the end of `--help` of the commands that people type. What must stay true: each is a
 * command line that is understood (example.test.ts).
 */
import type { Command } from 'commander'

/** Command → examples, each with what it shows. */
export const EXAMPLES: Readonly<
  Record<string, readonly (readonly [line: string, shows: string])[]>
> = {
  up: [
    ['up --context prod --mode observe', 'record, change nothing'],
    ['up --context a --context b --kinds pods,replicasets.apps', 'two clusters, two kinds'],
    ['up --config kinfold.yaml --mode enforce', 'collect'],
  ],
  status: [['status', 'is all well, and what waits for me?']],
  get: [
    ['get pods -n shop', 'pods of a namespace'],
    ['get deploy -A --sort-by age', 'of all namespaces, youngest first'],
    ['get pods -n shop -l app=web', 'with these labels in the cluster'],
    ['get cm web-settings -n shop --gone', 'also those that were deleted'],
    ['get pods -n shop --at 2h', 'those that there were two hours ago'],
  ],
  tree: [
    ['tree deploy/web -n shop', 'its dependents'],
    ['tree pod/web-1-x -n shop --owners', 'its owners'],
    ['tree secret/login -n shop --uses', 'and who uses it'],
    ['tree application/shop --across', 'what Argo CD, Flux, Helm … mark as its own'],
    ['tree configmap/region -n hub --across', 'what names it as its owner in another cluster'],
    ['tree deploy/web -n shop -o mermaid', 'a diagram'],
    ['tree deploy/web -n shop --live', 'with their status in the cluster'],
  ],
  why: [
    ['why cm/web-settings -n shop', 'why it is there, or was deleted'],
    ['why uid:1c9d6a52-4f07-4be3-a1d8-90e2f6c37b14', 'the one with this uid, all of it'],
    ['why cm/web-settings -n shop --at 2h', 'as it was two hours ago'],
  ],
  history: [
    ['history deploy/web -n shop', 'what happened to one object'],
    ['history -n shop --since 1h', 'in a namespace, in the last hour'],
    ['history -A --change gone -w', 'each deletion, as it comes'],
  ],
  deletions: [
    ['deletions -A --since 7d --by others', 'what Kinfold did not delete'],
    ['deletions -n shop --by alice', 'what a user deleted, as the audit log of the cluster says'],
    ['deletions -n shop --cascade deploy/web', 'what was deleted with an owner'],
    ['deletions -A --evidence missing,not-found', 'what rested on weaker evidence'],
    ['deletions -A --tail 10 -w', 'the newest, and each that comes'],
  ],
  'finalizers list': [
    ['finalizers list', 'what finalizers hold for ten minutes or more'],
    ['finalizers list --older-than 1h -n shop', 'in a namespace, for an hour or more'],
    ['finalizers list --finalizer example.com/x --at 2h', 'by one of them, two hours ago'],
  ],
  'finalizers remove': [
    ['finalizers remove cm/a --finalizer example.com/x --why unused', 'show, ask, order it'],
  ],
  'audit checkpoint': [
    ['audit checkpoint --sign-key key.pem --out monday.json', 'digests to keep elsewhere'],
    ['audit checkpoint --verify monday.json --key key.pub', 'is the log as it was then?'],
  ],
  'evidence export': [
    [
      'evidence export --uid UID --sign-key key.pem --out bundle',
      'about one object, by its whole uid',
    ],
    ['evidence export --cascade UID --sign-key key.pem --out bundle', 'and its dependents'],
    ['evidence export --from 24h --sign-key key.pem --out bundle', 'about all, for a day'],
  ],
  'evidence verify': [['evidence verify bundle --key key.pub', 'by somebody else, offline']],
  diff: [
    ['diff -n shop --from 2h', 'what was added, deleted or changed in the last two hours'],
    ['diff -A --from before:0-4711-0 --to 2026-01-31T09:30:00Z', 'from just before a command on'],
    ['diff pods -n shop --from 1d --to 1h -o jsonl', 'for a script, a row a line'],
  ],
  'audit horizon': [['audit horizon', 'since when is everything known?']],
  cascade: [
    ['cascade deploy/web -n shop', 'what is left, what blocks it'],
    ['cascade deploy/web -n shop -w', 'follow until nothing is left'],
  ],
  'plan delete': [
    ['plan delete deploy/web -n shop', 'what its deletion would delete'],
    ['plan delete deploy/web -n shop --cascade orphan', 'what it would orphan'],
    ['plan delete pvc/data -n shop -o json', 'for a script'],
  ],
  delete: [
    ['delete deploy/web -n shop', 'look, be asked, delete'],
    ['delete deploy/web -n shop --cascade orphan --dry-run', 'only look'],
    ['delete job/import -n shop --yes', 'in a script'],
  ],
  'plan held': [['plan held --cluster north', 'what an approval would delete']],
  'plan forget-cluster': [
    ['plan forget-cluster old-hub', 'what names owners in a cluster that is gone for good'],
  ],
  'forget-cluster': [
    ['forget-cluster old-hub --why "dismantled in May"', 'show, ask, order it: all of that stays'],
  ],
  'remember-cluster': [['remember-cluster old-hub --why "it is back"', 'the end of that order']],
  held: [
    ['held', 'what is not deleted yet, and why'],
    ['held --cluster north', 'in one cluster'],
    ['held -n shop --at 2h', 'what was held there two hours ago, and by what'],
    ['held --context prod', 'in the cluster of a context of the kubeconfig'],
  ],
  'rules list': [['rules list', 'which rules there are, and how many objects are due']],
  'rules plan': [['rules plan old-previews --cluster north', 'what it would delete, and when']],
  'rules explain': [
    ['rules explain old-previews', 'all that it decides by'],
    ['rules explain old-previews deploy/web -n shop', 'is it about this object, and since when?'],
  ],
  'rules enforce': [
    ['rules enforce old-previews --why "seen its plan"', 'from now on it deletes what is due'],
  ],
  'rules suspend': [['rules suspend old-previews --why "too much"', 'back into dry run']],
  pause: [['pause --why "restore of shop"', 'no deletes until resume, in all clusters']],
  resume: [['resume --why "shop is back"', 'the end of that pause']],
  protect: [
    ['protect namespace/vault', 'everything in a namespace'],
    ['protect kind/Widget.example.com', 'all objects of a kind'],
    ['protect label/tier=gold', 'all that have this label'],
  ],
  shadow: [
    ['shadow', 'differences from another collector'],
    ['shadow --unclear', 'also what is unclear'],
  ],
  'lineage tail': [['lineage tail', 'owners and state of each object, as they change']],
  completion: [['completion bash', 'for ~/.bashrc: source <(kinfold completion bash)']],
  'config validate': [['config validate kinfold.yaml', 'before a start']],
  'config print': [['config print kinfold.yaml --with-defaults', 'what a start would go by']],
  rbac: [['rbac --kinds pods,replicasets.apps --service up', 'the least rights for two kinds']],
  doctor: [['doctor --context prod --kinds pods', 'are these rights granted?']],
}

export function addExamples(
  command: Command,
  program: string = command.name(),
  path: readonly string[] = [],
): void {
  const examples = EXAMPLES[path.join(' ')]
  if (examples !== undefined) command.addHelpText('after', `\n${textOf(examples, program)}`)
  for (const each of command.commands) addExamples(each, program, [...path, each.name()])
}

/** Below each other: side by side they would be wider than a terminal. */
function textOf(examples: readonly (readonly [string, string])[], program: string): string {
  const lines = examples.map(([line, shows]) => `  # ${shows}\n  ${program} ${line}`)
  return `Examples:\n${lines.join('\n')}`
}
