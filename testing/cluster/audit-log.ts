/**
 * The audit log of a real API server: a line for each stage of each request, metadata alone.
 *
 * Not here: starting the server (control-plane.ts).
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** As `audit.k8s.io/v1` has it, in part. */
export interface AuditEvent {
  readonly auditID: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly objectRef?: { readonly resource: string; readonly name?: string }
}

/** Flags for a server that keeps it in this folder. */
export async function auditArgs(folder: string): Promise<readonly string[]> {
  const policy = join(folder, 'audit-policy.json')
  const rules = [{ level: 'Metadata' }]
  await writeFile(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }))
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${logIn(folder)}`]
}

/** The requests until now of programs whose name begins so. */
export async function auditEvents(folder: string, agent: string): Promise<readonly AuditEvent[]> {
  // The last line may be under way.
  const lines = (await readFile(logIn(folder), 'utf8')).split('\n').slice(0, -1)
  const events = lines.map((line) => JSON.parse(line) as AuditEvent)
  return events.filter(({ userAgent }) => userAgent?.startsWith(agent))
}

function logIn(folder: string): string {
  return join(folder, 'audit.log')
}
