/** Resources are closed in the reverse order of their opening, once each, whatever fails. */
import { deepEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceStack } from './resource-stack.ts'

function recorder(): {
  readonly closed: readonly string[]
  resource(name: string, failure?: Error): AsyncDisposable
} {
  const closed: string[] = []
  return {
    closed,
    resource: (name, failure) => ({
      async [Symbol.asyncDispose]() {
        closed.push(name)
        if (failure !== undefined) throw failure
      },
    }),
  }
}

test('closes the newest first, once', async () => {
  const { closed, resource } = recorder()
  const stack = new ResourceStack()
  stack.use(resource('first'))
  stack.use(resource('second'))
  await stack[Symbol.asyncDispose]()
  await stack[Symbol.asyncDispose]()
  deepEqual(closed, ['second', 'first'])
})

test('closes the others when one fails, and passes the first failure on', async () => {
  const { closed, resource } = recorder()
  const stack = new ResourceStack()
  stack.use(resource('first', new Error('first')))
  stack.use(resource('second', new Error('second')))
  stack.use(resource('third'))
  await rejects(stack[Symbol.asyncDispose](), { message: 'second' })
  deepEqual(closed, ['third', 'second', 'first'])
})

test('closes nothing that was moved to another stack', async () => {
  const { closed, resource } = recorder()
  const stack = new ResourceStack()
  stack.use(resource('moved'))
  const moved = stack.move()
  stack.use(resource('kept'))
  await stack[Symbol.asyncDispose]()
  deepEqual(closed, ['kept'])
  await moved[Symbol.asyncDispose]()
  deepEqual(closed, ['kept', 'moved'])
})
