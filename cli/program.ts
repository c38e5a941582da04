/** All commands and their flags. What must stay true: making it starts nothing, so a command line can be read without being carried out. */
import { Command, type Option } from 'commander'
import { addAudit } from './audit.ts'
import { addBackup } from './backup.ts'
import { addCascade } from './cascade.ts'
import { addDirectives } from './directive.ts'
import { addDoctor } from './doctor.ts'
import { addExamples } from './example.ts'
import { addGet } from './get.ts'
import { addGraph } from './graph.ts'
import { addHeld } from './held.ts'
import { addLineage } from './lineage.ts'
import { addPlan } from './plan.ts'
import { addPlayground } from './playground.ts'
import { addRbac } from './rbac.ts'
import { addReaper } from './reaper.ts'
import { addRestore } from './restore.ts'
import { bad } from './setting.ts'
import { addShadow } from './shadow.ts'
import { addTopics } from './topics.ts'
import { addTree } from './tree.ts'
import { addUp } from './up.ts'
import { addUpgrade } from './upgrade.ts'
import { VERSION } from './version.ts'
import { addWatcher } from './watcher.ts'
import { addWhy } from './why.ts'

export function createProgram(): Command {
  const program = new Command('kinfold')
    .description(
      'Garbage collection for Kubernetes-style APIs over several clusters, and the record of who owned what.',
    )
    .version(VERSION)
    // Else an option with a long name would leave all descriptions as wide as they are.
    .configureHelp({ minWidthToWrap: 20 })
    .showHelpAfterError('(kinfold COMMAND --help says more)')
    .exitOverride()
  addUp(program)
  addPlayground(program)
  addWatcher(program)
  addGraph(program)
  addReaper(program)
  addGet(program)
  addTree(program)
  addWhy(program)
  addCascade(program)
  addPlan(program)
  addHeld(program)
  addDirectives(program)
  addLineage(program)
  addShadow(program)
  addAudit(program)
  addRestore(program)
  addBackup(program)
  addUpgrade(program)
  addDoctor(program)
  addRbac(program)
  addTopics(program)
  program
    .command('version')
    .description('output the version number')
    .action(() => {
      process.stdout.write(`${VERSION}\n`)
    })
  refuseRepeats(program)
  sayRequired(program)
  addExamples(program)
  return program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 differences or findings, 2 bad input, 3 refused by policy,\n4 failure.',
  )
}

/** Of two lists the last would count, without a word about the first, and whoever adds to a list would take from it. Of single values the last counts, as with kubectl. */
function refuseRepeats(command: Command): void {
  for (const option of command.options) if (option.flags.endsWith('<list>')) takeOnce(option)
  for (const each of command.commands) refuseRepeats(each)
}

function sayRequired(command: Command): void {
  for (const option of command.options) {
    if (option.mandatory) option.description = `${option.description} (required)`
  }
  for (const each of command.commands) sayRequired(each)
}

function takeOnce(option: Option): void {
  let isGiven = false
  option.argParser((value) => {
    if (isGiven) throw bad(`${option.long} is given twice: give it once, with commas between`)
    isGiven = true
    return value
  })
}
