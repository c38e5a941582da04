/**
 * `kinfold config validate` and `config print`: a config file as a service would read it.
 *
 * What must stay true: all faults are printed; nothing is printed of a file that is not valid, and
 * nothing that a named file holds.
 *
 * Not here: what is wrong with it (config-check.ts), what there is by default (config-print.ts).
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { readConfigMapping } from '../config/config-file.ts'
import { printed } from '../config/config-print.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf } from '../print/word.ts'

export function addConfig(program: Command): void {
  const config = program.command('config').description('a config file, before anything starts')
  config
    .command('validate')
    .description('say all that is wrong with a config file, as a start would')
    .argument('<file>', 'YAML file, as --config takes it')
    .action(async (file: string) => {
      await validContent(file)
      process.stdout.write(`${lineOf(file)} is valid.\n`)
    })
  config
    .command('print')
    .description('print a config file as it is understood; it is a config file, too')
    .argument('<file>', 'YAML file, as --config takes it')
    .option('--with-defaults', 'also what it leaves out')
    .action(async (file: string, { withDefaults = false }: { withDefaults?: boolean }) => {
      process.stdout.write(printed(await validContent(file), withDefaults))
    })
}

/** Prints every fault, the last one as the end of the command. */
async function validContent(file: string): Promise<Readonly<Record<string, unknown>>> {
  const { faultsOf } = await import('../config/config-check.ts')
  const content = readConfigMapping(file)
  const faults = faultsOf(content, file)
  const last = faults.at(-1)
  if (last === undefined) return content
  for (const fault of faults.slice(0, -1)) process.stderr.write(`error: ${lineOf(fault)}\n`)
  const total = faults.length === 1 ? '' : ` (${countOf(faults.length, 'fault')} in all)`
  throw new ExitError(EXIT.input, `${last}${total}`)
}
