/**
 * Refusals, worded as kube-apiserver words them. The wording is a contract: a collector reads
 * absence from exactly these fields.
 *
 * Not here: success (a Status too, made in removal.ts), faults that a test injects (api-server.ts).
 */
import type { Kind } from './kind.ts'

export interface Cause {
  readonly reason: string
  readonly message: string
  readonly field?: string
}

export interface Details {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly Cause[]
  readonly retryAfterSeconds?: number
}

/**
 * Thrown by a handler, answered by the server; `plain` is the text of an answer that is no Status.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: number
  readonly reason: string | undefined
  readonly details: Details | undefined
  readonly plain: string | undefined
  /** Part of the Status' metadata: how an expired list may continue. */
  readonly continue: string | undefined

  constructor(
    code: number,
    message: string,
    told: {
      readonly reason?: string
      readonly details?: Details
      readonly plain?: string
      readonly continue?: string
    } = {},
  ) {
    super(message)
    this.code = code
    this.reason = told.reason
    this.details = told.details
    this.plain = told.plain
    this.continue = told.continue
  }

  status(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continue === undefined ? {} : { continue: this.continue },
      status: 'Failure',
      message: this.message,
      ...(this.reason !== undefined && { reason: this.reason }),
      ...(this.details !== undefined && { details: this.details }),
      code: this.code,
    }
  }
}

/** `configmaps` or `deployments.apps`. */
function qualified(kind: Kind): string {
  return kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`
}

function groupOf(kind: Kind): { readonly group?: string } {
  return kind.group === '' ? {} : { group: kind.group }
}

/** Nothing is at these coordinates: the only 404 that names the requested object. */
export function notFound(kind: Kind, name: string): Refusal {
  return new Refusal(404, `${qualified(kind)} "${name}" not found`, {
    reason: 'NotFound',
    details: { name, ...groupOf(kind), kind: kind.resource },
  })
}

/**
 * An unserved version, resource or scope within a built-in group. It proves nothing about an
 * object.
 */
export function noSuchResource(): Refusal {
  return new Refusal(404, 'the server could not find the requested resource', {
    reason: 'NotFound',
    details: {},
  })
}

/** A path that no group answers for. */
export function noSuchPath(): Refusal {
  return new Refusal(404, '404 page not found', { plain: '404 page not found\n' })
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, message, { reason: 'BadRequest' })
}

export function methodNotAllowed(): Refusal {
  return new Refusal(405, 'the server does not allow this method on the requested resource', {
    reason: 'MethodNotAllowed',
    details: {},
  })
}

export function alreadyExists(kind: Kind, name: string): Refusal {
  return new Refusal(409, `${qualified(kind)} "${name}" already exists`, {
    reason: 'AlreadyExists',
    details: { name, ...groupOf(kind), kind: kind.resource },
  })
}

const STALE =
  'the object has been modified; please apply your changes to the latest version and try again'

/** Of a write: the held version is not the stored one. */
export function modified(kind: Kind, name: string, why: string = STALE): Refusal {
  return new Refusal(409, `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`, {
    reason: 'Conflict',
    details: { name, ...groupOf(kind), kind: kind.resource },
  })
}

/** Of a DELETE: here the server names the kind where elsewhere it names the resource. */
export function preconditionFailed(kind: Kind, name: string, why: string): Refusal {
  const subject = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`
  return new Refusal(409, `Operation cannot be fulfilled on ${subject} "${name}": ${why}`, {
    reason: 'Conflict',
    details: { name, ...groupOf(kind), kind: kind.kind },
  })
}

export function forbidden(
  kind: Kind,
  name: string,
  why: string,
  causes?: readonly Cause[],
): Refusal {
  return new Refusal(403, `${qualified(kind)} "${name}" is forbidden: ${why}`, {
    reason: 'Forbidden',
    details: { name, ...groupOf(kind), kind: kind.resource, ...(causes && { causes }) },
  })
}

/** A validation error: unlike a failed patch test it has causes. */
export function invalid(
  subject: { readonly kind: string; readonly group: string },
  name: string,
  causes: readonly Cause[],
): Refusal {
  const kind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`
  const told = causes.map((cause) => `${cause.field}: ${cause.message}`)
  const list = told.length === 1 ? told[0] : `[${told.join(', ')}]`
  const { group } = subject
  return new Refusal(422, `${kind} "${name}" is invalid: ${list}`, {
    reason: 'Invalid',
    details: {
      ...(name !== '' && { name }),
      ...(group !== '' && { group }),
      kind: subject.kind,
      causes,
    },
  })
}

/** A JSON Patch whose test failed or whose path is not there: no name, no causes. */
export function patchFailed(): Refusal {
  return new Refusal(422, 'the server rejected our request due to an error in our request', {
    reason: 'Invalid',
    details: {},
  })
}

export function unsupportedMediaType(accepted: readonly string[]): Refusal {
  return new Refusal(
    415,
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    { reason: 'UnsupportedMediaType' },
  )
}

export function notAcceptable(message: string): Refusal {
  return new Refusal(406, message, { reason: 'NotAcceptable', details: {} })
}

/** Of a watch. */
export function tooOld(asked: number, oldest: number): Refusal {
  return new Refusal(410, `too old resource version: ${asked} (${oldest})`, { reason: 'Expired' })
}

/** Of a list that began at a version no longer held; `token` leads on, inconsistently. */
export function listExpired(token: string): Refusal {
  return new Refusal(
    410,
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    { reason: 'Expired', continue: token },
  )
}

export function tooLarge(asked: number, current: number): Refusal {
  return new Refusal(504, `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    reason: 'Timeout',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}
