/**
 * The services of docker-compose.yml as processes: each with a folder in place of a container's
 * root, and addresses of this machine in place of names and ports of the network. Their commands,
 * variables, mounts, health checks and order are those of the file.
 *
 * What must stay true: nothing but addresses and the folder before absolute paths is changed in a
 * run command; no process outlives the test.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { freePort } from '../cluster/port.ts'
import { ServerProcess } from '../cluster/server-process.ts'
import { eventually } from '../eventually.ts'
import { type Compose, type ComposeService, ownServices } from './compose.ts'
import { argumentsOf, environment, layOut, texts, workingFolder } from './dockerfile.ts'
import type { Ran } from './kinfold-command.ts'

const HEALTHY_WITHIN_MS = 120_000

export interface ContainersOptions {
  readonly compose: Compose
  /** The folder of roots, volumes and logs. */
  readonly folder: string
  /** By its address in the file, where a service that is not Kinfold's is reached. */
  readonly others: Readonly<Record<string, string>>
  /** By their names, the files of secrets. */
  readonly secrets: Readonly<Record<string, string>>
}

export class Containers implements AsyncDisposable {
  readonly all: readonly Container[]
  readonly #compose: Compose

  private constructor(compose: Compose, all: readonly Container[]) {
    this.#compose = compose
    this.all = all
  }

  static async make(options: ContainersOptions): Promise<Containers> {
    const image = join(options.folder, 'image')
    layOut(image)
    const addresses = new Map(Object.entries(options.others))
    const all: Container[] = []
    for (const [name, service] of ownServices(options.compose)) {
      for (let index = 1; index <= (service.deploy?.replicas ?? 1); index++) {
        all.push(await Container.make(name, index, service, { ...options, image, addresses }))
      }
    }
    return new Containers(options.compose, all)
  }

  of(service: string): readonly Container[] {
    return this.all.filter((each) => each.service === service)
  }

  /** All of them, each once the services it depends on are healthy or complete. */
  async up(): Promise<void> {
    const begun = new Map<string, Promise<void>>()
    const begin = (service: string): Promise<void> => {
      const now = begun.get(service) ?? this.#begin(service, begin)
      begun.set(service, now)
      return now
    }
    await Promise.all(this.all.map(({ service }) => begin(service)))
    await Promise.all(this.all.map((each) => each.healthy()))
  }

  async #begin(service: string, begin: (needed: string) => Promise<void>): Promise<void> {
    const needs = Object.entries(this.#compose.services[service]?.depends_on ?? {})
    for (const [needed, { condition }] of needs) {
      await begin(needed)
      if (condition === 'service_healthy') {
        await Promise.all(this.of(needed).map((each) => each.healthy()))
      }
    }
    const isAwaited = Object.values(this.#compose.services).some(
      ({ depends_on: all }) => all?.[service]?.condition === 'service_completed_successfully',
    )
    for (const each of this.of(service)) await (isAwaited ? each.complete() : each.start())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((each) => each.kill()))
  }
}

interface Shared extends ContainersOptions {
  readonly image: string
  /**
   * Grows: those of containers that are made later are not known to earlier ones until they start.
   */
  readonly addresses: Map<string, string>
}

export class Container {
  readonly service: string
  readonly name: string
  /** In place of `/`. */
  readonly root: string
  readonly #definition: ComposeService
  readonly #shared: Shared
  readonly #ports: ReadonlyMap<string, number>
  #process: ServerProcess | undefined

  private constructor(
    service: string,
    index: number,
    definition: ComposeService,
    shared: Shared,
    ports: ReadonlyMap<string, number>,
  ) {
    this.service = service
    this.name = `${service}-${index}`
    this.root = join(shared.folder, 'roots', this.name)
    this.#definition = definition
    this.#shared = shared
    this.#ports = ports
  }

  static async make(
    service: string,
    index: number,
    definition: ComposeService,
    shared: Shared,
  ): Promise<Container> {
    const ports = new Map<string, number>()
    for (const word of definition.command ?? []) {
      const port = /^--(?:http|listen)=[^:]+:(\d+)$/.exec(word)?.[1]
      if (port === undefined) continue
      const free = await freePort()
      ports.set(port, free)
      shared.addresses.set(`${service}:${port}`, `127.0.0.1:${free}`)
    }
    const container = new Container(service, index, definition, shared, ports)
    container.#mount()
    return container
  }

  /** It is under way, and may not be healthy. */
  async start(): Promise<void> {
    const [binary = '', ...args] = this.#line()
    const logFile = `${this.root}.log`
    const command = { name: this.name, binary, args, env: this.#environment(), logFile }
    this.#process = await ServerProcess.start(command, async () => true)
  }

  /** To its end, which must be good. */
  async complete(): Promise<void> {
    const { code, stdout, stderr } = await this.#run(this.#line())
    if (code !== 0) throw new Error(`${this.name} ended with ${code}: ${stdout}${stderr}`)
  }

  /**
   * By its health check: that is a process, and too expensive for frequent calls, so it runs once
   * the address that it asks answers well.
   */
  async healthy(): Promise<void> {
    const test = this.#local(this.#definition.healthcheck.test?.slice(1) ?? [])
    const url = test.at(-1)
    if (url === undefined) return
    await eventually(
      `${this.name} is healthy`,
      async () => {
        if (!this.#isRunning()) return true
        const response = await fetch(`${url}/readyz`)
        if (!response.ok) return await response.text()
        // Ready can be unready again, while shares are given anew.
        const { code, stdout } = await this.#run(test)
        return code === 0 || stdout
      },
      { withinMs: HEALTHY_WITHIN_MS },
    )
    if (!this.#isRunning()) throw new Error(`${this.name} has ended:\n${this.#log()}`)
  }

  /** As `docker compose exec SERVICE kinfold …` would. */
  async kinfold(...words: readonly string[]): Promise<Ran> {
    const entry = argumentsOf(texts('ENTRYPOINT')[0] ?? '')
    return await this.#run([...this.#local(entry), ...words])
  }

  /** The address of its port for others. */
  address(port: number): string {
    return `127.0.0.1:${this.#ports.get(String(port))}`
  }

  /** Files in its root that are on no volume. */
  written(folder: string = '/'): readonly string[] {
    return readdirSync(join(this.root, folder), { withFileTypes: true }).flatMap((each) => {
      const path = join(folder, each.name)
      if (each.isDirectory()) return this.written(path)
      return each.isFile() ? [path] : []
    })
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  #isRunning(): boolean {
    return this.#process?.isRunning === true
  }

  #line(): readonly string[] {
    const entry = argumentsOf(texts('ENTRYPOINT')[0] ?? '')
    return this.#local([...entry, ...(this.#definition.command ?? [])])
  }

  async #run([binary = '', ...args]: readonly string[]): Promise<Ran> {
    const { promise, resolve } = Promise.withResolvers<Ran>()
    const options = { env: this.#environment() }
    const child = execFile(binary, args, options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
    return await promise
  }

  #environment(): NodeJS.ProcessEnv {
    const given = { ...environment(), ...this.#definition.environment }
    const [values, names] = [this.#local(Object.values(given)), Object.keys(given)]
    const local = Object.fromEntries(names.map((name, index) => [name, values[index]]))
    // There is none: a test that needs one fails.
    return { PATH: process.env['PATH'], ...local, TMPDIR: join(this.root, 'tmp') }
  }

  #local(words: readonly string[]): readonly string[] {
    return words.map((word) =>
      word === 'node'
        ? process.execPath
        : word.replace(/^(--[\w-]+=)?\//, `$1${this.root}/`).replace(ADDRESS, this.#addressOf),
    )
  }

  readonly #addressOf = (text: string, host: string, port: string): string => {
    const isHere = host === '127.0.0.1' || host === '0.0.0.0'
    if (isHere) return `${host}:${this.#ports.get(port) ?? port}`
    return this.#shared.addresses.get(text) ?? text
  }

  /** Links in place of mounts; a volume is one folder for all that mount it. */
  #mount(): void {
    const { folder, image, secrets } = this.#shared
    const { volumes = [], tmpfs = [], secrets: shown = [] } = this.#definition
    this.#link(image, workingFolder())
    for (const volume of volumes) {
      const [name = '', path = ''] = volume.split(':')
      const source = join(folder, 'volumes', name)
      mkdirSync(source, { recursive: true })
      this.#link(source, path)
    }
    for (const each of tmpfs)
      mkdirSync(join(this.root, each.split(':')[0] ?? ''), { recursive: true })
    for (const name of shown) this.#link(secrets[name] ?? '', join('/run/secrets', basename(name)))
  }

  #link(source: string, path: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    symlinkSync(source, join(this.root, path))
  }

  #log(): string {
    try {
      return readFileSync(`${this.root}.log`, 'utf8').slice(-2_000)
    } catch {
      return ''
    }
  }
}

const ADDRESS = /([a-z0-9.-]+):(\d{4,5})\b/g
