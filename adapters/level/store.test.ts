/** The LevelDB store keeps the contract, and refuses a directory that is not its own to use. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { storeContract } from '../../ports/store.contract.ts'
import { StoreError, type StoreErrorCode } from '../../ports/store.ts'
import { openLevelStore } from './store.ts'

const AT_1 = { changelog: 1n, position: 1n }

storeContract('a LevelDB store', async (t) => {
  const directory = await temporaryDirectory(t)
  let store = await openLevelStore({ directory, identity: 'log/0' })
  t.after(() => store[Symbol.asyncDispose]())
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = await openLevelStore({ directory, identity: 'log/0' })
      return store
    },
  }
})

test('a LevelDB store lets nobody else into its directory, also where that was made more open', async (t) => {
  const above = await temporaryDirectory(t)
  await chmod(above, 0o755)
  for (const directory of [join(above, 'a', 'b'), above]) {
    await using _store = await openLevelStore({ directory, identity: 'log/0' })
    equal((await stat(directory)).mode & 0o777, 0o700)
  }
})

test('a LevelDB store is refused to another identity, and kept', async (t) => {
  const directory = await temporaryDirectory(t)
  {
    await using store = await openLevelStore({ directory, identity: 'log/0' })
    await store.write([['a', new Uint8Array(1)]], AT_1)
  }
  await rejects(openLevelStore({ directory, identity: 'log/1' }), has('FORMAT', 'log/0'))
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  deepEqual(store.checkpoint(), AT_1)
})

test('a LevelDB store of another identity is wiped when a rebuild is asked for, and says so', async (t) => {
  const directory = await temporaryDirectory(t)
  {
    await using store = await openLevelStore({ directory, identity: 'log/0' })
    await store.write([['a', new Uint8Array(1)]], AT_1)
  }
  const told: StoreError[] = []
  const options = { directory, identity: 'log/1', rebuild: true }
  await using store = await openLevelStore({ ...options, onRebuild: (error) => told.push(error) })
  equal(store.checkpoint(), undefined)
  equal(store.get('a'), undefined)
  deepEqual(
    told.map((error) => error.code),
    ['FORMAT'],
  )
})

test('a LevelDB store in use is refused within the process, by whatever path, and stays locked', async (t) => {
  const directory = await temporaryDirectory(t)
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const link = `${directory}-link`
  await symlink(directory, link)
  t.after(() => rm(link))

  await rejects(openLevelStore({ directory, identity: 'log/0' }), has('LOCKED', directory))
  await rejects(openLevelStore({ directory: link, identity: 'log/0' }), has('LOCKED', link))
  // A second open in this process would have given the lock up to the next process.
  equal(await openInAnotherProcess(directory), 'LOCKED')
  await store.write([['a', new Uint8Array(1)]], AT_1)
})

test('a LevelDB store is open to the next process once it is closed, or its process is killed', async (t) => {
  const directory = await temporaryDirectory(t)
  const holder = spawnHolder(directory, 'hold')
  const [first] = await once(holder.stdout, 'data')
  equal(String(first).trim(), 'OPEN')
  await rejects(openLevelStore({ directory, identity: 'log/0' }), has('LOCKED', directory))
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  equal(store.checkpoint(), undefined)
})

test('a LevelDB store takes one write at a time', async (t) => {
  const directory = await temporaryDirectory(t)
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const first = store.write([['a', new Uint8Array(1)]], AT_1)
  await rejects(store.write([['b', new Uint8Array(1)]], AT_1), /one writer/)
  await first
  equal(store.get('b'), undefined)
})

test('a LevelDB store closed during a write has it, and gives its directory free', async (t) => {
  const directory = await temporaryDirectory(t)
  const store = await openLevelStore({ directory, identity: 'log/0' })
  const write = store.write([['a', new Uint8Array(1)]], AT_1)
  await store[Symbol.asyncDispose]()
  await write
  await using again = await openLevelStore({ directory, identity: 'log/0' })
  deepEqual(again.checkpoint(), AT_1)
})

test('a LevelDB store verifies while it is written', async (t) => {
  const directory = await temporaryDirectory(t)
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const value = new Uint8Array(2_000).fill(3)
  let done = false
  const verifies = (async () => {
    let rounds = 0
    for (; !done; rounds++) await store.verify()
    return rounds
  })()
  for (let n = 0; n < 150; n++) {
    const changes = Array.from(
      { length: 40 },
      (_, i) => [`k/${(n * 40 + i) % 3_000}`, value] as const,
    )
    await store.write(changes, { changelog: BigInt(n), position: 0n })
  }
  done = true
  ok((await verifies) > 0)
})

function spawnHolder(directory: string, then: 'hold' | 'exit') {
  const module = new URL('./store.ts', import.meta.url).href
  const program = `
    import { openLevelStore } from '${module}'
    await openLevelStore({ directory: process.argv[1], identity: 'log/0' }).then(
      () => console.log('OPEN'),
      (error) => console.log(error.code),
    )
    if ('${then}' === 'hold') setInterval(() => {}, 1000)
    else process.exit()`
  const args = ['--input-type=module', '--eval', program, directory]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function openInAnotherProcess(directory: string): Promise<string> {
  const [output] = await once(spawnHolder(directory, 'exit').stdout, 'data')
  return String(output).trim()
}

function has(code: StoreErrorCode, text: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof StoreError && error.code === code && error.message.includes(text)
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-level-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}
