/**
 * The Dockerfile as a list of instructions, and the files that its last stage takes from here: laid
 * out in a folder, since there may be no Docker where tests run.
 *
 * What must stay true: it reads the instructions that this Dockerfile uses, and throws on any
 * other; files that `.dockerignore` excludes are not laid out either.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const KNOWN = /^(FROM|WORKDIR|COPY|RUN|ENV|LABEL|USER|ENTRYPOINT|CMD|HEALTHCHECK)\s+(.*)$/

export interface Instruction {
  readonly word: string
  readonly text: string
}

/** An image under way: from a FROM to the next. */
export interface Stage {
  readonly from: string
  readonly instructions: readonly Instruction[]
}

export function dockerfile(): readonly Stage[] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, ' ')
  const stages: { from: string; instructions: Instruction[] }[] = []
  for (const line of lines.split('\n').filter((each) => each.trim() !== '')) {
    const [, word, rest] = KNOWN.exec(line) ?? []
    if (word === undefined || rest === undefined) throw new Error(`not understood: ${line}`)
    if (word === 'FROM') stages.push({ from: rest, instructions: [] })
    else stages.at(-1)?.instructions.push({ word, text: rest.trim() })
  }
  return stages
}

export interface Base {
  readonly name: string
  readonly tag: string
  /** Undefined: it is not pinned. */
  readonly digest: string | undefined
}

/** What a FROM, or `image` of docker-compose.yml, takes from a registry. */
export function baseOf(reference: string): Base {
  const pattern =
    /^(?<name>[\w./-]+):(?<tag>[\w.-]+)(?:@(?<digest>sha256:[0-9a-f]{64}))?(?: AS \w+)?$/
  const { name, tag, digest } = pattern.exec(reference)?.groups ?? {}
  if (name === undefined || tag === undefined) throw new Error(`no image and tag: ${reference}`)
  return { name, tag, digest }
}

/** Of the stage that becomes the image, all instructions of a kind. */
export function texts(word: string, stage: Stage = lastStage()): readonly string[] {
  return stage.instructions.filter((each) => each.word === word).map(({ text }) => text)
}

/** `ENTRYPOINT`, or the command of a `HEALTHCHECK`: of the form that needs no shell. */
export function argumentsOf(text: string): readonly string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}

export function environment(): Readonly<Record<string, string>> {
  const pairs = texts('ENV').flatMap((text) => text.split(/\s+/))
  return Object.fromEntries(pairs.map((pair) => [keyOf(pair), pair.slice(keyOf(pair).length + 1)]))
}

/** Each in quotes. */
export function labels(): Readonly<Record<string, string>> {
  const pairs = texts('LABEL').flatMap((text) => [...text.matchAll(/([\w.]+)="([^"]*)"/g)])
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]))
}

function keyOf(pair: string): string {
  return pair.slice(0, pair.indexOf('='))
}

/** The files that COPY takes from the build's context, as paths from the root of the repository. */
export function copied(stage: Stage = lastStage()): readonly string[] {
  return texts('COPY', stage)
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(/\s+/).slice(0, -1))
}

/** The folder of the copied files in the image. */
export function workingFolder(): string {
  return texts('WORKDIR').at(-1) ?? '/'
}

function lastStage(): Stage {
  const stage = dockerfile().at(-1)
  if (stage === undefined) throw new Error('the Dockerfile has no stage')
  return stage
}

/** As Docker reads it: the last pattern that fits a path or a folder above it decides. */
export function isIgnored(path: string): boolean {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'))
  const last = patterns.findLast((pattern) => expressionOf(pattern).test(path))
  return last !== undefined && !last.startsWith('!')
}

/** With `*` and `**`, which fit hidden files too. */
function expressionOf(pattern: string): RegExp {
  const parts = pattern.replace(/^!/, '').split(/(\*\*\/|\*)/)
  const text = parts.map((part) => WILD[part] ?? RegExp.escape(part)).join('')
  return new RegExp(`^${text}(/|$)`)
}

const WILD: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '*': '[^/]*' }

/** The working folder of the image; of packages, those that `npm ci --omit=dev` would install. */
export function layOut(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const path of copied()) {
    const filter = (source: string): boolean => !isIgnored(normalize(relative(ROOT, source)))
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter })
  }
  for (const path of installed()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(folder, path))
  }
}

interface Locked {
  readonly dev?: boolean
  /** A folder of the checkout, which has entries of its own. */
  readonly link?: boolean
}

function installed(): readonly string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  // A package within another package is copied with it.
  const isOnTop = (path: string): boolean => path.lastIndexOf('node_modules/') === 0
  return Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => isOnTop(path) && dev !== true && link !== true)
    .map(([path]) => path)
}
